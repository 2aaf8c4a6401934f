"""The gallery: its texts are those that the script writes, and every animation exists."""

import re

import funcenv
from funcenv import cli

REMEDY = "run docs/make_gallery.py with the ids of new environments"


def test_the_page_is_up_to_date(gallery, docs):
    assert (docs / "gallery.md").read_text() == gallery.page_text(gallery.env_ids()), REMEDY


def test_the_readme_lists_every_environment(gallery):
    readme = gallery.README.read_text()
    assert readme == gallery.replace_list(readme, gallery.env_ids()), REMEDY


def test_every_animation_exists(gallery, docs):
    images = re.findall(r'<img src="([^"]+)"', (docs / "gallery.md").read_text())
    assert len(images) == len(gallery.env_ids())
    for image in images:
        assert (docs / image).read_bytes()[:6] == b"GIF89a", REMEDY


def test_the_policy_of_an_animation_plays_valid_actions(gallery):
    for env_id in "CartPole-v1", "Pendulum-v1", "FrozenLake-v1":
        env = funcenv.make(env_id)
        _, timestep = env.reset(funcenv.key(0))
        action = gallery.policy_for(env)(timestep.observation, funcenv.key(1))
        assert env.action_space.contains(action)


def test_a_new_environment_is_listed_everywhere(gallery, package, capsys):
    ids = gallery.env_ids(package.name)
    assert ids == [package.env_id] and package.env_id not in gallery.env_ids()
    assert 'src="assets/gallery/harbour-Boat-v0.gif"' in gallery.page_text(ids)
    assert "Bring a drifting boat back to its dock." in gallery.page_text(ids)
    assert gallery.readme_list(ids) == "- **Harbour:** `harbour/Boat-v0`\n"
    assert cli.main(["list"]) == 0
    assert re.search(r"^harbour/Boat-v0\s+50\s+-3$", capsys.readouterr().out, flags=re.MULTILINE)
