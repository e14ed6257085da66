"""How paths are found: one published method per file or folder, each citing its source.

base.py       what every method shares: fit, recourse, Question and Answer
asked.py      what a yes takes: the rules, the policy and the model
steps.py      steps that keep the rules
refusals.py   what keeps a person's score down, beside people who are accepted
pace.py       a call's clock, progress and questions to the model
parts.py      a call's people in parts, one after the other or side by side
collecting.py Python's garbage collector, paused while very many paths are made
step/         StEP: the default, the published and the private planners
walk.py       one person's loop; one_row.py reads the row they come with
mim.py        MIM
dice.py       DiCE, by dice-ml: dice_library.py and dice_gradient.py
face.py       FACE, on graphs.py
cchvae.py     C-CHVAE, on vae.py
trails.py     what a baseline found, checked and made into paths
catalogue.py  every method by its name
"""
