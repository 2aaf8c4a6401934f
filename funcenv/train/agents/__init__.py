"""Policies: networks, the distributions that they return, and the observations that they take."""
