"""The parts that the updates of algorithms are made of."""
