"""The stateful interface to a batch of functional environments."""
