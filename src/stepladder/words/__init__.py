"""Changes, routes and groups in plain language.

changes.py   what to do, from what to what, and how big that is
routes.py    what a route is, what to do in which order and by when, and how sure it is
plans.py     one person's routes, or why there are none; a walk's offers
measures.py  what groups are compared in
"""
