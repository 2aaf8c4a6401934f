"""Checks of stateful environments against the rules of the interface."""
