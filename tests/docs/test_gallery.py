"""The gallery and the list in the README have every environment."""

import re

import funcenv
from funcenv import cli

REMEDY = "run docs/make_gallery.py with the ids of new environments"


def test_the_readme_lists_every_environment(gallery):
    readme = gallery.README.read_text()
    assert readme == gallery.replace_list(readme, gallery.env_ids()), REMEDY


def test_every_id_has_an_animation_unless_another_looks_alike(gallery, environment_pages, docs):
    text, animated = environment_pages.gallery(), gallery.animated_ids()
    assert len({type(funcenv.make(id).unwrapped) for id in animated}) == text.count("<figure>")
    for env_id in animated:
        path = f"assets/gallery/{environment_pages.animation_name(env_id)}"
        assert f'<img src="{path}"' in text
        assert (docs / path).read_bytes()[:6] == b"GIF89a", REMEDY


def test_the_policy_of_an_animation_plays_valid_actions(gallery):
    for env_id in "CartPole-v1", "Pendulum-v1", "FrozenLake-v1":
        env = funcenv.make(env_id)
        _, timestep = env.reset(funcenv.key(0))
        action = gallery.policy_for(env, env_id)(timestep.observation, funcenv.key(1))
        assert env.action_space.contains(action)


def test_a_new_environment_is_listed_everywhere(gallery, environment_pages, package, capsys):
    ids = gallery.env_ids(package.name)
    assert ids == [package.env_id] and package.env_id not in gallery.env_ids()
    text = environment_pages.gallery(package.name)
    assert 'src="assets/gallery/harbour-Boat-v0.gif"' in text
    assert "Bring a drifting boat back to its dock." in text and "## Harbour" in text
    assert gallery.readme_list(ids) == "- **Harbour:** `harbour/Boat-v0`\n"
    assert cli.main(["list"]) == 0
    assert re.search(r"^harbour/Boat-v0\s+50\s+-3$", capsys.readouterr().out, flags=re.MULTILINE)
