"""Checks of stateful environments."""
