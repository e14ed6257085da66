"""Draws the pictures of this folder by running the page that shows them: `make pictures`."""

import os
import re
from pathlib import Path

folder = Path(__file__).resolve().parent
page = (folder.parent / "pictures.md").read_text(encoding="utf-8")
os.chdir(folder)
exec("".join(re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)))
