"""The session of a stateful environment: two faces, each of which takes over the state that the other left."""

import pickle

import jax
import numpy as np
import pytest

import funcenv
from funcenv.adapters.engine.innermost import Innermost
from funcenv.adapters.engine.seeding import seed_to_key
from funcenv.adapters.engine.session import Face, Session, plain_conversions, whole
from funcenv.adapters.error import ResetNeeded
from funcenv.vector import call_key
from funcenv.wrappers import TimeLimit
from tests.support.tiny_envs import Counter

LIMITED = TimeLimit(Counter(noise=1.0), max_episode_steps=3)


@pytest.fixture
def session():
    return Session(LIMITED)


@pytest.fixture
def faces(session):
    """Return the face with the time limit, and the face without it."""
    return Face(session, whole, plain_conversions), Face(session, Innermost, plain_conversions)


def test_the_faces_alternate_as_the_pure_functions_do(session, faces):
    key, env = seed_to_key(3), LIMITED
    observation, _ = faces[0].reset(None, key)
    state, timestep = env.reset(call_key(key, 0))
    np.testing.assert_array_equal(observation, timestep.observation)
    pure = env, Innermost(env)
    for call, index in enumerate([0, 1, 1, 0, 1, 0], start=1):
        observation, reward, terminated, truncated, info = faces[index].step(1)
        state, timestep = pure[index].step(state, 1, call_key(key, call))
        np.testing.assert_array_equal(observation, timestep.observation)
        assert (reward, terminated, truncated) == (timestep.reward, timestep.terminated, timestep.truncated)
        assert info == {"came_from": call - 1, "action": 1, "number": call} and session.state == call
    assert truncated and not session.is_playing
    with pytest.raises(ResetNeeded):
        faces[0].step(1)


def test_a_reset_by_the_other_face_goes_on_with_the_key(faces):
    faces[0].reset(None, seed_to_key(0))
    observations = [face.reset(None, None)[0] for face in (faces[1], faces[0], faces[1])]
    keys = [call_key(seed_to_key(0), call) for call in (1, 2, 3)]
    np.testing.assert_array_equal(observations, [LIMITED.reset(key)[1].observation for key in keys])


def test_the_action_of_an_episode_outlives_a_change_of_face(session, faces):
    faces[0].reset(None, seed_to_key(0))
    assert session.frame().action is None
    faces[0].step(2)
    frame = session.frame()
    faces[1].step(1)
    assert (frame().action, int(frame().env_state.env_state)) == (2, 2)  # read in the layout of the face that left it
    assert (session.frame()().action, int(session.frame()().env_state.env_state)) == (1, 3)


def test_a_bad_action_changes_nothing(session, faces):
    faces[0].reset(None, seed_to_key(0))
    before = session.packed
    for face in (faces[0], faces[0], faces[1]):
        with pytest.raises(ValueError, match="not in Discrete"):
            face.step(3)
    assert session.state == 0 and session.is_playing and np.asarray(before).size


def test_there_is_no_state_before_the_first_reset(session, faces):
    with pytest.raises(ResetNeeded):
        _ = session.snapshot
    with pytest.raises(ResetNeeded):
        faces[1].step(0)
    assert session.packed is None


def test_a_pickled_session_is_stepped_by_new_faces(session, faces):
    faces[1].reset(None, seed_to_key(0))
    faces[1].step(2)
    copy = pickle.loads(pickle.dumps(session))
    face = Face(copy, whole, plain_conversions)
    np.testing.assert_array_equal(face.step(1)[0], faces[0].step(1)[0])
    assert copy.state == session.state == 3


def test_faces_of_equal_environments_share_programs(faces):
    other = Session(TimeLimit(Counter(noise=1.0), max_episode_steps=3))
    assert Face(other, whole, plain_conversions).programs is faces[0].programs is not faces[1].programs


def test_an_attribute_that_is_constant_is_read_once_for_its_parameters():
    session = Session(funcenv.make("FrozenLake-v1"))
    face = Face(session, whole, plain_conversions)
    face.reset(None, jax.random.key(0))
    session.set_parameters({"is_slippery": False})
    assert session.is_playing and face.step(2)[0] == 1
    table = session.read_attribute("P")
    assert session.read_attribute("P") is table and session.read_attribute("s") == 1
    session.set_parameters({"is_slippery": True})
    assert session.read_attribute("P") is not table
