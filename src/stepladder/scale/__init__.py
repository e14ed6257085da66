"""More people, or more reference rows, than one process takes at once.

run.py     people in parts, to a folder of Parquet files that is one result: `recourse`
people.py  the parts, from a frame or from Parquet files
asked.py   what is asked for a part
dask.py    parts answered on a cluster
"""

from __future__ import annotations

from stepladder.scale.run import recourse

__all__ = ["recourse"]
