"""Helpers that test files import: `from tests.support import ...`."""
