"""What a method found, and where it came from.

path.py        one route, as data
offer.py       the next step of a path, as a walk offers it
choices.py     which of a person's paths really differ
recourse.py    the paths of many people, as frames
archive/       the same in a file
provenance.py  fingerprints of what it was made from
"""
