"""StEP, Stepwise Explainable Paths: `method.py` is the way in.

method.py     StEP: hyper-parameters, fit, recourse, walk
reference.py  the positives and their clusters
published.py  the authors' walk, to the letter
default.py    ours, with its options: targets, then search, then refine and finish
targets.py    the default's targets: the positives a person could become
mixed.py      targets for people who could become none of them
search.py     the default's walk
refine.py     the default's nearer ends: change where it earns most
finish.py     the default's last touches: nothing asked twice or in vain
"""

from stepladder.methods.step.default import Options
from stepladder.methods.step.method import StEP

__all__ = ["Options", "StEP"]
