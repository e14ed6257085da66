"""Which of a person's paths are really different: what makes two of them a choice.

Two paths differ if neither's set of features is within the other's, or if something that both
change is changed clearly less by one of them (at most three quarters as far), the other way, or to
another level. But a path that asks for all that another one asks for, as much or more, is no
choice beside it.

Arrays in, arrays out: `sets` are masks (..., features) of what paths change, `amounts` (...,
features) by how much: for an ordered feature the difference with its sign, for a category the code
of the level it ends at. What a mask leaves out doesn't count, whatever its amount. From a gap an
ordered feature has no amount, NaN, and one way to fill it is as good as another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepladder.result.path import Outcome, Path
from stepladder.table.space import Floats, Mask, Space

CLEARLY = 0.75
"""Up to which share of a change another one is clearly smaller."""


def amounts(space: Space, start: Floats, ends: Floats) -> Floats:
    """(n, features) by how much paths from `start` to `ends`, both (n, features), change things."""
    return np.where(space.unordered, ends, ends - start)


def differ(
    sets_a: Mask, sets_b: Mask, amounts_a: Floats, amounts_b: Floats, levels: Mask | None = None
) -> Mask:
    """Which of some paths really differ from which of others; shapes broadcast.

    levels  (features,) which are categories, so that their amounts are codes; none by default
    """
    coded = np.zeros(np.shape(sets_a)[-1], dtype=bool) if levels is None else levels
    other = np.where(coded, amounts_a != amounts_b, amounts_a * amounts_b < 0)
    far_a, far_b = (np.where(coded, 1.0, np.abs(amounts)) for amounts in (amounts_a, amounts_b))
    smaller = np.minimum(far_a, far_b) <= CLEARLY * np.maximum(far_a, far_b)
    clearly = (sets_a & sets_b & (other | smaller)).any(axis=-1)
    more_in_a = (sets_a & (~sets_b | other | (far_a > far_b))).any(axis=-1)
    more_in_b = (sets_b & (~sets_a | other | (far_b > far_a))).any(axis=-1)
    apart = (sets_a & ~sets_b).any(axis=-1) & (sets_b & ~sets_a).any(axis=-1)
    return np.asarray(apart | (clearly & more_in_a & more_in_b))


def easiest_first(paths: Sequence[Path], *, in_order: bool) -> list[int]:
    """Which of some paths are successful, the easiest first.

    in_order  whether a method that has a cost handed them over in that order; else effort decides,
              and distance where that isn't known
    """
    reached = [slot for slot, path in enumerate(paths) if path.outcome is Outcome.REACHED]
    if in_order:
        return reached
    unknown = any(paths[slot].efforts is None for slot in reached)
    return sorted(reached, key=lambda s: paths[s].distance if unknown else paths[s].effort)


def different(space: Space, paths: Sequence[Path], order: Sequence[int]) -> list[int]:
    """Which of one person's paths are choices; `order` has those that are any good."""
    start = np.concatenate([path.values[:1] for path in paths])
    ends = np.concatenate([path.values[-1:] for path in paths])
    sets = space.links.changes(start, ends)
    return chosen(order, sets, amounts(space, start, ends), space.unordered)


def chosen(
    order: Sequence[int], sets: Mask, amounts: Floats, levels: Mask | None = None
) -> list[int]:
    """Which of k paths to show, the easiest first.

    order    the paths that are any good, the easiest first
    sets     (k, features) what each of the k changes, and by how much: `amounts`

    These are the easiest, the first of those that change the fewest things, and each further one
    that differs from all before.
    """
    if not order:
        return []
    kept = [order[0]]
    fewest = min(order, key=lambda path: int(sets[path].sum()))
    for path in [fewest, *order]:
        if path not in kept and (
            path == fewest
            or differ(sets[kept], sets[path], amounts[kept], amounts[path], levels).all()
        ):
            kept.append(path)
    return sorted(kept, key=list(order).index)
