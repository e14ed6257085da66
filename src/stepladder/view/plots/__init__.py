"""Pictures as Altair charts: the same one in a notebook, the report, the page, or a file.

routes.py  `person`: one person's routes, score by step and feature by feature (tracks.py)
before_after.py  `before_after`: all that a person's routes ask for, on one scale
certainty.py     `certainty`: what each route asks, and how sure its yes is
how_far.py `how_far`: the share of each group that has a route within an effort
asked.py   `asked`: what each group is asked to change, and which way
maps.py    `map` and `clusters`: rows, the model's yes and the paths in two dimensions
plane.py   the two dimensions of such a map; axes.py and shade.py draw them
ranges.py  `by_group` and `methods`: numbers with their intervals
export.py  `save` and `picture`: SVG, PNG and HTML without a browser
ends.py    labels at the ends of lines
style.py   what they all share

Each takes the `width` it is to fill, in pixels, and lays itself out for it, from 320 on. Nothing is
shown by colour alone, so that a picture can be printed in black and white.
"""

from stepladder.view.plots.asked import asked
from stepladder.view.plots.before_after import before_after
from stepladder.view.plots.certainty import certainty
from stepladder.view.plots.export import picture, save
from stepladder.view.plots.how_far import how_far
from stepladder.view.plots.maps import clusters, map
from stepladder.view.plots.ranges import by_group, methods
from stepladder.view.plots.routes import person

__all__ = [
    "asked",
    "before_after",
    "by_group",
    "certainty",
    "clusters",
    "how_far",
    "map",
    "methods",
    "person",
    "picture",
    "save",
]
