"""The gallery: its page is what the script writes, and every picture on it exists."""

import re

import pytest

import funcenv


@pytest.fixture(scope="module")
def env_ids():
    """What is built in; other tests register environments of their own."""
    funcenv.spec("CartPole-v1")  # loads the entry points
    return [spec.id for spec in funcenv.registry.values() if str(spec.entry_point).startswith("funcenv.envs.")]


def test_the_page_is_up_to_date(gallery, env_ids, docs):
    assert (docs / "gallery.md").read_text() == gallery.page(env_ids), "run docs/make_gallery.py"


def test_its_pictures_exist(docs, env_ids):
    pictures = re.findall(r'<img src="([^"]+)"', (docs / "gallery.md").read_text())
    assert len(pictures) == len(env_ids)
    for picture in pictures:
        assert (docs / picture).read_bytes()[:6] == b"GIF89a"


def test_what_acts_in_a_film_is_a_policy_of_its_environment(gallery):
    for env_id in "CartPole-v1", "Pendulum-v1", "FrozenLake-v1":
        env = funcenv.make(env_id)
        _, timestep = env.reset(funcenv.key(0))
        action = gallery.policy_for(env)(timestep.observation, funcenv.key(1))
        assert env.action_space.contains(action)
