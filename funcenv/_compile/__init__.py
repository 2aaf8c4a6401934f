"""Everything that knows how XLA compiles; nothing in it changes a result, and one switch walks past it."""
