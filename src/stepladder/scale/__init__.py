"""More people, or more reference rows, than one process takes at once.

run.py        people in parts, to a folder of Parquet files that is one result: `recourse`
people.py     the parts, from a frame or from Parquet files
asked.py      what is asked for a part
dask.py       parts answered on a cluster
reference.py  reference rows that are never all in memory: `fit`
screening.py  their positives, and a sample of them
shards.py     those positives on disk, and the published method on them
complete.py   the default method on them
engine.py     where work on shards is done
"""

from __future__ import annotations

from stepladder.scale.reference import fit
from stepladder.scale.run import recourse

__all__ = ["fit", "recourse"]
