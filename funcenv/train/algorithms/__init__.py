"""The training algorithms, one module each; `funcenv.train.algorithm` describes what they offer."""
