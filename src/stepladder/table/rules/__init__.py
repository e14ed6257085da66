"""What rows have to keep to; `Feasible`, one floor up, puts it together.

grid.py          the values that a feature can take at all
hops.py          where a level may go
links.py         what follows from what a plan sets: time, and derived features
requirements.py  conditions on several features
personal.py      what single people have locked, and limits of their own
mend.py          rows brought to keep requirements
violations.py    rules that rows break, in words
faults.py        what is wrong with a person's own row
agreement.py     whether a reference table agrees with its schema
"""
