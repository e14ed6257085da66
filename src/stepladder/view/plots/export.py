"""Charts as files and as part of a page: SVG, PNG and HTML, without a browser or a network."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from html import escape
from pathlib import Path as File
from typing import Any

from stepladder.errors import ExtraError, ResultError
from stepladder.files import replacing
from stepladder.view.plots.style import DARK, WIDTH, Chart

PHONE = 320
"""How wide a picture is on a phone, in pixels."""


def save(chart: Chart, path: str | File) -> None:
    """Write a chart to a `.svg`, `.png` or `.html` file, whole or not at all.

    The HTML file holds all it needs; it loads nothing from elsewhere.
    """
    file = File(path)
    converters: dict[str, Callable[[dict[str, Any]], bytes]] = {
        ".svg": _svg,
        ".png": lambda spec: bytes(_converter().vegalite_to_png(spec, scale=2)),
        ".html": _page,
    }
    if file.suffix not in converters:
        raise ResultError(
            f"Can't save a chart to {file.name!r}: expected a name that ends in .svg, .png or "
            ".html."
        )
    content = converters[file.suffix](chart.to_dict())
    with replacing(file, "Can't save a chart to") as unfinished:
        unfinished.write_bytes(content)


def picture(draw: Callable[[float], Chart], *, width: float = WIDTH) -> str:
    """HTML for a page: the chart `width` pixels wide, and on a phone as drawn for a phone.

    draw  makes the chart for a width, such as `lambda width: person(result, 3, width=width)`

    The pictures are part of the text, so a page that holds them is complete by itself.
    """
    # Whether a chart is valid is for `save` and the tests to ask: it takes as long as drawing it.
    wide, narrow = (draw(each).to_dict(validate=False) for each in (width, PHONE))
    return (
        f'<picture><source media="(max-width: {int(width) + 40}px)" srcset="{_inline(narrow)}">'
        f'<img src="{_inline(wide)}" alt="{escape(wide.get("description", ""))}"></picture>'
    )


def _inline(spec: dict[str, Any]) -> str:
    return "data:image/svg+xml;base64," + b64encode(_svg(spec)).decode()


def _svg(spec: dict[str, Any]) -> bytes:
    """The chart as SVG, which changes its colours where whoever looks at it likes dark pages."""
    text: str = _converter().vegalite_to_svg(spec)
    start = text.index(">") + 1
    return f"{text[:start]}{_NIGHT}{text[start:]}".encode()


_NIGHT = "<style>@media screen and (prefers-color-scheme: dark){{{}}}</style>".format(
    "".join(
        f'[{part}="{light}"]{{{part}:{dark}}}'
        for light, dark in DARK.items()
        for part in ("fill", "stroke")
    )
)
"""Rules that turn each colour of a chart into the one for dark pages."""


def _page(spec: dict[str, Any]) -> bytes:
    """A page that draws the chart; no text of it can end the script it stands in."""
    empty: str = _converter().vegalite_to_html({}, bundle=True)
    held = json.dumps(spec).replace("<", r"\u003c")  # to a script the same, to HTML no markup
    return empty.replace("const spec = {};", f"const spec = {held};").encode()


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise ExtraError("vl-convert-python", "view", "Saving a chart") from error
    return vl_convert
