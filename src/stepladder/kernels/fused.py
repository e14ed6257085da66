"""Equation 1 in one kernel for NVIDIA GPUs: distances, α and both products, tile after tile.

Nothing of size points × positives is ever in memory. It imports Triton, so `gpu.py` imports this
only where there is a GPU.

The tensor cores multiply float16, of which two hold a float32 but for its last bit or two: a high
and a low part. A product of two such numbers is three products (high · high, high · low and
low · high; low · low is below the last bit that counts). The sums of a few thousand positives are
float32, and emptied into larger ones before their roundings pile up.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _reciprocal(x):
    """1 / x as the hardware has it: off by one in the last bit, and quick."""
    return tl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def _halves(w):
    """float32 numbers as a high and a low float16, two at a time."""
    return tl.inline_asm_elementwise(
        """
        {
        .reg .b16 a, b;
        .reg .f32 c, d;
        cvt.rn.f16x2.f32 $0, $3, $2;
        mov.b32 {a, b}, $0;
        cvt.f32.f16 c, a;
        cvt.f32.f16 d, b;
        sub.f32 c, $2, c;
        sub.f32 d, $3, d;
        cvt.rn.f16x2.f32 $1, d, c;
        }
        """,
        "=&r,=r,f,f",
        [w],
        dtype=(tl.float16, tl.float16),
        is_pure=True,
        pack=2,
    )


@triton.jit
def _weights(squared, least, exponent, FAMILY: tl.constexpr, DIVIDED: tl.constexpr):
    """α of squared distances; `least` keeps the base of a power above 0."""
    if FAMILY == "bell":
        w = tl.exp2(squared * exponent)
    else:
        base = tl.maximum(squared, least)
        if FAMILY == "reciprocal":
            w = _reciprocal(base)
        elif FAMILY == "root":
            w = tl.rsqrt(base)
        else:
            w = tl.exp2(tl.log2(base) * exponent)
    if DIVIDED:
        w = w * tl.rsqrt(tl.maximum(squared, 1e-30))
    return w


@triton.jit
def _eighths(tile, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A tile as (ROWS, columns, 8): along its middle axis each thread reduces its own numbers."""
    return tl.reshape(tile, (ROWS, COLUMNS // 8, 8))


@triton.jit
def direction(
    x_high, x_low, x_norm,  # (rows, M), (rows, M), (rows,): -2 x and |x|²
    y_high, y_low, y_norm,  # (count, M), (count, M), (count,): y and |y|²
    t_high, t_low,          # (count, M): what the weights are multiplied with, y if not MAPPED
    sums, weights, nearest,  # (splits, rows, M), (splits, rows), (splits, rows): what comes out
    rows, count, span,
    least, exponent, gain,
    M: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, GROUP: tl.constexpr,
    STAGES: tl.constexpr, FAMILY: tl.constexpr, DIVIDED: tl.constexpr, GAINED: tl.constexpr,
    MAPPED: tl.constexpr, HELD: tl.constexpr,
):  # fmt: skip
    """Σ w y, Σ w and the least distance² of ROWS points over `span` of the positives.

    `rows` and `count` are whole numbers of tiles; what is added to fill them up has norm ∞, and so
    no weight. HELD says whether larger sums stay in registers or go to memory, where they're zero.
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, M)
    split = tl.program_id(1)
    first = split * span
    last = tl.minimum(first + span, count)
    cells = row[:, None] * M + column[None, :]
    xh, xl = tl.load(x_high + cells), tl.load(x_low + cells)
    x2 = tl.load(x_norm + row)
    here = sums + (split * rows).to(tl.int64) * M + cells
    total = tl.zeros((ROWS, M), tl.float32)
    weight = tl.zeros((ROWS,), tl.float32)
    low = tl.full((ROWS, 8), float("inf"), tl.float32)
    for start in range(first, last, GROUP * COLUMNS):
        part = tl.zeros((ROWS, M), tl.float32)
        part_weight = tl.zeros((ROWS, 8), tl.float32)
        stop = tl.minimum(start + GROUP * COLUMNS, last)
        for j in tl.range(start, stop, COLUMNS, num_stages=STAGES):
            k = j + tl.arange(0, COLUMNS)
            tile = k[:, None] * M + column[None, :]
            yh, yl = tl.load(y_high + tile), tl.load(y_low + tile)
            squared = x2[:, None] + tl.load(y_norm + k)[None, :]
            squared = tl.dot(xl, yh.T, squared)
            squared = tl.dot(xh, yl.T, squared)
            squared = tl.dot(xh, yh.T, squared)
            low = tl.minimum(low, tl.min(_eighths(squared, ROWS, COLUMNS), 1))
            w = _weights(squared, least, exponent, FAMILY, DIVIDED)
            if GAINED:
                w = w * gain
            part_weight += tl.sum(_eighths(w, ROWS, COLUMNS), 1)
            wh, wl = _halves(w)
            if MAPPED:
                yh, yl = tl.load(t_high + tile), tl.load(t_low + tile)
            part = tl.dot(wl, yh, part)
            part = tl.dot(wh, yl, part)
            part = tl.dot(wh, yh, part)
        weight += tl.sum(part_weight, 1)
        if HELD:
            total += part
        else:
            tl.atomic_add(here, part, sem="relaxed")
    if HELD:
        tl.store(here, total)
    tl.store(weights + split * rows + row, weight)
    tl.store(nearest + split * rows + row, tl.min(low, 1))
