"""Which plans the demo shows, and where their people stand."""

from __future__ import annotations

from stepladder.datasets.mortgage import SCHEMA
from stepladder.words.plans import Plan, value

CHOICE = 30
"""How many of the most readable plans those of different kinds are chosen from."""


def instructive(plans: list[Plan], count: int) -> list[Plan]:
    """A few plans that differ in kind: each brings changes that those before it didn't.

    Readable plans come first: no raise to wait for, several routes, and on the nearest two changes
    in three steps. Who the people are plays no part.
    """

    def odd(plan: Plan) -> tuple[bool, int, int, int]:
        nearest = plan.routes[0]
        return (
            "income" in nearest.features,
            -len(plan.routes),
            abs(len(nearest.features) - 2),
            abs(len(nearest.steps) - 3),
        )

    left, chosen, seen = sorted(plans, key=odd), list[Plan](), set[str]()
    while left and len(chosen) < count:
        kinds = {plan.routes[0].features for plan in chosen}
        kind = max(
            (plan.routes[0].features for plan in left[:CHOICE]),
            key=lambda kind: (len(kind - seen), kind not in kinds),
        )
        plan = next(plan for plan in left if plan.routes[0].features == kind)
        left.remove(plan)
        chosen.append(plan)
        seen |= kind
    return chosen


def situation(plan: Plan) -> str:
    """Where a person stands, in a few sentences."""
    loan, price, income = (
        value(SCHEMA[name], plan.today[name]) for name in ("loan", "price", "income")
    )
    asks = f"Asks for {loan} to buy a home for {price}, with a household income of {income}."
    return " ".join(filter(None, [asks, plan.standing, plan.caution]))
