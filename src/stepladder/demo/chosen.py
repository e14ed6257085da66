"""Which plans the demo shows, and where their people stand."""

from __future__ import annotations

from stepladder.datasets.mortgage import SCHEMA
from stepladder.words.plans import Plan, value


def instructive(plans: list[Plan], count: int) -> list[Plan]:
    """A few plans that differ in kind: each begins with something that those before it didn't.

    Readable plans come first: one thing to do on the easiest route, no raise to wait for, several
    routes, and much to gain. Who the people are plays no part.
    """

    def odd(plan: Plan) -> tuple[int, bool, int, float]:
        easiest = plan.routes[0]
        return (
            len(easiest.features),
            "income" in easiest.features,
            -len(plan.routes),
            plan.score - easiest.score,
        )

    left, chosen, seen = sorted(plans, key=odd), list[Plan](), set[str]()
    while left and len(chosen) < count:
        plan = max(left, key=lambda plan: bool(plan.routes[0].features - seen))
        left.remove(plan)
        chosen.append(plan)
        seen |= plan.routes[0].features
    return chosen


def situation(plan: Plan) -> str:
    """Where a person stands, in a few sentences."""
    loan, price, income = (
        value(SCHEMA[name], plan.today[name]) for name in ("loan", "price", "income")
    )
    asks = f"Asks for {loan} to buy a home for {price}, with a household income of {income}."
    return " ".join(filter(None, [asks, plan.standing, plan.caution]))
