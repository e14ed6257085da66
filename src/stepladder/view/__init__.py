"""Results for people to read.

report/     a result as one page
letter.py   one person, told in a letter; told.py: what of a plan is told in one
page.py     what pages share
plots/      charts of people, data, groups and methods
spread.py   how effort, scores and changes are spread
figures.py  the paper's figures, from directions that the kernel computes
"""
