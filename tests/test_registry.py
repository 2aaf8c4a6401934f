"""Environments by name."""

import os
import subprocess
import sys

import pytest

import funcenv
from funcenv.checker import run_check
from funcenv.envs import CartPole
from funcenv.registry import EnvSpec
from funcenv.wrappers import TimeLimit


def test_make_adds_the_registered_limit():
    env = funcenv.make("CartPole-v1")
    assert isinstance(env, TimeLimit) and env.max_episode_steps == 500
    assert funcenv.make("CartPole-v0").max_episode_steps == 200


def test_the_limit_can_be_changed_or_left_off():
    assert funcenv.make("CartPole-v1", max_episode_steps=7).max_episode_steps == 7
    for none in (None, -1):
        assert funcenv.make("CartPole-v1", max_episode_steps=none) == CartPole()
    with pytest.raises(ValueError, match="max_episode_steps must be at least 1, got 0"):
        funcenv.make("CartPole-v1", max_episode_steps=0)


def test_parameters_reach_the_environment():
    assert funcenv.make("CartPole-v1", gravity=1.6, sutton_barto_reward=True).unwrapped == CartPole(
        gravity=1.6, sutton_barto_reward=True
    )


def test_an_unknown_parameter_is_named_with_the_closest_one():
    message = "CartPole-v1 got an unexpected keyword argument 'masspol'; did you mean masspole"
    with pytest.raises(TypeError, match=message):
        funcenv.make("CartPole-v1", masspol=1.0)
    with pytest.raises(TypeError, match="it has: gravity"):
        funcenv.make("CartPole-v1", zzz=1.0)


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("CartPol-v1", "did you mean CartPole-v1"),
        ("cartpole-v1", "did you mean CartPole-v1"),
        ("Taxi-v3", "Taxi-v3 is deprecated and has no implementation here; use Taxi-v4"),
        ("CartPole-v9", "its versions are CartPole-v0, CartPole-v1"),
        ("cheetah-run", r"did you mean dm_control/cheetah-run-v0\?"),
        ("walker_walk", r"did you mean dm_control/walker-walk-v0\?"),
        ("FetchReach-v4", r"did you mean robotics/FetchReach-v4\?"),
        ("Qqqqq-v0", "pprint_registry"),
        ("Cart Pole", "has the form"),
    ],
)
def test_an_unknown_id_is_helped(id, message):
    with pytest.raises(ValueError, match=message):
        funcenv.make(id)


def test_without_a_version_the_newest_is_taken_with_a_warning():
    with pytest.warns(UserWarning, match="using the newest, CartPole-v1"):
        assert funcenv.spec("CartPole").id == "CartPole-v1"


def test_a_class_that_is_defined_again_replaces_the_one_before():
    """As when a cell of a notebook runs again."""

    def define():
        class Cell(CartPole):
            pass

        funcenv.register("test/Cell-v0", Cell, max_episode_steps=5)
        return Cell

    first, second = define(), define()
    assert funcenv.spec("test/Cell-v0").entry_point is second is not first


def test_register_refuses_another_environment_under_the_same_id():
    funcenv.register("test/Twice-v0", CartPole)
    funcenv.register("test/Twice-v0", CartPole)
    with pytest.raises(ValueError, match="registered already"):
        funcenv.register("test/Twice-v0", CartPole, max_episode_steps=3)


@pytest.mark.parametrize(
    ("id", "entry"), [("bad id!", CartPole), ("test/Bad-v0", "module_without_attribute"), ("a/b/c-v0", CartPole)]
)
def test_register_refuses_malformed_input(id, entry):
    with pytest.raises(ValueError, match="form|must be"):
        funcenv.register(id, entry)


