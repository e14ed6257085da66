"""Equation 1 in torch, on a CPU or a GPU: many points, one cluster of positives.

`prepare` puts a cluster on a device once for all steps, and `cluster_direction` answers for tensors
that are there already. Both assume checked input. It's the arithmetic of `direction.py`, in float64
and in tiles; near pairs are left out of the products there too, and added from their differences.

On an NVIDIA GPU the fused kernel of `fused.py` answers first, some 25 times as fast. It says of
each point whether it can be trusted: a point that a positive is near to, one that float16 can't
hold, and one whose weights leave its range are answered again in float64. What counts is the error
beside Σ ‖y_j - x‖ α, the sum of the terms' lengths: at most `TOLERANCE`.

torch is imported only when something is asked of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ParameterError
from stepladder.kernels.alpha import Alpha, PerDistance, Power, Sloped, Unit, Volcano
from stepladder.kernels.distance import Norm

if TYPE_CHECKING:
    from torch import Tensor, device

TOLERANCE = {"cpu": 1e-12, "cuda": 1e-5}
"""The error of a direction on each kind of device, beside the sum of its terms' lengths."""

# Pairs in a tile of float64: 4 MB stay in a CPU's cache, and half a gigabyte keeps a GPU busy.
_TILE = {"cpu": 2**19, "cuda": 2**26}
_MOST_ROWS = {"cpu": 2**9, "cuda": 2**13}
_NEAR_PAIRS = 2**20
# As in `direction.py`: pairs whose distance² is at most this share of |x|², or this small. What a
# GPU is asked for leaves room for more cancellation, and few such pairs are soon added up.
_NEAR, _CONTACT = {"cpu": 1e-2, "cuda": 1e-8}, 1e-24

# ---- the fused kernel's sizes ---------------------------------------------------------------

# Columns (a power of two) → rows and columns of a tile, and whether sums stay in registers: those
# that were the fastest on an H200.
_SHAPES = {16: (64, 128, True), 32: (64, 128, True), 64: (128, 64, False), 128: (64, 64, False)}
_MOST_POINTS = 2**21  # at a time
_FEWEST = 256  # positives, below which float64 is as quick
_EMPTIED = 2048  # positives whose sum is still accurate in float32
_PADDING = 128  # a multiple of every tile's sides
_PROGRAMS = 3072  # so many are spread evenly over the multiprocessors

# ---- and what it can be trusted with --------------------------------------------------------

_NOTHING = 1e-30  # what keeps a distance² above 0 where α has a pole; such points aren't trusted
_STEEPEST = 8.0  # the highest power: an error in a distance is so many times as large in a weight
_DEEPEST = 12.0  # and the lowest a bell may be at the nearest positive, as a power of two
# In float32 |x|² + |y|² - 2 x·y is off by some 5e-7 of |x|²: 1e-5 of a distance² beyond this share.
_NEAR_FUSED = 5e-2
_SHORTEST = 0.1  # and of what is taken off a sum at the end, so much has to be left of it
_TYPICAL = 0.25  # a usual distance² is scaled to this: then weights 1 / z² are in mid-range
_LARGEST = 2.0**15  # a little below what float16 can hold
_FINEST = 2.0**-8  # usual coordinates below this would lose bits that count
_LONGEST = 2.0**6  # and so would the weights of usual positives that are farther away
_LIGHTEST = 2.0**-8  # as would those whose mean is lower


@dataclass(frozen=True, eq=False)
class Positives:
    """One cluster's positives on a device; made by `prepare`.

    points   (N, m)  as they came, for exact differences
    origin   (m,)    their mean: coordinates centred on it cancel least
    mapped   (N, m)  centred and mapped by the norm
    norms    (N,)    |mapped|²
    terms    (N, m + 1)  rows [y - origin, 1]: what the weights are multiplied with
    fused    the same as the fused kernel wants it; None where it can't help
    """

    points: Tensor
    origin: Tensor
    mapped: Tensor
    norms: Tensor
    terms: Tensor
    norm: Tensor | None
    fused: Fused | None

    def measured(self, vectors: Tensor) -> Tensor:
        """Vectors (..., m) mapped so that their Euclidean length is their length in the norm."""
        if self.norm is None:
            return vectors
        return vectors * self.norm if self.norm.ndim == 1 else vectors @ self.norm.T


