"""Torch tensors from a vector environment, with torch itself, which the dev extra leaves out."""

import numpy as np
import pytest

from funcenv.adapters import make_vec

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")


def test_outputs_are_tensors_with_the_values_of_the_numpy_ones():
    ours, theirs = (make_vec("CartPole-v1", 5, output=output) for output in ("torch", "numpy"))
    observation, expected = ours.reset(seed=3)[0], theirs.reset(seed=3)[0]
    generator = np.random.default_rng(0)
    for _ in range(40):
        assert isinstance(observation, torch.Tensor) and observation.dtype == torch.float32
        np.testing.assert_array_equal(observation.numpy(), expected)
        action = torch.as_tensor(generator.integers(0, 2, 5))
        observation, reward, terminated, truncated, infos = ours.step(action)
        expected, *scalars, expected_infos = theirs.step(action.numpy())
        for tensor, array in zip((reward, terminated, truncated), scalars, strict=True):
            np.testing.assert_array_equal(tensor.numpy(), array)
        assert infos.keys() == expected_infos.keys()


def test_what_was_handed_out_is_not_touched_by_later_steps():
    envs = make_vec("CartPole-v1", 3, output="torch")
    observation, _ = envs.reset(seed=0)
    kept = observation.clone()
    envs.step(torch.ones(3, dtype=torch.int64))
    assert torch.equal(observation, kept)
    observation.zero_()  # nor does writing to it steer the environments
    again, *_ = envs.step(torch.ones(3, dtype=torch.int64))
    assert bool((again != 0).any())
