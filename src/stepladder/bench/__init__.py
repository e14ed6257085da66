"""The bench: methods compared on the same people, from data to table.

spec.py          what is to be run: datasets, models, methods, seeds, protocol (TOML)
specs/           the runs that ship with the package
models.py        the base models that turn people down
tasks.py         one dataset, model and seed made ready: the people, the positives, the scaling
judge.py         what a method's paths are worth, one row per person
results.py       the folder of rows, safe against being killed
runner.py        runs what isn't there yet, in parallel
estimates.py     means and standard errors of rows, by task and method
tables.py        the paper's six tables and sweeps; fair.py: the fair ones; render/ writes them down
compare.py       ours beside the paper's (paper/ holds what it prints)
results_page.py  the page of results; summary.py: what it begins with
names.py         what tables call things
"""
