"""The bench: methods compared on the same people, from data to table.

spec.py     what is to be run: datasets, models, methods, seeds, protocol (TOML)
specs/      the runs that ship with the package
models.py   the base models that turn people down
tasks.py    one dataset, model and seed made ready: the people, the positives, the scaling
judge.py    what a method's paths are worth, one row a person
results.py  the folder of rows, safe against being killed
runner.py   runs what isn't there yet, in parallel
tables.py   tables from rows; compare.py puts them beside the paper's (paper/)
"""
