"""What recourse is worth: pure functions of paths.

people.py     the metrics: one value per person, and their mean; paths.py is what they are read off
groups.py     what groups of people are compared by, read off members.py
fairness.py   six notions of fairness between them
intervals.py  how sure such numbers are

>>> sorted(name for name, metric in METRICS.items() if not metric.higher_is_better)[:2]
['distance_to_positives', 'l2_distance']
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
