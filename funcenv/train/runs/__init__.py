"""Training runs: their folders, checkpoints, metrics, and the policies that come from them."""
