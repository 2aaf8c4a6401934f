"""Algorithms take legal actions only, in training, in evaluations and from a file; illegal ones are fatal here."""

import dataclasses
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.datasets import record
from funcenv.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from funcenv.train import alphazero, ars, bc, dqn, ppo, pqn, recurrent_ppo, reinforce, run, stateful_policy
from funcenv.train.actions import kind_of_actions
from funcenv.train.agents.distributions import Categorical, Gaussian, restrict
from funcenv.train.agents.q_agent import epsilon_greedy
from funcenv.train.loop import Learner, train
from funcenv.wrappers import ActionMaskObservation
from tests.support.rotation import rotated
from tests.support.tiny_envs import Tiny

NUM_ACTIONS, LENGTH = 6, 8


class Minefield(Tiny):
    """Two of six actions are safe, others at every step; only the mask tells which. A step forward is worth 1."""

    masks: bool = funcenv.field(pytree_node=False, default=True)
    observation_space = Box(0.0, 1.0, (1,))
    action_space = Discrete(NUM_ACTIONS, start=10)

    def initial(self, key):
        return self.drawn(key, jnp.int32(0), jnp.zeros((), bool))

    def drawn(self, key, step, is_dead):
        return {"safe": jax.random.randint(key, (), 0, NUM_ACTIONS), "step": step, "is_dead": is_dead}

    def safe(self, state, num_options):
        offset = (jnp.arange(num_options) - state["safe"]) % num_options
        return (offset < 2) & ~state["is_dead"]  # no action is legal after the end

    def mask(self, state):
        return self.safe(state, NUM_ACTIONS)

    def transition(self, state, action, key):
        return self.drawn(key, state["step"] + 1, ~self.mask(state)[action - 10])

    def observation(self, state, key):
        return jnp.ones(1)

    def reward(self, state, action, next_state):
        return jnp.where(next_state["is_dead"], -5.0, 1.0)

    def terminal(self, state):
        return state["is_dead"] | (state["step"] == LENGTH)

    def state_info(self, state) -> dict[str, Any]:
        return {"action_mask": self.mask(state)} if self.masks else {}


class Minefields(Minefield):
    """Two of six options of one element are safe, and two of four of the other."""

    action_space = MultiDiscrete([[NUM_ACTIONS, 4]], start=[[10, 20]])

    def mask(self, state):
        return ((self.safe(state, NUM_ACTIONS), self.safe(state, 4)),)

    def transition(self, state, action, key):
        (fields,) = self.mask(state)
        is_safe = [field[option] for field, option in zip(fields, action[0] - jnp.array([10, 20]), strict=True)]
        return self.drawn(key, state["step"] + 1, ~jnp.stack(is_safe).all())


funcenv.register("test/Minefield-v0", Minefield)
funcenv.register("test/Minefields-v0", Minefields)
funcenv.register("test/BlindMinefield-v0", Minefield, kwargs={"masks": False})

TINY = {"env_id": "test/Minefield-v0", "num_envs": 4, "hidden_sizes": (8,)}
CONFIGS = {
    "alphazero": alphazero.Config(**TINY, num_steps=8, num_minibatches=2, num_simulations=4, total_timesteps=32 * 4),
    "ppo": ppo.Config(**TINY, num_steps=8, num_minibatches=2, total_timesteps=32 * 4, normalize_observation=True),
    "recurrent_ppo": recurrent_ppo.Config(
        **TINY, num_steps=8, num_minibatches=2, total_timesteps=32 * 4, memory_size=4
    ),
    "reinforce": reinforce.Config(**TINY, num_steps=8, total_timesteps=32 * 4),
    "ars": ars.Config(**TINY, num_steps=8, total_timesteps=32 * 4),
    "pqn": pqn.Config(**TINY, num_steps=8, num_minibatches=2, total_timesteps=32 * 4, is_dueling=True),
    "dqn": dqn.Config(
        **TINY, num_steps=2, buffer_size=64, minibatch_size=8, learning_starts=16, total_timesteps=8 * 12
    ),
}


CASES = [
    (name, kind)
    for name, config in CONFIGS.items()
    for kind in (Minefield, Minefields)
    if kind_of_actions(kind.action_space) in config.actions
]
ALWAYS = ("ppo", Minefield), ("ppo", Minefields)


@pytest.mark.parametrize("case", rotated(CASES, ALWAYS), ids=lambda case: f"{case[0]}-{case[1].__name__}")
def test_no_illegal_action_is_ever_taken(case):
    algorithm, kind = case
    config = dataclasses.replace(CONFIGS[algorithm], env_id=f"test/{kind.__name__}-v0")
    with jax.debug_nans(True), jax.debug_infs(True):
        learner = Learner(algorithm, config)
        state, metrics = learner.advance(learner.init(funcenv.key(0)), 100)
    assert metrics["episodes"][-1, 0] > 0 and (metrics["mean_return"][-1] == LENGTH).all()
    assert np.isfinite(metrics["loss"]).all() and (metrics["loss"][-1] != 0).all()
    for explore in (False, True):
        agent = learner.agent(state, explore=explore)
        for env in (learner.env, kind()):  # an environment without the mask in its observation gets it
            returns = funcenv.evaluate(env, agent, 64, funcenv.key(1), max_steps=2 * LENGTH).episode_return
            assert (returns == LENGTH).all()


def test_without_masks_these_actions_are_fatal():
    blind = [{"env_id": "test/BlindMinefield-v0"}, {"mask_actions": False}]
    for settings in blind:
        config = dataclasses.replace(CONFIGS["ppo"], **settings)
        assert isinstance(Learner("ppo", config).env.observation_space, Box)
    _, metrics = train("ppo", config, funcenv.key(0))
    assert (metrics["mean_return"][-1] < 0).all()


