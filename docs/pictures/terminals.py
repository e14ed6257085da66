"""Draws the terminals of this folder, demo.svg and walk.svg: `make pictures`.

What they show is what the commands print: the demo's first applicant, and a walk with the person of
docs/walks.md, typed after each "> ".
"""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from stepladder.cli.session import PROMPT, Session
from stepladder.demo.chosen import instructive
from stepladder.demo.show import page, work
from stepladder.words.plans import plans

folder = Path(__file__).resolve().parent

WIDTH = 80
FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)
"""What rich would fetch from elsewhere; any monospaced font does."""

TYPED = ("1", "happened income 2,700, debt 980", "hard income 3", "1")


def draw(name: str, title: str, content: RenderableType) -> None:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False)
    console.print(content)
    svg = FONTS.sub("", console.export_svg(title=title))
    svg = svg.replace("Fira Code, ", "").replace("Fira Code", "monospace")
    (folder / name).write_text(re.sub(r"[ \t]+\n", "\n", svg), encoding="utf-8")


def walked() -> Text:
    """A walk, with what was typed in bold."""
    text = (folder.parent / "walks.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    exec(re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1], names)
    session = Session(names["step"], names["walk"], None)
    shown = Text()
    with redirect_stdout(io.StringIO()) as said:
        session.standing()
        session.next()
    shown.append(said.getvalue())
    for line in TYPED:
        shown.append(f"{PROMPT}{line}\n", style="bold green")
        with redirect_stdout(io.StringIO()) as said:
            session.do(line)
        shown.append(said.getvalue())
    shown.rstrip()
    return shown


result = work(seed=0, console=Console(quiet=True)).result
(someone,) = instructive([plan for plan in plans(result) if plan.routes], 1)
draw("demo.svg", "stepladder demo", page(someone))
draw("walk.svg", "stepladder walk", walked())
