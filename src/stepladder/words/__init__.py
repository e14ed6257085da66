"""Changes and groups in plain language.

plans.py   what to do, in which order, and what it leads to
groups.py  what an audit compares
"""
