"""What a row is.

kind.py          what the kinds of features share
reach.py         how far from today's value a plan may go
grammar.py       how a formula is read
formula.py       what derived features and requirements are written in
derived.py       a feature that is worked out from others
feature.py       one column: what it holds, and how it may change
schema.py        the features of a table, guessed, written down and read back
schema_file.py   a schema in YAML: what it says, and where a mistake is
allowed.py       what may be asked of a person, in short words
grid.py          the values that a feature can take at all
hops.py          where a level may go
links.py         what follows from what a plan sets: time, and derived features
requirements.py  what a row has to keep to beyond each feature's own rules
space.py         rows ⇄ encoded points
personal.py      what single people have locked, and limits of their own
mend.py          rows brought to keep requirements
violations.py    rules that rows break, in words
feasible.py      all rows that one person could become
faults.py        what is wrong with a person's own row
agreement.py     whether a reference table agrees with its schema
frames.py        the border: pandas, polars and PyArrow
amounts.py       a value as people write it
"""
