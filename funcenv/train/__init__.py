"""Agents trained end to end: one file for each algorithm, and the runs around them."""