@pytest.mark.parametrize("shown", [True, False], ids=["with masks", "without"])
def test_a_dataset_decides_whether_its_agent_sees_masks(shown, tmp_path):
    env = ActionMaskObservation(Minefield()) if shown else Minefield()
    dataset = record(env, lambda observation, key: env.action_space.sample(key), funcenv.key(0), 64, tmp_path / "data")
    settings = {"hidden_sizes": (8,), "minibatch_size": 16, "num_gradient_steps": 2, "total_timesteps": 64}
    config = bc.Config(env_id="test/Minefield-v0", dataset=str(dataset.folder), **settings)
    state, _ = train("bc", config, funcenv.key(0))
    agent = Learner("bc", config).agent(state)
    returns = funcenv.evaluate(Minefield(), agent, 64, funcenv.key(1), max_steps=2 * LENGTH).episode_return
    assert (returns == LENGTH).all() if shown else (returns < LENGTH).any()


def test_a_loaded_policy_needs_the_mask(tmp_path, console):
    config = CONFIGS["ppo"]
    folder = run.start(config, tmp_path / "run", replay_episodes=0, console=console).folder
    act, legal = stateful_policy(funcenv.load_policy(folder, explore=True)), np.array([0, 0, 0, 1, 0, 0], np.int8)
    assert {int(act({"observation": np.ones(1, np.float32), "action_mask": legal})) for _ in range(20)} == {13}
    with pytest.raises(
        TypeError, match="takes observations with 'action_mask' beside 'observation', got others; put the"
    ):
        act(np.ones(1, np.float32))


def test_random_actions_are_drawn_from_all_legal_ones():
    legal = jnp.array([False, True, True, False])
    draw = jax.jit(jax.vmap(lambda key: epsilon_greedy(jnp.zeros(4), 1.0, key, legal)))
    counts = np.bincount(draw(jax.random.split(funcenv.key(0), 2000)), minlength=4)
    assert counts[0] == counts[3] == 0 and abs(counts[1] - 1000) < 120  # over five standard deviations


def test_illegal_actions_have_no_gradient():
    @jax.jit
    @jax.grad
    def gradient(logits):
        policy = restrict(Categorical(logits), jnp.array([True, True, False]))
        return policy.entropy() + policy.log_prob(jnp.int32(0))

    found = np.asarray(gradient(jnp.array([0.5, -0.2, 3.0])))
    assert np.isfinite(found).all() and found[2] == 0 and (found[:2] != 0).all()


def test_masks_are_those_that_the_action_space_samples_by():
    env = funcenv.adapters.make("test/Minefields-v0")
    _, info = env.reset(seed=0)
    actions = {tuple(env.action_space.sample(mask=info["action_mask"])[0].tolist()) for _ in range(40)}
    fields = [np.flatnonzero(mask) for mask in info["action_mask"][0]]
    assert actions == set(itertools.product((10 + fields[0]).tolist(), (20 + fields[1]).tolist()))


def test_the_masks_of_elements_are_shown_as_rows():
    state = {"safe": jnp.int32(5), "step": jnp.int32(0), "is_dead": jnp.zeros((), bool)}
    env = ActionMaskObservation(Minefields())
    mask = env.observation(state, funcenv.key(0))["action_mask"]
    assert env.observation_space["action_mask"].contains(mask)
    assert mask.tolist() == [[1, 0, 0, 0, 0, 1], [0, 1, 1, 0, 0, 0]]


@pytest.mark.parametrize(
    ("space", "mask", "fits"),
    [
        (MultiDiscrete([2, 3]), (np.ones(2), np.ones(3)), True),
        (MultiDiscrete([2, 3]), (np.ones(3), np.ones(2)), False),
        (MultiDiscrete([2, 3]), np.ones(5), False),
        (MultiDiscrete([[3, 3]]), np.ones((1, 2, 3)), True),
        (MultiDiscrete([[3, 3]]), np.ones((2, 3)), False),
        (MultiDiscrete([[3, 3]]), ((np.ones(3), np.ones(3)),), True),
        (MultiBinary(2), np.ones(2), False),
        (Discrete(2), np.ones((1, 2)), False),
    ],
)
def test_masks_have_a_form_that_the_action_space_samples_by(space, mask, fits):
    class Masked(Tiny):
        action_space = space

        def initial(self, key):
            return jnp.int32(0)

        def state_info(self, state):
            return {"action_mask": mask}

    assert funcenv.wrappers.gives_action_mask(Masked()) is fits
    if fits:
        space.sample(funcenv.key(0), mask=jax.tree.map(np.int8, mask))
        shown = ActionMaskObservation(Masked()).observation(jnp.int32(0), funcenv.key(0))["action_mask"]
        assert shown.sum() == space.nvec.sum()


def test_masks_are_for_discrete_actions():
    with pytest.raises(TypeError, match="action masks need a network that returns a Categorical policy, got Gaussian"):
        restrict(Gaussian(jnp.zeros(2), jnp.zeros(2)), jnp.ones(2, bool))
    for env, name in ((funcenv.make("CartPole-v1"), "CartPole"), (funcenv.make("Pendulum-v1"), "Pendulum")):
        with pytest.raises(
            ValueError, match=rf"ActionMaskObservation needs Discrete or MultiDiscrete actions .* which {name} has not"
        ):
            funcenv.wrappers.ActionMaskObservation(env)
