"""One step of a rollout: the policy acts, every environment is stepped, totals are updated.

Every way of running a rollout is a loop over `rollout_step`, and so is the collection of experience in training.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from funcenv._compile import lazy_reset, traced_step
from funcenv._compile.jaxpr import count_eqn, count_jaxpr, is_matrix_product, iter_eqns
from funcenv._compile.switch import is_enabled
from funcenv._jax import Partial, Shape
from funcenv.policy import key_of_step
from funcenv.vector import AnyVectorEnv, AutoresetMode, FuncVectorEnv, VectorState, VectorTimestep
from funcenv.vector_step import rows_by_device

if TYPE_CHECKING:
    from jax.extend.core import Jaxpr

Act = Callable[[Any], tuple[Any, Any]]
Step = Callable[[AnyVectorEnv, VectorState[Any], Any], tuple[VectorState[Any], VectorTimestep[Any]]]


class Accumulator(NamedTuple):
    """Per-environment totals kept during a rollout, with a leading axis `[num_envs]`.

    The functions treat each environment by itself.
    """

    entry: str  # the public function that plays, by name
    init: Callable[[AnyVectorEnv, VectorState[Any]], Any]  # the totals before the first step
    update: Callable[[VectorTimestep[Any], Any], Any]  # the totals after a time step
    is_finished: Callable[[Any], jax.Array] | None = None  # whether the rollout can stop, given the totals
    changes_only_at_ends: bool = False  # whether `update` changes nothing where no episode ended
    summary: Callable[[Any], Any] | None = None  # what is reported of the totals in the end; None for the totals


def as_policy(policy: Any) -> Any:
    """Return a policy as a pytree.

    A pytree is an argument of compiled programs: new parameters do not compile them again. Any other function becomes
    a `jax.tree_util.Partial`, a pytree without leaves, whose function is part of the program.
    """
    return Partial(policy) if jax.tree_util.all_leaves([policy]) else policy


@functools.partial(jax.jit, inline=True)  # traced once for all programs that contain it
def policy_actions(policy: Any, policy_keys: jax.Array, step_index: jax.Array, observation: Any) -> Any:
    """Return the action of a policy in every environment.

    Args:
        policy: from `as_policy`.
        policy_keys: `[num_envs]`.
        step_index: of the rollout, a uint32 scalar.
        observation: `[num_envs, ...]`.
    """

    def actions(shared: Any, num_rows: int, observation: Any, policy_keys: jax.Array) -> Any:
        del num_rows
        policy, step_index = shared
        return jax.vmap(functools.partial(_act, policy, step_index))(observation, policy_keys)

    shared, num_rows = (policy, step_index), len(policy_keys)
    # A policy with a loop, such as a search, ends with its last row.
    if jax.sharding.get_abstract_mesh().empty or not _loops(policy, observation, policy_keys):
        return actions(shared, num_rows, observation, policy_keys)
    is_batched = False  # no part of what is shared has rows
    return rows_by_device(actions, shared, is_batched, num_rows, observation, policy_keys)


def single_kernel_actions(policy: Any, policy_keys: jax.Array, step_index: jax.Array, observation: Any) -> Any:
    """Return the same in a program that becomes a single kernel.

    In a kernel, XLA multiplies a matrix by a vector 5 to 20 times as fast as by a matrix with a row for each
    environment, so that a network acts in one environment after another.
    """
    if not network_operations(policy, observation, policy_keys):
        return policy_actions(policy, policy_keys, step_index, observation)
    return jax.lax.map(lambda row: _act(policy, step_index, *row), (observation, policy_keys))


def network_operations(policy: Any, observation: Any, policy_keys: jax.Array) -> float:
    """Return how many operations a policy that multiplies matrices takes in one environment; 0 for any other policy.

    Convolutions and products of two matrices count eightfold: a kernel computes them number by number.

    >>> keys, observation = jax.random.split(jax.random.key(0)), jax.numpy.zeros((2, 4))
    >>> network_operations(as_policy(lambda vector, key: vector @ vector), observation, keys) > 0
    True
    >>> network_operations(as_policy(lambda vector, key: vector.sum()), observation, keys)
    0.0
    """
    jaxpr = _jaxpr_of_one(policy, observation, policy_keys)
    products = [eqn for eqn in iter_eqns(jaxpr) if eqn.primitive.name in ("dot_general", "conv_general_dilated")]
    slow = sum(map(count_eqn, filter(is_matrix_product, products)))
    return count_jaxpr(jaxpr) + 7 * slow if products else 0.0


def acts_outside(policy: Any, observation: Any, policy_keys: jax.Array) -> bool:
    """Return whether a policy has a network that all environments together evaluate faster outside of a kernel.

    Within a kernel it acts in one environment after another. Outside it has kernels of its own, whose calls cost as
    much as a few hundred thousand operations.
    """
    return network_operations(policy, observation, policy_keys) * len(policy_keys) > _MAX_KERNEL_OPERATIONS


_MAX_KERNEL_OPERATIONS = 2.0**18  # docs/decisions/compilation.md has the figures


def _loops(policy: Any, observation: Any, policy_keys: jax.Array) -> bool:
    """Return whether a policy has a loop of as many iterations as data tell."""
    return any(eqn.primitive.name == "while" for eqn in iter_eqns(_jaxpr_of_one(policy, observation, policy_keys)))


def _jaxpr_of_one(policy: Any, observation: Any, policy_keys: jax.Array) -> Jaxpr:
    """Return the program of a policy in one environment; its first arguments are the step's index and observation."""
    kinds = jax.tree.map(jax.typeof, (observation, policy_keys))
    single = jax.tree.map(lambda kind: Shape(kind.shape[1:], kind.dtype), kinds)
    return jax.make_jaxpr(functools.partial(_act, policy))(Shape((), "uint32"), *single).jaxpr


