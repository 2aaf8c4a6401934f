"""Comparisons of runs, and the pages and files that show them."""
