"""One published method per file or folder, each citing its source.

base.py       what every method shares
catalogue.py  every method by its name
walk.py       one person's loop with the program
"""
