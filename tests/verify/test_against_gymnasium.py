"""`funcenv verify --against gymnasium` finds equal environments equal, and a changed one different."""

import pytest

from funcenv.adapters.gymnasium import verification
from funcenv.adapters.gymnasium.verification import verify_against_gymnasium
from funcenv.envs import CartPole
from funcenv.verify import Outcome
from tests.support.rotation import rotated

OUTCOMES = {"CartPole-v1": "ROUNDING", "FrozenLake-v1": "EXACT", "Pendulum-v1": "ROUNDING", "Ant-v5": "EXACT"}


@pytest.mark.parametrize("id", rotated(list(OUTCOMES), ["CartPole-v1", "FrozenLake-v1"]))
def test_equal_environments_are_equal(id):
    assert verify_against_gymnasium(id).outcome is Outcome[OUTCOMES[id]]


def test_a_changed_parameter_is_found(monkeypatch):
    monkeypatch.setattr(verification, "make", lambda id: CartPole(gravity=9.81))
    found = verify_against_gymnasium("CartPole-v1")
    assert found.outcome is Outcome.DIFFERENT and found.first_step == 1


def test_an_id_that_the_installed_gymnasium_lacks_is_said(monkeypatch):
    monkeypatch.setattr(verification, "_TABULAR", (*verification._TABULAR, "Taxi-v99"))
    monkeypatch.setattr(verification, "make_stateful", lambda id: verification.gymnasium.make("Taxi-v4"))
    found = verify_against_gymnasium("Taxi-v99")
    assert found.outcome is Outcome.MISSING and "Taxi" in found.reason


def test_what_is_not_compared_is_said(monkeypatch):
    assert verify_against_gymnasium("LunarLander-v3").outcome is Outcome.UNRECORDED
    monkeypatch.setattr(verification, "_play_atari", lambda id: iter(["no ale_py"]) and __import__("no_such_module"))
    assert verify_against_gymnasium("ALE/Pong-v5").outcome is Outcome.MISSING