def _act(policy: Any, step_index: jax.Array, observation: Any, policy_key: jax.Array) -> Any:
    function = policy.func if isinstance(policy, jax.tree_util.Partial) else policy
    key = key_of_step(function, policy_key, step_index)
    try:
        return policy(observation, key)
    except Exception as error:
        shapes = jax.tree.map(lambda leaf: jax.typeof(leaf).str_short(), observation)
        error.add_note(
            "raised by the policy, which is called as policy(observation, key) and returns one action; "
            f"it sees the observation of one environment, here {shapes}, and is mapped over all of them"
        )
        raise


def reads_observation(policy: Any, observation: Any, policy_keys: jax.Array) -> bool:
    """Return whether the actions of a policy depend on the observation, as its jaxpr shows.

    >>> policy, keys = as_policy(lambda observation, key: observation > 0), jax.random.split(jax.random.key(0), 3)
    >>> reads_observation(policy, jax.numpy.zeros(3), keys)
    True
    """
    jaxpr = _jaxpr_of_one(policy, observation, policy_keys)
    used = [*jaxpr.outvars, *(variable for eqn in jaxpr.eqns for variable in eqn.invars)]
    num_leaves = len(jax.tree.leaves(observation))
    return any(variable in jaxpr.invars[1 : 1 + num_leaves] for variable in used)


