"""Results for people to read.

words.py  values, changes, plans and offers in plain words
why.py    why a person has no route, and what would have to give
"""
