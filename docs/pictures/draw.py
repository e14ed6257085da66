"""Draws the pictures of this folder: `make pictures`.

Most of them by running the page that shows them; the README's by running the demo.
"""

import os
import re
from pathlib import Path

from rich.console import Console

from stepladder.demo.show import work
from stepladder.view import plots

folder = Path(__file__).resolve().parent
page = (folder.parent / "pictures.md").read_text(encoding="utf-8")
os.chdir(folder)
exec("".join(re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)))

applicant = plots.before_after(work(seed=0, console=Console(quiet=True)).result, 993, width=1000)
plots.save(applicant, "applicant.svg")
