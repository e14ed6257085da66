"""The report: one HTML file on a result, to be handed to whoever has to judge it.

It needs no network and no script, prints well, and the same input gives the same bytes.

compose.py   `report`: the page put together
findings.py  what was found, in sentences
everyone.py  how many have a route, why others haven't, and what routes are like
compared.py  whether one group of people is offered as much as another
examples.py  some people's plans
settings.py  how the result was made, and from what
"""

from stepladder.view.page import write
from stepladder.view.report.compose import report

__all__ = ["report", "write"]
