"""One published method a room, each citing its source."""
