"""The stateful interface to one functional environment."""
