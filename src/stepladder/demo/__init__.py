"""`make demo`: recourse for every applicant a model turns down, on a real table of mortgages.

mortgage.py  the table, what may change in it, and the model
plans.py     a result as plans in plain words
show.py      the page in the terminal
"""
