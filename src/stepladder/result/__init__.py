"""What came of it.

path.py        one route, as data
offer.py       the next step of one, as a walk offers it
recourse.py    the paths of many people, as frames
archive/       the same in a file
provenance.py  what it was made from
"""
