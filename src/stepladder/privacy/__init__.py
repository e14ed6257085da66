"""What an (ε, δ) guarantee takes: noise, and an account of what it costs.

neighbours.py  which two tables nobody is to tell apart
mechanism.py   sums and counts with noise
reference.py   noisy facts about rows, and rows made up from them
accountant.py  a budget, and what is spent of it; ledger.py keeps that in a file
pay.py         the two ways to spend one, and what an answer says about it
"""
