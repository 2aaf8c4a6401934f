"""Multi-agent environments behind the parallel interface of PettingZoo (Terry et al., 2021)."""

from __future__ import annotations

import importlib
from typing import Any

from funcenv.adapters.env import Env
from funcenv.adapters.functional_env import FunctionalEnv
from funcenv.adapters.registration import make
from funcenv.func_env import AnyEnv, FuncEnv
from funcenv.interop.imported import import_library
from funcenv.multi_agent import MultiAgentEnv
from funcenv.wrappers.one_agent import acting_layer

pettingzoo = import_library("pettingzoo", (1, 25))


class PettingZooEnv(pettingzoo.ParallelEnv):  # type: ignore[misc, name-defined]  # It is imported by name.
    """A `pettingzoo.ParallelEnv` over a multi-agent environment, as `to_pettingzoo` returns it.

    An agent that has terminated leaves `agents`, and its actions are zeros in the environment, which ignores them.

    Args:
        env: the stateful environment of all agents.

    Attributes:
        env: the stateful environment.
        agents: the agents of this episode that can act.
        possible_agents: all agents.
    """

    def __init__(self, env: FunctionalEnv[Any, Any]) -> None:
        inside = acting_layer(env.func_env)
        if not isinstance(inside, MultiAgentEnv):
            raise TypeError(f"to_pettingzoo takes a multi-agent environment, got {type(inside).__name__}")
        to_gymnasium = importlib.import_module("funcenv.adapters.gymnasium.spaces").to_gymnasium
        self.env = env
        self.metadata = {**env.metadata, "name": str(env.spec.id if env.spec else type(inside).__name__)}
        self.render_mode = env.render_mode
        self.possible_agents = list(inside.agents)
        self.agents: list[str] = []
        observation_space: Any = env.func_env.observation_space
        action_space: Any = env.func_env.action_space
        self.observation_spaces = {agent: to_gymnasium(observation_space[agent]) for agent in inside.agents}
        self.action_spaces = {agent: to_gymnasium(action_space[agent]) for agent in inside.agents}
        self._idle = {agent: action_space[agent].decode(action_space[agent].zero()) for agent in inside.agents}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode, and return the observations and infos by agent; no environment has `options`."""
        del options
        observations, _ = self.env.reset(seed=seed)
        self.agents = list(self.possible_agents)
        return {agent: observations[agent] for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Perform the actions of all agents that can act: observations, rewards, two kinds of flags and infos."""
        acting = self.agents
        observations, _, terminated, truncated, info = self.env.step({**self._idle, **actions})
        terminations = {agent: terminated or bool(info["terminations"][agent]) for agent in acting}
        self.agents = [] if truncated else [agent for agent in acting if not terminations[agent]]
        rewards, others = info.pop("rewards"), {name: info[name] for name in info if name != "terminations"}
        return (
            {agent: observations[agent] for agent in acting},
            {agent: float(rewards[agent]) for agent in acting},
            terminations,
            dict.fromkeys(acting, bool(truncated)),
            {agent: dict(others) for agent in acting},
        )

    def observation_space(self, agent: str) -> Any:
        """Return the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Return the space of an agent's actions."""
        return self.action_spaces[agent]

    def render(self) -> Any:
        """Return an image of the state, or what else the render mode names."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


def to_pettingzoo(env: AnyEnv | Env[Any, Any] | str, **arguments: Any) -> PettingZooEnv:
    """Return a `pettingzoo.ParallelEnv` for a multi-agent environment.

    Args:
        env: a functional environment, one of `funcenv.adapters.make`, or an id.
        **arguments: those of `funcenv.adapters.make`, such as `render_mode="rgb_array"`, if `env` is an id.

    Raises:
        ModuleNotFoundError: PettingZoo is not installed.
        TypeError: `env` is no multi-agent environment.

    >>> env = to_pettingzoo("MultiAgent/CoinGame-v0")
    >>> observations, infos = env.reset(seed=0)
    >>> observations, rewards, terminations, truncations, infos = env.step({"red": 0, "blue": 1})
    >>> env.agents, truncations
    (['red', 'blue'], {'red': False, 'blue': False})
    """
    made: Any = make(env, **arguments) if isinstance(env, str) else env
    if isinstance(made, FuncEnv):
        made = FunctionalEnv(made, **arguments)
    if not isinstance(made, FunctionalEnv):
        raise TypeError(f"to_pettingzoo takes a functional environment, got {type(made).__name__}; name an id")
    return PettingZooEnv(made)
