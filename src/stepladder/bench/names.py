"""What datasets, models, methods and metrics are called in a table."""

from __future__ import annotations

DATASETS = {
    "credit_default": "Credit Card Default",
    "give_me_some_credit": "Give Me Some Credit",
    "adult": "UCI Adult",
    "mortgage": "Boston Mortgages",
}

MODELS = {
    "logistic_regression": "Logistic Regression",
    "random_forest": "Random Forest",
    "dnn": "DNN",
}

METHODS = {
    "step": "StEP",
    "step-by-effort": "StEP by effort",
    "step-by-distance": "StEP by distance",
    "step.published": "StEP as published",
    "dice": "DiCE",
    "face": "FACE",
    "cchvae": "C-CHVAE",
    "mim": "MIM",
}

METRICS = {
    "success": "Success",
    "avg_success": "Avg Success",
    "valid_success": "Valid Success",
    "avg_valid_success": "Avg Valid Success",
    "l2_distance": "ℓ2 Distance",
    "nearest_l2_distance": "Nearest ℓ2",
    "least_distance": "Least Possible",
    "path_length": "Path Length",
    "path_steps": "Path Steps",
    "diversity": "Diversity",
    "diversity_as_printed": "Diversity",
    "proximal_diversity": "Prox. Diversity",
    "proximal_diversity_as_printed": "Prox. Diversity",
    "effort": "Effort",
    "sparsity": "Things Changed",
    "holds": "Holds",
    "tenth_short": "Tenth Short",
    "distance_to_positives": "To Positives",
    "ms_a_person": "ms per Person",
    "dropped_a_person": "Dropped per Person",
    "seconds_fit": "Seconds to Fit",
    "model_rows_a_person": "Rows Scored per Person",
    "peak_mib": "Peak MiB",
}

HEADS = {"method": "Method", "noise": "Noise β", "k": "k"}


def dataset(name: str) -> str:
    return DATASETS.get(name, name)


def model(name: str) -> str:
    return MODELS.get(name, name)


def method(name: str) -> str:
    """A label with a known beginning keeps its own end.

    >>> method("cchvae"), method("step-noise-0.3")
    ('C-CHVAE', 'StEP-noise-0.3')
    """
    known = family(name)
    return METHODS[known] + name.removeprefix(known) if known else name


def family(name: str) -> str:
    """The known label that a label begins with, or nothing.

    >>> family("step-noise-0.3"), family("step.published"), family("stepping")
    ('step', 'step.published', '')
    """
    known = [label for label in METHODS if name == label or name.startswith(f"{label}-")]
    return max(known, key=len, default="")


def metric(name: str) -> str:
    return METRICS.get(name, name.replace("_", " "))
