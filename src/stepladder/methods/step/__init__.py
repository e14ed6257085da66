"""StEP, Stepwise Explainable Paths: `method.py` is the way in.

method.py         StEP: hyper-parameters, fit, recourse, walk
planner.py        what its planners have in common
clusters.py       partitions of the positives
reference.py      the positives and their clusters
default.py        the default planner: candidates, asked, chosen, laid
  gathered.py       candidates, and what becomes of them when they're asked about
    scan.py           single changes, pairs and triples
    led.py            what directions lead to
      targets.py        the positives that a person could become
      mixed.py          targets for people who could become none of them
      search.py         following equation 1 toward them
      refine.py         nearer ends: change where it earns most
    judge.py          asked: the model, every rule, short by the slack, and successors
    cost.py           what counts as easy
  offers.py         what people are offered of all that was found
    chosen.py         a few that really differ
    sizes.py          amounts as small as will do, and round
  laid.py           ends as steps
  blame.py          which rules keep a person from every positive
finish.py         last touches: nothing asked twice or in vain
published.py      the published planner: the authors' method, to the letter
  on_device.py      the same by torch, on a GPU if there is one
private.py        the private planners: a reference set that is bought once
  per_direction.py  or directions, each of which is paid for
  bought.py         what a budget buys of the positives
why.py            why a person has no path
"""

from stepladder.methods.step.method import StEP

__all__ = ["StEP"]
