"""Arrays in, arrays out. Nothing here knows a frame, a schema or a model.

alpha.py      how a positive's weight falls with its distance
distance.py   distances as norms
direction.py  equation 1; checks.py checks what it's given, and tiling.py cuts it to size
gpu.py        equation 1 in torch, on a CPU or a GPU; fused.py is the GPU's own kernel
"""
