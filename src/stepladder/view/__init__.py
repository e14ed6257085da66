"""Results for people to read.

words.py    values, changes, plans and offers in plain words
why.py      why a person has no route, and what would have to give
report/     a result as one page; letter.py: one person's; page.py: what they share
plots/      charts of people, data, groups and methods
spread.py   how steps, distances and scores are spread; provenance.py: fingerprints
figures.py  the paper's figures, from directions that the kernel computes
"""
