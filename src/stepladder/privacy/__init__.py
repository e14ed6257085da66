"""Directions with an accounted (ε, δ) guarantee: noise, spending, and a private reference set."""
