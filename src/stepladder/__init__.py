"""Stepladder: a few concrete, different, step-by-step routes to a yes.

The way in for a reader is the way the data goes: here → `methods/step/method.py` →
`methods/base.py` → `methods/step/default.py` → `gathered.py` → `led.py` → `search.py` → `centres`
in `kernels/direction.py`.
"""

from stepladder.errors import BudgetError, StepladderError
from stepladder.kernels.alpha import Power, Sloped, Unit, Volcano
from stepladder.methods.base import Answer, Method, Question
from stepladder.methods.step import StEP
from stepladder.methods.walk import Walk
from stepladder.model.goal import Goal
from stepladder.model.retraining import successors
from stepladder.model.scorer import encoded
from stepladder.privacy.accountant import Budget
from stepladder.privacy.pay import PayOnce, PayPerDirection
from stepladder.result.path import Outcome, Path
from stepladder.result.recourse import Recourse
from stepladder.table.feasible import Feasible
from stepladder.table.feature import Categorical, Change, Derived, Numeric, Ordinal
from stepladder.table.rules.violations import Violation
from stepladder.table.schema import Schema
from stepladder.table.space import Space

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Budget",
    "BudgetError",
    "Categorical",
    "Change",
    "Derived",
    "Feasible",
    "Goal",
    "Method",
    "Numeric",
    "Ordinal",
    "Outcome",
    "Path",
    "PayOnce",
    "PayPerDirection",
    "Power",
    "Question",
    "Recourse",
    "Schema",
    "Sloped",
    "Space",
    "StEP",
    "StepladderError",
    "Unit",
    "Violation",
    "Volcano",
    "Walk",
    "encoded",
    "successors",
]
