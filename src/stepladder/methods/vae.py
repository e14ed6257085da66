"""A variational autoencoder of the columns that may change, given those that may not.

The network of Pawelczyk, Broelemann and Kasneci's C-CHVAE (WWW 2020) as CARLA (Pawelczyk et al.,
NeurIPS 2021) has it: columns scaled to 0..1, ReLU layers down to a normal latent and back, the
fixed columns given to the decoder only, binary cross-entropy, and a weight on the divergence from
the prior that rises from epoch to epoch.

Torch trains it; what is learned is kept as NumPy arrays, so asking it needs no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.checks import finite, whole_number
from stepladder.errors import ExtraError, ParameterError
from stepladder.table.space import Floats, Mask

Singles = NDArray[np.float32]

Layers = list[tuple[Singles, Singles]]
"""Weights (from, to) and biases (to,); a ReLU between two layers, none after the last."""

WEIGHT_DECAY = 1e-6


@dataclass(frozen=True)
class Network:
    """How an autoencoder is built and trained.

    hidden         the widths of the encoder's layers; the decoder has them in reverse
    latent         how many numbers a row is squeezed into
    batch_size     how many rows make one move of the weights
    learning_rate  of Adam
    kl_weight      what the divergence from the prior counts, times epoch / epochs
    """

    hidden: tuple[int, ...] = (512, 256)
    latent: int = 8
    batch_size: int = 32
    learning_rate: float = 1e-3
    kl_weight: float = 0.3

    def __post_init__(self) -> None:
        if not isinstance(self.hidden, list | tuple) or not len(self.hidden):
            raise ParameterError(
                f"hidden must be the widths of the layers, such as (512, 256); got {self.hidden!r}."
            )
        object.__setattr__(self, "hidden", tuple(whole_number("hidden", w, 1) for w in self.hidden))
        whole_number("latent", self.latent, 1)
        whole_number("batch_size", self.batch_size, 1)
        finite("learning_rate", self.learning_rate, above=0.0)
        finite("kl_weight", self.kl_weight, least=0.0)


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """A trained one. A code is (latent + fixed columns,): where a row lies, and what it is given.

    `low` and `extent` (columns,) scale points to 0..1, `changeable` (columns,) tells the columns
    that are encoded from those that are given, and `losses` is the mean reconstruction loss of a
    row in each epoch.
    """

    low: Floats
    extent: Floats
    changeable: Mask
    encoder: Layers
    decoder: Layers
    losses: tuple[float, ...]

    def scaled(self, points: Floats) -> Floats:
        """Points (n, columns) with the reference rows' range as 0..1."""
        return np.asarray((points - self.low) / self.extent)

    def encode(self, points: Floats) -> Singles:
        """The codes (n, latent + fixed columns) of points: the latent's mean, and what is fixed."""
        rows = self.scaled(points).astype(np.float32)
        latent = _forward(self.encoder, rows[:, self.changeable])
        return np.concatenate([latent, rows[:, ~self.changeable]], axis=1)

    def decode(self, codes: Singles) -> Floats:
        """The changeable columns (n, changeable columns) of the points that codes stand for."""
        logits = _forward(self.decoder, codes)
        share = 0.5 * (1.0 + np.tanh(0.5 * logits))  # a sigmoid that never overflows
        where = self.changeable
        return np.asarray(share.astype(np.float64) * self.extent[where] + self.low[where])


def _forward(layers: Layers, rows: Singles) -> Singles:
    for depth, (weight, bias) in enumerate(layers):
        if depth:
            np.maximum(rows, 0.0, out=rows)
        rows = rows @ weight
        rows += bias
    return rows


def train(
    points: Floats, changeable: Mask, network: Network, *, epochs: int, seed: int
) -> Autoencoder:
    """An autoencoder of points (n, columns); the same seed gives the same one.

    Takes epochs · n / batch_size moves of a few milliseconds each. Torch's own random state is
    neither read nor changed, and its number of threads is given back.
    """
    try:
        import torch
    except ImportError as error:
        raise ExtraError("torch", "torch", "C-CHVAE") from error
    low, extent = points.min(axis=0), np.ptp(points, axis=0)
    extent = np.where(extent > 0, extent, 1.0)
    rows = torch.as_tensor((points - low) / extent, dtype=torch.float32)
    mask = torch.as_tensor(changeable)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # batches are too small to share, and sums then have one order
    try:
        learned = _trained(torch, rows[:, mask], rows[:, ~mask], network, epochs, seed)
    finally:
        torch.set_num_threads(threads)
    encoder, decoder, losses = learned
    weight, bias = encoder[-1]
    mean = slice(0, network.latent)  # the other half of the last layer is the latent's spread
    encoder = [*encoder[:-1], (weight[:, mean], bias[mean])]
    return Autoencoder(low, extent, changeable, _arrays(encoder), _arrays(decoder), losses)


def _trained(
    torch: Any, free: Any, fixed: Any, network: Network, epochs: int, seed: int
) -> tuple[list[Any], list[Any], tuple[float, ...]]:
    """The layers of encoder and decoder, and each epoch's loss, as tensors.

    free   (n, changeable columns), from 0 to 1
    fixed  (n, other columns)
    """
    random = torch.Generator().manual_seed(seed)
    count, width = free.shape
    code = network.latent + fixed.shape[1]
    encoder = _layers(torch, (width, *network.hidden, 2 * network.latent), random)
    decoder = _layers(torch, (code, *reversed(network.hidden), width), random)
    parameters = [tensor for layer in encoder + decoder for tensor in layer]
    optimiser = torch.optim.Adam(
        parameters, lr=network.learning_rate, weight_decay=WEIGHT_DECAY, fused=True
    )
    entropy = torch.nn.functional.binary_cross_entropy_with_logits
    losses: list[float] = []
    for epoch in range(epochs):
        weight, total = network.kl_weight * epoch / epochs, 0.0
        order = torch.randperm(count, generator=random)
        noise = torch.randn((count, network.latent), generator=random)
        batches = zip(
            *(part.split(network.batch_size) for part in (free[order], fixed[order], noise)),
            strict=True,
        )
        for seen, given, drawn in batches:
            mean, spread = _run(torch, encoder, seen).split(network.latent, dim=1)
            latent = torch.addcmul(mean, torch.exp(0.5 * spread), drawn)
            logits = _run(torch, decoder, torch.cat([latent, given], dim=1))
            lost = entropy(logits, seen, reduction="sum")
            apart = 0.5 * (spread.exp() + mean.square() - spread - 1.0).sum()
            optimiser.zero_grad()
            (lost + weight * apart).backward()
            optimiser.step()
            total += lost.item()
        losses.append(total / count)
    return encoder, decoder, tuple(losses)


def _layers(torch: Any, widths: Sequence[int], random: Any) -> list[Any]:
    """Layers from each width to the next, drawn as torch draws its linear ones."""
    layers = []
    for before, after in pairwise(widths):
        limit = before**-0.5 if before else 0.0
        shapes = ((before, after), (after,))
        drawn = [torch.empty(s).uniform_(-limit, limit, generator=random) for s in shapes]
        layers.append([tensor.requires_grad_() for tensor in drawn])
    return layers


def _run(torch: Any, layers: list[Any], rows: Any) -> Any:
    for depth, (weight, bias) in enumerate(layers):
        rows = torch.addmm(bias, rows.relu() if depth else rows, weight)
    return rows


def _arrays(layers: list[Any]) -> Layers:
    return [
        (weight.detach().numpy().copy(), bias.detach().numpy().copy()) for weight, bias in layers
    ]
