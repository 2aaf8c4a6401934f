"""An environment of an installed package is tested as soon as it is registered: no list names it."""

import importlib.util
import pathlib

import pytest

import funcenv
from funcenv.checker import find_problems
from tests.support import environments
from tests.support.recording import MAX_EPISODE_STEPS, NUM_STEPS, record_env
from tests.support.temporary_package import temporary_package

SCENE_TESTS = pathlib.Path(__file__).parents[1] / "envs" / "test_scenes.py"


@pytest.fixture
def package(tmp_path):
    with temporary_package(tmp_path) as package:
        yield package


@pytest.mark.dear
def test_contract_and_scene_tests_visit_it(package):
    assert package.env_id in environments.ids()
    assert {case.variant for case in environments.cases() if case.id == package.env_id} == set(environments.VARIANTS)
    assert package.env_id in environments.first_of_each_class()  # so it is recorded and fully checked
    spec = importlib.util.spec_from_file_location("scene_tests_with_a_new_environment", SCENE_TESTS)
    scene_tests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scene_tests)
    assert package.env_id in scene_tests.ENVS


def test_it_meets_the_contract(package):
    assert find_problems(funcenv.make(package.env_id), funcenv.key(0), run=False) == []
    env = funcenv.wrappers.TimeLimit(funcenv.make(package.env_id).unwrapped, MAX_EPISODE_STEPS)
    recording = record_env(env)
    assert recording.timesteps.done[:, 0].sum() >= NUM_STEPS // MAX_EPISODE_STEPS
    assert recording.halves[0].scene.shapes