def device_named(backend: str) -> device:
    """The device of the backend "torch" or "cuda", or a clear sentence about why there's none."""
    import torch

    if backend == "torch":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise ParameterError(
            "backend='cuda' needs an NVIDIA GPU that torch can use, and it sees none. Use "
            "backend='torch', which does the same on the CPU, or backend='numpy'."
        )
    return torch.device("cuda")


def prepare(positives: NDArray[np.float64], norm: Norm | None, on: device) -> Positives:
    """All that equation 1 needs of the positives (N, m) and that no point changes."""
    import torch

    points = torch.as_tensor(positives, dtype=torch.float64).to(on)
    n, m = points.shape
    origin = points.mean(dim=0) if n else torch.zeros(m, dtype=torch.float64, device=on)
    centred = points - origin
    scale = None if norm is None else torch.as_tensor(norm, dtype=torch.float64).to(on)
    terms = torch.cat([centred, torch.ones(n, 1, dtype=torch.float64, device=on)], dim=1)
    plain = Positives(points, origin, centred, centred, terms, scale, None)
    mapped = plain.measured(centred)
    norms = mapped.square().sum(dim=1)
    fused = _fused(mapped, norms, None if norm is None else centred) if _can_fuse(on) else None
    return Positives(points, origin, mapped, norms, terms, scale, fused)


def cluster_direction(points: Tensor, positives: Positives, alpha: Alpha) -> Tensor:
    """Equation 1 at points (n, m), float64 on the positives' device: (n, m)."""
    import torch

    result = torch.zeros_like(points)
    if result.numel() == 0 or len(positives.points) == 0:
        return result
    form = None if positives.fused is None else _form(alpha, positives.fused.scale)
    if positives.fused is None or form is None:
        return _exact(points, positives, alpha, result)
    for start in range(0, len(points), _MOST_POINTS):
        some = points[start : start + _MOST_POINTS]
        found, trusted = _quick(some, positives, positives.fused, form)
        again = torch.nonzero(~trusted)[:, 0]
        if len(again):
            left = some[again]
            found[again] = _exact(left, positives, alpha, torch.zeros_like(left))
        result[start : start + _MOST_POINTS] = found
    return result


# ---- float64, in tiles --------------------------------------------------------------------------


