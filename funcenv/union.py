"""Different environments in one vector: each row is one of them, and all rows share their spaces.

A `Union` is a `FuncEnv` that behaves as one of its environments, seen through common spaces. In a vector environment
`funcenv.row_groups` gives each environment a contiguous group of rows, which is stepped as if it were alone.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from funcenv._jax import kinds
from funcenv.checks import require_size
from funcenv.func_env import AnyEnv, FuncEnv, require_env
from funcenv.random import key as new_key
from funcenv.spaces import Dict, Discrete
from funcenv.spaces.common import CommonSpace
from funcenv.spaces.space import AnySpace
from funcenv.struct import NDArray, PyTreeNode, field
from funcenv.wrappers.base import Wrapper, layers


class TaskStates(PyTreeNode):
    """The state of a `Union`: the state in its task, and None in place of the other tasks' states.

    In a vector environment every task has states: `states[task]`, with a leading axis for the rows of that task.
    """

    states: tuple[Any, ...]


class Union(FuncEnv[TaskStates, Any, dict[str, Any]]):
    """Several environments, the tasks, for one vector and one policy.

    In a vector environment each task has a contiguous group of rows, in order, and each group is stepped by its own
    environment alone. A row lives the same life as the environment by itself with the same key, bit for bit, and keeps
    its task when it is reset. `rollout`, `evaluate` and training take a `Union` for an environment.

    An observation is a dict of `observation` and `task`, the number of the task. Observations of one kind and shape
    stay as they are. Arrays with equally many axes are padded with zeros at the end of each, and all others become
    vectors (`funcenv.spaces.flatten`), which are padded. Actions are `Discrete` in all environments, or a `Box` with
    equally many axes. An action beyond the space of a task is clipped to it. If the numbers of actions differ,
    `info["action_mask"]` says which are the task's own.

    `info` holds `task`, and what the infos of all environments have with the same name, shape and dtype.

    By itself the union is a single environment: that of its `task`, or of task 0. With a `task` all rows of a vector
    have that task.

    Args:
        envs: the environments, at least one. A parameter of one of them may be batched, `[num_envs]`; row i takes
            value i.
        shares: the ratio in which the rows of a vector are shared among the tasks, one positive integer for each;
            equal by default.
        task: the only task, by number, or None for all.

    Raises:
        TypeError: An entry is no `FuncEnv`, spaces have none in common, or a share is no integer.
        ValueError: There are no environments, one is a union of several itself, a share is below 1, their number is
            another than that of the environments, or there is no such task.

    >>> import funcenv
    >>> union = Union([funcenv.make("CartPole-v1"), funcenv.make("Acrobot-v1")])
    >>> union.action_space, union.observation_space["observation"].shape
    (Discrete(3), (6,))
    >>> venv = funcenv.FuncVectorEnv(union, num_envs=4)
    >>> vstate, timestep = venv.reset(funcenv.key(0))
    >>> timestep.observation["task"].tolist(), timestep.observation["observation"].shape
    ([0, 0, 1, 1], (4, 6))
    """

    envs: Sequence[AnyEnv]
    shares: Sequence[int] | None = field(pytree_node=False, default=None)
    task: int | None = field(pytree_node=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "envs", _require_envs(self.envs))
        num_tasks = len(self.envs)
        if self.shares is not None:
            object.__setattr__(self, "shares", _require_shares(self.shares, num_tasks))
        if self.task is not None:
            object.__setattr__(self, "task", require_size("task", self.task, 0, num_tasks - 1))
        self.observation_space, self.action_space  # noqa: B018  # raise for spaces without one in common

    @property
    def num_tasks(self) -> int:
        """Number of environments."""
        return len(self.envs)

    @property
    def observation_space(self) -> Dict:
        """The common space of observations, and the number of the task."""
        return Dict(observation=self._observations.space, task=Discrete(self.num_tasks))

    @property
    def action_space(self) -> AnySpace:
        """The common space of actions."""
        return self._actions.space

    def group_sizes(self, num_envs: int) -> tuple[int, ...]:
        """Return how many rows of a vector each task has.

        Raises:
            ValueError: A task would have none.

        >>> from funcenv.envs import Acrobot, CartPole
        >>> Union([CartPole(), Acrobot()], shares=(3, 1)).group_sizes(8)
        (6, 2)
        """
        if self.task is not None:
            return tuple(num_envs if task == self.task else 0 for task in range(self.num_tasks))
        shares = self.shares or (1,) * self.num_tasks
        ends = num_envs * np.cumsum([0, *shares], dtype=object) // sum(shares)
        sizes = tuple(int(size) for size in np.diff(ends))
        if min(sizes) < 1:
            raise ValueError(
                f"a vector needs a row for each of the {self.num_tasks} environments of a Union, but with "
                f"shares {tuple(shares)} num_envs={num_envs} gives groups of {sizes}; pass a larger num_envs"
            )
        return sizes

    def tasks(self, num_envs: int) -> NDArray:
        """Return the task of each row of a vector, int32 `[num_envs]`.

        >>> from funcenv.envs import Acrobot, CartPole
        >>> Union([CartPole(), Acrobot()], shares=(3, 1)).tasks(8).tolist()
        [0, 0, 0, 0, 0, 0, 1, 1]
        """
        return np.repeat(np.arange(self.num_tasks, dtype=np.int32), self.group_sizes(num_envs))

    def initial(self, key: jax.Array) -> TaskStates:
        """Return the first state of an episode in the task."""
        return self._states(self._env.initial(key))

    def initial_after(self, last: TaskStates, key: jax.Array) -> TaskStates:
        """Return the first state of the next episode in the task."""
        return self._states(self._env.initial_after(self._state(last), key))

    def transition(self, state: TaskStates, action: Any, key: jax.Array) -> TaskStates:
        """Return the next state."""
        return self._states(self._env.transition(self._state(state), self._action(action), key))

    def observation(self, state: TaskStates, key: jax.Array) -> dict[str, Any]:
        """Return the observation in the common space, and the number of the task."""
        own = self._env.observation(self._state(state), key)
        return {"observation": self._observations.embed(self._task, own), "task": jnp.int32(self._task)}

    def reward(self, state: TaskStates, action: Any, next_state: TaskStates) -> Float[Array, ""]:
        """Return the reward of a transition."""
        return self._env.reward(self._state(state), self._action(action), self._state(next_state))

    def terminal(self, state: TaskStates) -> Bool[Array, ""]:
        """Return whether the MDP ended in this state."""
        return self._env.terminal(self._state(state))

    def truncated(self, state: TaskStates) -> Bool[Array, ""]:
        """Return whether the episode is stopped here from outside the MDP."""
        return self._env.truncated(self._state(state))

    def state_info(self, state: TaskStates) -> dict[str, Any]:
        """Return what all environments tell about a state, the number of the task, and the mask of its actions."""
        own = self._env.state_info(self._state(state))
        info = {name: own[name] for name in _common_infos(self.envs)[0]}
        return info | self._action_mask(own) | {"task": jnp.int32(self._task)}

    def transition_info(self, state: TaskStates, action: Any, next_state: TaskStates) -> dict[str, Any]:
        """Return what all environments tell about a transition."""
        own = self._env.transition_info(self._state(state), self._action(action), self._state(next_state))
        return {name: own[name] for name in _common_infos(self.envs)[1]}

    @property
    def fixed_start(self) -> bool:
        """True if every episode of the task is meant to start alike."""
        return self._env.fixed_start

    @property
    def differentiable(self) -> bool | None:
        """True if a step of the task is meant to have finite gradients, or None if its environment does not say."""
        return self._env.differentiable

    @property
    def calls_host(self) -> bool:
        """True if a step of one of the tasks calls the host."""
        return any(env.calls_host for env in self._played)

    @property
    def remembers(self) -> bool:
        """True if an episode of one of the tasks depends on the one before it."""
        return any(env.remembers for env in self._played)

    @property
    def reward_range(self) -> tuple[float, float]:
        """The lowest and the highest reward of any of the tasks."""
        lowest, highest = zip(*(env.reward_range for env in self._played), strict=True)
        return min(lowest), max(highest)

    def scene(self, state: TaskStates) -> Any:
        """Return the drawing of the task's environment."""
        return self._env.scene(self._state(state))

    def host_image(self, state: TaskStates, size: tuple[int, int]) -> NDArray | None:
        """Return the image of the task's environment, or None for its scene."""
        return self._env.host_image(self._state(state), size)

    def host_rgbd(self, state: TaskStates, size: tuple[int, int]) -> tuple[NDArray, NDArray]:
        """Return the image of the task's environment and the depth of its pixels."""
        return self._env.host_rgbd(self._state(state), size)

    @property
    def draws_images(self) -> bool:
        """True if `host_image` draws every state of the task, although there is no scene."""
        return self._env.draws_images

    @property
    def draws_depth(self) -> bool:
        """True if the library that draws the task's images draws their depth."""
        return self._env.draws_depth

    @property
    def why_undrawn(self) -> str:
        """The reason why there are no images of the task, with the remedy, for messages."""
        return self._env.why_undrawn

    @property
    def image_size(self) -> tuple[int, int] | None:
        """Height and width of images for which no size is asked; None if they follow from the scene."""
        return self._env.image_size

    @property
    def render_fps(self) -> float:
        """The number of steps a second that a window or a video of the task shows."""
        return self._env.render_fps

    def text(self, state: TaskStates, action: Any = None) -> str:
        """Return a text rendering of the state for a terminal."""
        return self._env.text(self._state(state), None if action is None else self._action(action))

    @property
    def _task(self) -> int:
        return self.task or 0

    @property
    def _env(self) -> AnyEnv:
        """The environment that the union is by itself."""
        return self.envs[self._task]

    @property
    def _played(self) -> Sequence[AnyEnv]:
        """The environments of the rows of a vector."""
        return self.envs if self.task is None else (self._env,)

    @property
    def _observations(self) -> CommonSpace:
        return CommonSpace("observation space", [env.observation_space for env in self.envs], flattens=True)

    @property
    def _actions(self) -> CommonSpace:
        return CommonSpace("action space", [env.action_space for env in self.envs], flattens=False)

    def _action(self, action: Any) -> Any:
        return self._actions.project(self._task, action)

    def _action_mask(self, info: dict[str, Any]) -> dict[str, Any]:
        """Return the mask of the task's actions among all, if tasks have different ones."""
        own, common = self._env.action_space, self.action_space
        if not (isinstance(common, Discrete) and isinstance(own, Discrete)):
            return {}
        if all(env.action_space == common for env in self.envs):
            return {}
        mask = jnp.asarray(info.get("action_mask", np.ones(own.n)), jnp.int8)
        before = own.start - common.start
        return {"action_mask": jnp.pad(mask, (before, common.n - own.n - before))}

    def _states(self, state: Any) -> TaskStates:
        return TaskStates(tuple(state if task == self._task else None for task in range(self.num_tasks)))

    def _state(self, states: Any) -> Any:
        own = states.states[self._task]
        if own is None:
            (task,) = (task for task, state in enumerate(states.states) if state is not None)
            raise ValueError(
                f"a Union in task {self._task} got a state of task {task}; use union.replace(task={task}) for it"
            )
        return own


