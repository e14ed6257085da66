"""What recourse is worth: pure functions of paths.

paths.py      the paths of many people as arrays, and their distances
people.py     the metrics, each with a value per person
members.py    people in groups, as they are and drawn again
groups.py     the measures of a group
intervals.py  how sure a value is
fairness.py   groups compared

>>> sorted(name for name, metric in METRICS.items() if not metric.higher_is_better)[:2]
['distance_to_positives', 'easiest_effort']
"""

from stepladder.metrics.paths import (
    Paths,
    distances,
    nearest_distance,
    pairwise,
    pairwise_reached,
)
from stepladder.metrics.people import (
    METRICS,
    Metric,
    average_success,
    distance_to_positives,
    diversity,
    diversity_as_printed,
    each,
    easiest_effort,
    effort,
    l2_distance,
    nearest_l2_distance,
    path_length,
    path_steps,
    proximal_diversity,
    proximal_diversity_as_printed,
    sparsity,
    success,
    summary,
)

__all__ = [
    "METRICS",
    "Metric",
    "Paths",
    "average_success",
    "distance_to_positives",
    "distances",
    "diversity",
    "diversity_as_printed",
    "each",
    "easiest_effort",
    "effort",
    "l2_distance",
    "nearest_distance",
    "nearest_l2_distance",
    "pairwise",
    "pairwise_reached",
    "path_length",
    "path_steps",
    "proximal_diversity",
    "proximal_diversity_as_printed",
    "sparsity",
    "success",
    "summary",
]
