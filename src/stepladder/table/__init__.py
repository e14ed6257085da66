"""What a row is.

kind.py         what the kinds of features share
reach.py        how far from today's value a plan may go
grammar.py      how a formula is read
formula.py      what derived features and requirements are written in
derived.py      a feature that is worked out from others
feature.py      one column: what it holds, and how it may change
schema.py       the features of a table, guessed, written down and read back
schema_file.py  a schema in YAML: what it says, and where a mistake is
allowed.py      what may be asked of a person, in short words
reading.py      frames read into values, and what is wrong with single rows
space.py        rows ⇄ encoded points
rules/          what rows have to keep to
feasible.py     all rows that one person could become
effort.py       what a change asks of a person
frames.py       the border: pandas, polars and PyArrow
building.py     frames and arrays made of values, over and over
keys.py         what tells rows apart
amounts.py      a value as people write it
"""