def union_in(env: AnyEnv) -> Union | None:
    """Return the union inside all wrappers, if rows of a vector are to have different tasks; else None."""
    return next((layer for layer in layers(env) if isinstance(layer, Union) and layer.task is None), None)


def require_one_task(what: str, env: AnyEnv) -> None:
    """Raise `ValueError` if rows of a vector are to have different tasks, which `what` does not step.

    >>> from funcenv.envs import Acrobot, CartPole
    >>> require_one_task("FunctionalVectorEnv", Union([CartPole(), Acrobot()]))
    Traceback (most recent call last):
        ...
    ValueError: FunctionalVectorEnv steps one environment in all rows, got a Union of 2; step it with FuncVectorEnv, or
        choose a task: union.replace(task=0)
    """
    union = union_in(env)
    if union is not None:
        raise ValueError(
            f"{what} steps one environment in all rows, got a Union of {union.num_tasks}; step it with FuncVectorEnv, "
            "or choose a task: union.replace(task=0)"
        )


def alone(env: AnyEnv) -> AnyEnv:
    """Return the single environment that one with a union inside is by itself: it has the first task in every row."""
    return env if union_in(env) is None else in_task(env, 0)


def in_task(env: AnyEnv, task: int) -> AnyEnv:
    """Return an environment with the union inside its wrappers in one task."""
    changed = copy.copy(env)
    if isinstance(env, Union):
        object.__setattr__(changed, "task", task)
    elif isinstance(env, Wrapper):
        object.__setattr__(changed, "env", in_task(env.env, task))
    return changed