def _exact(points: Tensor, positives: Positives, alpha: Alpha, result: Tensor) -> Tensor:
    kind, count = points.device.type, len(positives.points)
    rows = min(len(points), _MOST_ROWS[kind])
    columns = max(1, _TILE[kind] // rows)
    for start in range(0, len(points), rows):
        block = slice(start, start + rows)
        result[block] = _block(points[block], positives, alpha, min(columns, count))
    return result


def _block(points: Tensor, positives: Positives, alpha: Alpha, columns: int) -> Tensor:
    """Equation 1 at a few points, over `columns` positives at a time."""
    import torch

    n, m = points.shape
    centred = points - positives.origin
    mapped = positives.measured(centred)
    norms = mapped.square().sum(dim=1, keepdim=True)
    limits = (_NEAR[points.device.type] * norms).clamp(min=_CONTACT)
    sums = points.new_zeros(n, m + 1)
    apart = points.new_zeros(n, m)
    for start in range(0, len(positives.points), columns):
        some = slice(start, start + columns)
        squared = torch.addmm(positives.norms[some], mapped, positives.mapped[some].T, alpha=-2.0)
        squared += norms
        near = squared <= limits
        pairs = torch.nonzero(near)
        if len(pairs):
            squared[near] = 1.0
        weights = _weights(alpha, squared)
        if len(pairs):
            weights[near] = 0.0
            _add_near(apart, points, positives, pairs[:, 0], pairs[:, 1] + start, alpha)
        sums.addmm_(weights, positives.terms[some])
    return apart + (sums[:, :m] - sums[:, m:] * centred)


def _add_near(
    out: Tensor, points: Tensor, positives: Positives, rows: Tensor, columns: Tensor, alpha: Alpha
) -> None:
    """Add the terms of some pairs of points and positives to `out`, from exact differences."""
    import torch

    for start in range(0, len(rows), _NEAR_PAIRS):
        i, j = rows[start : start + _NEAR_PAIRS], columns[start : start + _NEAR_PAIRS]
        difference = positives.points[j] - points[i]
        squared = positives.measured(difference).square().sum(dim=1)
        weights = _weights(alpha, squared)
        # Infinite at 0 it must add nothing; infinite by overflow it must outweigh all others.
        weights = torch.where(
            (squared == 0) & torch.isinf(weights), 0.0, weights.clamp(max=np.finfo(np.float64).max)
        )
        out.index_add_(0, i, difference * weights[:, None])


def _weights(alpha: Alpha, squared: Tensor) -> Tensor:
    """α(z) of z² (any shape)."""
    import torch

    match alpha:
        case Volcano():
            return squared.clamp(min=alpha.cutoff * alpha.cutoff).pow(-alpha.degree / 2)
        case Sloped():
            return torch.exp(squared / alpha.width / alpha.width * -0.5)
        case Power():
            return squared.pow(-alpha.degree / 2)
        case Unit():
            return squared.rsqrt()
        case PerDistance():
            return _weights(alpha.alpha, squared) * squared.rsqrt()
        case _:  # somebody's own, which knows arrays
            weights = alpha.of_squared(squared.cpu().numpy())
            return torch.as_tensor(weights).to(squared.device)


# ---- the fused kernel ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fused:
    """A cluster as the fused kernel wants it: scaled, in halves and filled up to whole tiles.

    high, low  (count, M)  the mapped positives times `scale`, in two float16
    norms      (count,)    |mapped · scale|²; infinite for what fills the last tile
    terms      the centred positives times `unit` in two float16, where a norm makes them others
    """

    high: Tensor
    low: Tensor
    norms: Tensor
    scale: float
    terms: tuple[Tensor, Tensor] | None
    unit: float


@dataclass(frozen=True)
class Form:
    """An α as the fused kernel knows it, of distances² that are scaled."""

    family: str
    least: float
    exponent: float
    divided: bool
    gain: float
    size: float
    """what the kernel's weights have to be multiplied with"""


@cache
def _can_fuse(on: device) -> bool:
    """Whether a device has the fused kernel's tensor cores, and Triton is there."""
    import torch

    if on.type != "cuda" or find_spec("triton") is None:
        return False
    return torch.cuda.get_device_capability(on) >= (8, 0)


def _fused(mapped: Tensor, norms: Tensor, centred: Tensor | None) -> Fused | None:
    """A cluster as the fused kernel wants it; None if float16 can't hold it, or it's too wide.

    `centred` are the positives without the norm, where there's one.
    """
    n, m = mapped.shape
    width = max(16, 1 << (m - 1).bit_length()) if m else 0
    if n < _FEWEST or width not in _SHAPES or n * width >= 2**31:
        return None
    scale = _scale(mapped, norms)
    unit = scale if centred is None else _scale(centred, centred.square().sum(dim=1))
    if scale is None or unit is None:
        return None
    high, low = _halves(mapped * scale, width)
    terms = None if centred is None else _halves(centred * unit, width)
    filled = norms.new_full((len(high),), math.inf)
    filled[:n] = norms * scale**2
    return Fused(high, low, filled.float(), scale, terms, unit)


def _scale(vectors: Tensor, norms: Tensor) -> float | None:
    """The power of two that brings vectors into float16's mid-range; None if they're too wide."""
    usual, largest = float(norms.median()), float(vectors.abs().max())
    if usual == 0:
        return None
    scale = 2.0 ** math.floor(math.log2(_TYPICAL / (2 * usual)) / 2)
    scale = min(scale, 2.0 ** math.floor(math.log2(_LARGEST / largest)))
    fine = math.sqrt(usual / vectors.shape[1]) * scale >= _FINEST
    return scale if fine and float(norms.sqrt().mean()) * scale <= _LONGEST else None


def _halves(values: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Values (n, m) as a high and a low float16, filled up with zeros to whole tiles."""
    import torch

    n, m = values.shape
    fill = (0, width - m, 0, -n % _PADDING)
    single = torch.nn.functional.pad(values, fill).float()
    high = single.half()
    return high, (single - high.float()).half()


def _form(alpha: Alpha, scale: float) -> Form | None:
    """An α of ours in units of scaled distances; None for another, or one that is too steep."""
    divided = isinstance(alpha, PerDistance)
    match alpha.alpha if isinstance(alpha, PerDistance) else alpha:
        case Volcano(degree, cutoff):
            least = max((cutoff * scale) * (cutoff * scale), _NOTHING)
        case Power(degree):
            least = _NOTHING
        case Unit():
            degree, least = 1.0, _NOTHING
        case Sloped(width):
            ratio = 1 / max(width * scale, _NOTHING)
            bell = -0.5 * math.log2(math.e) * ratio * ratio
            return _gained("bell", 0.0, bell, _TYPICAL * bell, 0.0, divided, scale)
        case _:
            return None
    if degree + divided > _STEEPEST or least > 1 / _NOTHING:
        return None
    family, exponent = {2.0: "reciprocal", 1.0: "root"}.get(degree, "power"), -degree / 2
    usual = exponent * math.log2(max(_TYPICAL, least))
    peak = exponent * math.log2(least) if least > _NOTHING else math.inf
    return _gained(family, least, exponent, usual, peak, divided, scale)


def _gained(
    family: str,
    least: float,
    exponent: float,
    usual: float,
    peak: float,
    divided: bool,
    scale: float,
) -> Form | None:
    """A form with weights in float16's range; `usual` and `peak` are powers of two."""
    if divided:
        usual, peak = usual - 0.5 * math.log2(_TYPICAL), math.inf
    degree = 0.0 if family == "bell" else -2 * exponent
    if not (abs(usual) < 100 and abs(math.log2(scale)) * (degree + divided) < 900):
        return None
    gain = min(max(0, math.ceil(-2 - usual)), math.floor(6 - usual))
    most = math.log2(_LARGEST)
    if most < peak + gain < math.inf:
        gain = max(math.floor(most - peak), math.ceil(-2 - usual))
    # The kernel's distances are `scale` times ours.
    size = scale ** (degree + divided) * 2.0**-gain
    return Form(family, least, exponent, divided, 2.0**gain, size)


def _quick(points: Tensor, positives: Positives, fused: Fused, form: Form) -> tuple[Tensor, Tensor]:
    """Equation 1 by the fused kernel (n, m), and which of its answers can be trusted (n,)."""
    import torch

    n, m = points.shape
    centred = points - positives.origin
    mapped = positives.measured(centred) * fused.scale
    norms = mapped.square().sum(dim=1)
    width = fused.high.shape[1]
    high, low = _halves(-2.0 * mapped, width)
    filled = torch.nn.functional.pad(norms, (0, len(high) - n)).float()
    sums, weights, nearest = _launch(high, low, filled, fused, form)
    total = weights.sum(dim=0, dtype=torch.float64)[:n]
    result = sums.sum(dim=0, dtype=torch.float64)[:n, :m] / fused.unit
    result = (result - total[:, None] * centred) * form.size
    least = nearest.amin(dim=0)[:n]
    trusted = least > (_NEAR_FUSED * norms).clamp(min=1e-12)
    trusted &= mapped.abs().amax(dim=1) <= _LARGEST / 2
    trusted &= total >= _LIGHTEST * len(positives.points)
    if form.family == "bell":
        trusted &= least * -form.exponent <= _DEEPEST
    if fused.terms is not None:  # what is far by the norm may be near, and cancel, all the same
        shift = form.size * total * centred.norm(dim=1)
        trusted &= result.norm(dim=1) >= _SHORTEST * shift
    return result, trusted & torch.isfinite(result).all(dim=1)


def _launch(
    high: Tensor, low: Tensor, norms: Tensor, fused: Fused, form: Form
) -> tuple[Tensor, Tensor, Tensor]:
    """The kernel's sums (splits, rows, M), weights and least distances² (splits, rows)."""
    import torch

    from stepladder.kernels.fused import direction

    (rows, width), count = high.shape, len(fused.high)
    tile_rows, tile_columns, held = _SHAPES[width]
    blocks = rows // tile_rows
    groups = math.ceil(count / _EMPTIED)
    splits = min(groups, math.ceil(_PROGRAMS / blocks))
    span = math.ceil(groups / splits) * _EMPTIED
    splits = math.ceil(count / span)
    made = norms.new_empty if held else norms.new_zeros
    sums, (weights, nearest) = made(splits, rows, width), norms.new_empty(2, splits, rows)
    terms = fused.terms or (fused.high, fused.low)
    with torch.cuda.device(high.device):
        direction[(blocks, splits)](
            *(high, low, norms, fused.high, fused.low, fused.norms, *terms),
            *(sums, weights, nearest, rows, count, span),
            *(form.least, form.exponent, form.gain),
            M=width,
            ROWS=tile_rows,
            COLUMNS=tile_columns,
            GROUP=_EMPTIED // tile_columns,
            STAGES=2,
            FAMILY=form.family,
            DIVIDED=form.divided,
            GAINED=form.gain != 1.0,
            MAPPED=fused.terms is not None,
            HELD=held,
            num_warps=4,
        )
    return sums, weights, nearest
