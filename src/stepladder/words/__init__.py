"""Changes and groups in plain language.

plans.py     what to do, in which order, and what it leads to
measures.py  what groups are compared in
"""
