"""Arrays in, arrays out: the weights (`alpha`), the distances and equation 1.

Nothing here knows a frame, a schema or a model.
"""