def test_a_module_in_the_id_is_imported_first(tmp_path, monkeypatch):
    (tmp_path / "my_lab_envs.py").write_text(
        "import funcenv\n"
        "from funcenv.envs import CartPole\n"
        "funcenv.register('lab/Moon-v3', CartPole, kwargs={'gravity': 1.6})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert funcenv.make("my_lab_envs:lab/Moon-v3") == CartPole(gravity=1.6)


def test_the_registry_cannot_be_written_to():
    with pytest.raises(TypeError):
        funcenv.registry["X-v0"] = EnvSpec("X-v0", CartPole)


def test_the_registry_is_full_from_the_start():
    code = "import funcenv; assert 'CartPole-v1' in list(funcenv.registry), funcenv.registry"
    subprocess.run([sys.executable, "-c", code], check=True)
    size = len(funcenv.registry)
    assert repr(funcenv.registry) == f"<the ids of {size} environments; funcenv.pprint_registry() lists them>"


def test_a_package_may_look_at_the_registry_while_it_is_imported(tmp_path):
    (tmp_path / "my_lab.py").write_text(
        "import funcenv\n"
        "from funcenv.envs import CartPole\n"
        "if 'lab/Moon-v4' not in funcenv.registry:\n"
        "    funcenv.register('lab/Moon-v4', CartPole)\n"
        "def register_more():\n"
        "    funcenv.register('lab/Moon-v5', CartPole)\n"
    )
    metadata = tmp_path / "my_lab-0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my_lab\nVersion: 0.1\n")
    (metadata / "entry_points.txt").write_text("[funcenv.envs]\nmy_lab = my_lab:register_more\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    for first in ("import my_lab", "import funcenv"):
        code = f"{first}, funcenv; assert funcenv.make('lab/Moon-v4') == funcenv.make('lab/Moon-v5')"
        subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env={**os.environ, "PYTHONPATH": path})


def test_a_package_that_fails_is_named_and_the_others_load():
    code = (
        "import importlib.metadata as m, sys, warnings, funcenv\n"
        "r = sys.modules['funcenv.registry']\n"
        "broken = m.EntryPoint('broken', 'no_such_module:register', 'funcenv.envs')\n"
        "found = [broken, *m.entry_points(group='funcenv.envs')]\n"
        "m.entry_points = lambda group: found\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    assert r.make('CartPole-v1')\n"
        "assert 'no_such_module' in str(caught[0].message), caught\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pprint_registry_lists_everything():
    table = funcenv.pprint_registry()
    assert all(id in table for id in funcenv.registry)


def test_a_class_of_a_module_needs_no_registration():
    spec = funcenv.spec("funcenv.envs:CartPole")
    assert spec.id == "funcenv.envs:CartPole" and spec.max_episode_steps is None
    assert funcenv.make(spec.id, gravity=1.6) == CartPole(gravity=1.6)
    assert funcenv.make(spec.id, max_episode_steps=7).max_episode_steps == 7
    with pytest.raises(ValueError, match="has no class CartPoel; its environments are: .*, funcenv.envs:CartPole"):
        funcenv.make("funcenv.envs:CartPoel")


def test_first_lookups_in_several_threads_all_succeed():
    code = (
        "import importlib.metadata as m, sys, threading, funcenv\n"
        "sys.setswitchinterval(1e-6)\n"
        "class Slow:\n"  # its function looks up an environment of another entry point, and itself
        "    value = 'slow:register'\n"
        "    def load(self): return self.register\n"
        "    def register(self):\n"
        "        funcenv.make('CartPole-v1')\n"
        "        funcenv.register('Slow-v0', 'funcenv.envs:CartPole')\n"
        "        funcenv.make('Slow-v0')\n"
        "found = [Slow(), *m.entry_points(group='funcenv.envs')]\n"
        "m.entry_points = lambda group: found\n"
        "start, failures = threading.Barrier(8), []\n"
        "def make(id):\n"
        "    start.wait()\n"
        "    try: funcenv.make(id)\n"
        "    except Exception as error: failures.append(error)\n"
        "threads = [threading.Thread(target=make, args=(id,)) for id in ('CartPole-v1', 'Slow-v0') * 4]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "assert not failures, failures\n"
    )
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("id", "own"), [("funcenv/CartPole-v1", "CartPole-v1"), ("funcenv-spaced/Pole-v0", "spaced/Pole-v0")]
)
def test_an_id_of_gymnasium_is_recognized(id, own):
    funcenv.register("spaced/Pole-v0", CartPole)
    with pytest.raises(ValueError, match=f"write '{own}' here, because the prefix funcenv is that of gymnasium.make"):
        funcenv.make(id)


def test_a_module_without_the_class_lists_those_that_it_has(tmp_path, monkeypatch):
    (tmp_path / "harbour_typo.py").write_text(
        "from funcenv import FuncEnv\nclass Boat(FuncEnv): pass\nclass Ship(FuncEnv): pass\nclass Port: pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    message = "the module harbour_typo has no class Nope; its environments are: harbour_typo:Boat, harbour_typo:Ship"
    with pytest.raises(ValueError, match=message):
        funcenv.make("harbour_typo:Nope")
    with pytest.raises(ValueError, match=message):
        run_check("harbour_typo:Nope", make=funcenv.make)
