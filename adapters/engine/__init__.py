"""The parts that the stateful environments share: sessions, compiled programs, and conversions on the host."""
