"""`make demo`: recourse for every applicant a model turns down, on a real table of mortgages.

lender.py  a model of the lenders' decisions
chosen.py  which plans are shown
show.py    the page in the terminal

The table, and what may change in it, is datasets/mortgage.py.
"""