@functools.partial(jax.jit, inline=True)  # traced once for all programs that contain it
def plain_step(
    venv: AnyVectorEnv, vstate: VectorState[Any], actions: Any
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """Step every environment, in any program."""
    return lazy_reset.plain_step(venv.env, venv.num_envs, venv.autoreset_mode, venv.reset_strategy, vstate, actions)


def looped_step(accumulator: Accumulator, by_kernel: Step) -> Step:
    """Return how a loop steps environments: by kernels, and in whole episodes plainly.

    Where nothing is reset, kernels are not faster, and take longer to compile.
    """
    return by_kernel if accumulator.is_finished is None else plain_step


def kernel_step(
    venv: AnyVectorEnv, vstate: VectorState[Any], actions: Any
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """Step every environment by a kernel within the program that is being traced; raise `Refusal` without one."""
    return traced_step.kernel_step(venv.env, venv.num_envs, venv.autoreset_mode, venv.reset_strategy, vstate, actions)


def kernel_step_or_plain(
    venv: AnyVectorEnv, vstate: VectorState[Any], actions: Any
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """Step every environment as a loop of the user's does: by a kernel where that is possible."""
    return (FuncVectorEnv.step if is_enabled() else plain_step)(venv, vstate, actions)


def single_kernel_step(
    venv: AnyVectorEnv, vstate: VectorState[Any], actions: Any, skip_observation: bool = False
) -> tuple[VectorState[Any], VectorTimestep[Any]]:
    """Step every environment in a program that becomes a single kernel.

    With `skip_observation` the time step does not hold the observation and info of new episodes.
    """
    return lazy_reset.single_kernel_step(
        venv.env, venv.num_envs, venv.autoreset_mode, venv.reset_strategy, vstate, actions, skip_observation
    )


def rollout_step(
    venv: AnyVectorEnv, act: Act, carry: tuple[VectorState[Any], Any], step: Step = plain_step
) -> tuple[tuple[VectorState[Any], Any], tuple[VectorTimestep[Any], Any, Any]]:
    """Act on an observation, and step every environment.

    Args:
        venv: the environments.
        act: from the observation `[num_envs, ...]` to the actions `[num_envs, ...]` and anything else to keep.
        carry: the vector state and the observation.
        step: how the environments are stepped.

    Returns:
        The next carry; the time step, the actions, and what else `act` returned.
    """
    vstate, observation = carry
    actions, extras = act(observation)
    vstate, timestep = step(venv, vstate, actions)
    return (vstate, timestep.observation), (timestep, actions, extras)


def policy_step(
    venv: AnyVectorEnv,
    policy: Any,
    policy_keys: jax.Array,
    accumulator: Accumulator,
    carry: tuple[VectorState[Any], Any, Any],
    step_index: jax.Array,
    *,
    single_kernel: bool = False,
    skip_observation: bool = False,
    take_step: Step = plain_step,
) -> tuple[tuple[VectorState[Any], Any, Any], tuple[VectorTimestep[Any], Any]]:
    """Take one step of a rollout with a policy, and update the totals.

    Args:
        venv: the environments.
        policy: from `as_policy`.
        policy_keys: `[num_envs]`.
        accumulator: which totals to keep.
        carry: the vector state, the observation and the totals.
        step_index: of the rollout, a uint32 scalar.
        single_kernel: whether the program becomes a single kernel.
        skip_observation: whether nothing reads the observations, neither the policy nor what is collected. A single
            kernel then does not compute them; XLA would not find out by itself.
        take_step: how the environments are stepped where the program does not become a single kernel.

    Returns:
        The next carry; the time step and the actions.
    """
    vstate, observation, totals = carry

    def act(observation: Any) -> tuple[Any, None]:
        choose = single_kernel_actions if single_kernel else policy_actions
        return choose(policy, policy_keys, step_index, observation), None

    step = functools.partial(single_kernel_step, skip_observation=skip_observation) if single_kernel else take_step
    (vstate, next_observation), (timestep, actions, _) = rollout_step(venv, act, (vstate, observation), step)
    if single_kernel and accumulator.changes_only_at_ends and venv.autoreset_mode is not AutoresetMode.DISABLED:
        # A loop of no iteration or one updates the totals in place, which a branch may not. In the mode DISABLED an
        # episode stays ended, so the loop would nearly always run.
        iterations = timestep.done.any().astype("int32")
        totals = jax.lax.fori_loop(0, iterations, lambda _, totals: accumulator.update(timestep, totals), totals)
    else:
        totals = accumulator.update(timestep, totals)
    return (vstate, observation if skip_observation else next_observation, totals), (timestep, actions)
