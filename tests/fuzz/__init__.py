"""Tests on generated input, valid and invalid: no crash, no hang, no wrong result, and few obscure messages."""
