"""Results for people to read.

words.py    values, changes, plans and offers in plain words
why.py      why a person has no route, and what would have to give
plots/      charts of people, data, groups and methods
figures.py  the paper's figures, from directions that the kernel computes
"""
