"""The audit: whether a result offers one group of people as much recourse as another.

columns.py  who is in which group
run.py      `audit`: the groups counted and compared
result.py   `Audit`: what it found, as frames
text.py     the same in plain text
"""

from stepladder.audit.result import Audit
from stepladder.audit.run import audit

__all__ = ["Audit", "audit"]