def _require_envs(envs: Any) -> tuple[AnyEnv, ...]:
    if isinstance(envs, (FuncEnv, str)) or not isinstance(envs, Sequence):
        raise TypeError(f"Union takes a sequence of environments, such as [CartPole(), Acrobot()], got {envs!r}")
    if not envs:
        raise ValueError("Union needs at least one environment, got none")
    for env in envs:
        require_env("Union", env)
        if union_in(env) is not None:
            raise ValueError(f"Union takes no other Union of several tasks, got {env!r}; list all environments in one")
    return tuple(envs)


def _require_shares(shares: Any, num_tasks: int) -> tuple[int, ...]:
    if isinstance(shares, str) or not isinstance(shares, Sequence):
        raise TypeError(f"shares must be a sequence of integers, one for each environment, got {shares!r}")
    if len(shares) != num_tasks:
        raise ValueError(f"shares must hold one number for each of {num_tasks} environments, got {len(shares)}")
    return tuple(require_size(f"shares[{task}]", share) for task, share in enumerate(shares))


def _common_infos(envs: Sequence[AnyEnv]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names that the infos of all environments have, of states and of transitions."""
    return _names(*kinds(tuple(envs)))


@functools.lru_cache(maxsize=256)
def _names(structure: Any, *parameters: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    def infos(env: AnyEnv) -> tuple[dict[str, Any], dict[str, Any]]:
        state, action = env.initial(new_key(0)), env.action_space.sample(new_key(0))
        return env.state_info(state), env.transition_info(state, action, state)

    envs = jax.tree.unflatten(structure, parameters)
    shapes = [jax.eval_shape(infos, env) for env in envs]
    of_states, of_transitions = zip(*shapes, strict=True)
    return _shared(of_states), _shared(of_transitions)


def _shared(infos: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    first = infos[0]
    return tuple(name for name in first if all(name in info and info[name] == first[name] for info in infos))
