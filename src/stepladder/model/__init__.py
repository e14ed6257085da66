"""What says yes.

goal.py        what counts as a yes
scorer.py      any model, asked for scores; asking.py: how each kind is
scores.py      a score as people read it
successors.py  models that may replace this one; retraining.py: how they are made
loading/       a model from a file, an import path or an address
"""
