"""Small discrete worlds with exact transition tables."""
