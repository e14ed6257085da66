"""`make demo`: recourse for every applicant a model turns down, on a real table of mortgages.

lender.py  a model of the lenders' decisions
plans.py   a result as plans in plain words
show.py    the page in the terminal

The table, and what may change in it, is datasets/mortgage.py.
"""
