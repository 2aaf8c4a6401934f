"""An estimate of the memory that training takes, before anything is compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax

from funcenv._compile.jaxpr import iter_eqns
from funcenv._compile.options import default_promotion
from funcenv.func_env import AnyEnv
from funcenv.memory import device_memory, num_bytes, readable_size
from funcenv.random import key
from funcenv.train.algorithm import Algorithm
from funcenv.train.devices import PER_BLOCK, PER_ENV, Mark, map_marks

SCALARS_OF_A_STEP = 24
"""The bytes of an experience beside observations and action: reward, flags, value, log-probability, advantage."""


class MemoryEstimate(NamedTuple):
    """Bytes that a run holds on each device."""

    environments: int  # their states, and what they show
    replay: int  # the replay buffer
    agents: int  # parameters, targets, the optimizer, statistics
    copies: int  # the copies of the parameters that environments act with
    batch: int  # what an update collects
    networks: int  # the layers of all networks for a batch, or for a minibatch from the replay buffer
    checkpoint: int  # the compressed copy of a train state that is being saved, which the host of an accelerator holds

    @property
    def total(self) -> int:
        """The sum of all parts."""
        return sum(self)

    def __str__(self) -> str:
        parts = [f"{name} {readable_size(size)}" for name, size in self._asdict().items() if size]
        return f"{readable_size(self.total)}: {', '.join(parts)}"


def estimate_memory(algorithm: Algorithm, config: Any, env: AnyEnv, state: Any, num_devices: int = 1) -> MemoryEstimate:
    """Return about what a run holds on each device.

    Programs of the presets take between 0.3 and 1.2 of what is not the checkpoint's.

    Args:
        algorithm: An algorithm.
        config: A configuration of it.
        env: Its environment.
        state: A train state of all seeds, or its shapes.
        num_devices: The number of devices that the environments are spread over.

    >>> import funcenv
    >>> from funcenv.train import dqn
    >>> from funcenv.train.loop import Learner
    >>> learner = Learner("dqn", dqn.Config(num_envs=8, buffer_size=100_000))
    >>> shapes = learner.template(funcenv.key(0))
    >>> print(estimate_memory(learner.algorithm, learner.config, learner.env, shapes))
    8.38 MiB: environments 456 B, replay 4.01 MiB, agents 74.2 KiB, batch 480 B, networks 229 KiB, checkpoint 4.08 MiB
    """
    sizes = {"environments": 0, "replay": 0, "agents": 0}

    def part_of(mark: Mark, node: Any) -> _Part:
        if mark == PER_BLOCK:
            return _Part("replay", num_devices if node.num_blocks % num_devices == 0 else 1)
        return _Part("environments", num_devices) if mark == PER_ENV else _Part("agents", 1)

    parts = jax.tree.leaves(map_marks(part_of, state), is_leaf=lambda node: isinstance(node, _Part))
    for leaf, part in zip(jax.tree.leaves(state), parts, strict=True):
        sizes[part.name] += num_bytes(leaf) // part.num_devices
    observation, action = (num_bytes(space.abstract_member()) for space in (env.observation_space, env.action_space))
    of_a_step = 2 * observation + action + SCALARS_OF_A_STEP
    agent = _agent_shapes(algorithm, config, env, state)
    rows = getattr(config, "minibatch_size", config.batch_size) if sizes["replay"] else config.batch_size
    return MemoryEstimate(
        **sizes,
        copies=config.num_seeds * config.num_copies * num_bytes(agent),
        batch=config.num_seeds * config.batch_size * of_a_step // num_devices,
        networks=config.num_seeds * rows * _bytes_of_layers(agent, env) // num_devices,
        checkpoint=sum(sizes.values()) if jax.default_backend() == "cpu" else 0,
    )


def _agent_shapes(algorithm: Algorithm, config: Any, env: AnyEnv, state: Any) -> Any:
    """Return the shapes of the policy of one seed."""

    def make(state: Any) -> Any:
        return algorithm.make_agent(config, env, jax.tree.map(lambda leaf: leaf[0], state), explore=False)

    with default_promotion():
        return jax.eval_shape(make, state)


def _bytes_of_layers(agent: Any, env: AnyEnv) -> int:
    """Return the bytes of what enters and leaves the layers of an agent's network, with gradients of the latter."""
    with default_promotion():
        act = jax.make_jaxpr(lambda agent, observation: agent(observation, key(0)))
        program = act(agent, env.observation_space.abstract_member())
    products = [equation for equation in iter_eqns(program.jaxpr) if equation.primitive.name == "dot_general"]
    return sum(
        num_bytes([equation.invars[0].aval]) + 2 * num_bytes([equation.outvars[0].aval]) for equation in products
    )


class _Part(NamedTuple):
    """The part of a run that a leaf belongs to, and the number of devices that share the leaf."""

    name: str
    num_devices: int


def memory_warning(estimate: MemoryEstimate, device: jax.Device) -> str | None:
    """Return what to say of a run that a device cannot hold, or None if it can, or if its memory is not known."""
    limit = device_memory(device)
    if limit is None or estimate.total <= limit:
        return None
    settings = {"environments": "num_envs", "replay": "buffer_size", "agents": "hidden_sizes"}
    parts = {name: size for name, size in estimate._asdict().items() if name != "checkpoint"}
    largest = max(parts, key=parts.__getitem__)
    return (
        f"warning: the run takes about {readable_size(estimate.total)} on a device with {readable_size(limit)}; "
        f"choose a smaller {settings.get(largest, 'num_envs')}, or fewer seeds"
    )
