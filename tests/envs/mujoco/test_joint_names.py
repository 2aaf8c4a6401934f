"""Actions are named after the joints that they move, in words."""

import pytest

import funcenv


@pytest.mark.parametrize(
    ("env_id", "first", "last"),
    [
        ("Ant-v5", "back right hip", "back left ankle"),
        ("HalfCheetah-v5", "back thigh", "front foot"),
        ("Humanoid-v5", "abdomen y", "left elbow"),
        ("InvertedPendulum-v5", "slider", "slider"),
        ("Pusher-v5", "right shoulder pan", "right wrist roll"),
        ("Reacher-v5", "first joint", "second joint"),
        ("Walker2d-v5", "thigh", "left foot"),
    ],
)
def test_actions_are_named_after_joints(env_id, first, last):
    env = funcenv.make(env_id)
    names = env.action_names
    assert (names[0], names[-1]) == (first, last) and len(set(names)) == env.action_space.shape[0]
