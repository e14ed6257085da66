"""What a row is.

feature.py   one column: what it holds, and how it may change
formula.py   what derived features and requirements are written in
grammar.py   how such a formula is read
schema.py    the features of a table, guessed, written down and read back
space.py     rows ⇄ encoded points
personal.py  what single people have locked, and limits of their own
feasible.py  all rows that one person could become
frames.py    the border: pandas, polars and PyArrow
amounts.py   a value as people write it
"""
