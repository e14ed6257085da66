"""docs/performance.md and its pictures, from what lies in results/performance.

python benchmarks/performance.py          write them
python benchmarks/performance.py lines    everything that is aimed at, met or missed
"""

from __future__ import annotations

import sys
from typing import Any

import alone
import bulk
import cost_model
import growth
import performance_others
from advice_ends import ROOT
from performance_lines import Line, show
from performance_page import draw, filled
from performance_tasks import read

PAGE = ROOT / "docs" / "performance.md"
FILES = ("alone", "bulk", "growth", "cost_model", "cluster", "kernel", "gpu")
PICTURES = ROOT / "docs" / "pictures" / "performance"


def measured() -> dict[str, Any]:
    """Everything that was measured, by the name of its file."""
    return {name: read(name) for name in FILES}


def lines(found: dict[str, Any]) -> list[Line]:
    """Everything that is aimed at, as far as it was measured."""
    return [
        *(alone.lines(found["alone"]) if found["alone"] else ()),
        *(bulk.lines(found["bulk"]) if found["bulk"] else ()),
        *(growth.lines(found["growth"]) if found["growth"] else ()),
        *(cost_model.lines(found["cost_model"]["tried"]) if found["cost_model"] else ()),
        *performance_others.cluster(found["cluster"]),
        *performance_others.kernel(found["kernel"]),
        *performance_others.gpu(found["gpu"]),
    ]


def main() -> None:
    found = measured()
    if sys.argv[1:] == ["lines"]:
        sys.exit(not show(lines(found)))
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(filled(text, found, lines(found)), encoding="utf-8")
    PICTURES.mkdir(parents=True, exist_ok=True)
    draw(found, PICTURES)


if __name__ == "__main__":
    main()
