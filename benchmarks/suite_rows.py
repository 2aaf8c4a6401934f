"""What the suite measures: environments, batch sizes and peers."""

from __future__ import annotations

import dataclasses
from typing import Any

import c_program
from harness import PeerError, Worker, peer_python

CLASSIC = ("CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0")
TOY_TEXT = ("Blackjack-v1", "CliffWalking-v1", "FrozenLake-v1", "Taxi-v4")
ENVS = CLASSIC + TOY_TEXT
WITH_GOALS = CLASSIC[:4]

SAME = {env: env for env in CLASSIC}
CARTPOLE = {"CartPole-v1": "CartPole-v1"}


@dataclasses.dataclass(frozen=True)
class Peer:
    """Another program that does the same work, or comparable work."""

    name: str
    script: str
    """file in `workers/`; empty for the C program"""
    ids: dict[str, str]
    """its id for each environment"""
    about: str
    """description for the table of peers"""
    venv: str = ""
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    keeps: bool = False
    """whether it is also measured with trajectories kept"""
    num_envs: tuple[int, int] = (1, 65536)
    """smallest and largest batch size"""
    multiple: int = 1
    """divisor of all its batch sizes"""
    work: int = 2**19
    """approximate number of environment steps in one call"""
    least_steps: int = 64
    """smallest number of steps of each environment in one call; it dilutes the reset at the start of a call"""

    def takes(self, env: str, num_envs: int, keep: bool) -> bool:
        """Return whether the peer is part of a row."""
        low, high = self.num_envs
        fits = low <= num_envs <= high and num_envs % self.multiple == 0
        return env in self.ids and fits and (self.keeps or not keep)

    def start(self, env: str, num_envs: int, keep: bool, seconds: float) -> Worker:
        """Start a worker for a row.

        Raises:
            PeerError: The peer cannot be installed, built or run.
        """
        num_steps = min(max(self.work // num_envs, self.least_steps), 8192)
        if not self.script:
            return c_program.start(self.name, num_envs, num_steps, seconds)
        options = {"env": self.ids[env], "num_envs": num_envs, "num_steps": num_steps, "seconds": seconds, "keep": keep}
        options.update(self.options)
        return Worker(self.name, self.script, options, *([peer_python(self.venv)] if self.venv else []))


C = Peer(
    name="C",
    script="",
    ids=CARTPOLE,
    num_envs=(256, 65536),
    multiple=256,
    about="`benchmarks/c/cartpole.c`: the same equations in float32, a threefry2x32 stream for each environment, "
    "vector instructions, chunks of 256 environments in L1; written to be as fast as the machine allows",
)
GYMNASIUM = Peer(
    name="Gymnasium",
    script="step_gymnasium.py",
    ids={env: env for env in ENVS},
    venv="gymnasium",
    options={"kind": "single"},
    num_envs=(1, 1),
    work=2**10,
    least_steps=16,
    about="one NumPy environment from `gymnasium.make`, stepped and reset from Python; actions drawn beforehand",
)
VECTOR_ENV = dataclasses.replace(
    GYMNASIUM,
    name="CartPoleVectorEnv",
    ids=CARTPOLE,
    options={"kind": "vector"},
    num_envs=(1, 65536),
    work=2**16,
    about="Gymnasium's own vector environment in NumPy, stepped from Python; actions drawn beforehand",
)
PEERS = (
    Peer(
        name="funcenv in jit",
        script="rollout_funcenv.py",
        ids={env: env for env in ENVS},
        options={"in_jit": True},
        keeps=True,
        about="the same rollout, called inside the caller's own `jax.jit`",
    ),
    Peer(
        name="gymnax",
        script="rollout_gymnax.py",
        ids=SAME,
        venv="gymnax",
        keeps=True,
        about="the loop of its README under `jax.lax.scan`, its default generator, in one compiled program",
    ),
    C,
    dataclasses.replace(
        C,
        name="C, cheap hash",
        about="the same with a cheap hash as generator, whose random numbers are of low quality",
    ),
    GYMNASIUM,
    VECTOR_ENV,
    dataclasses.replace(
        VECTOR_ENV,
        name="phys2d",
        ids={"CartPole-v1": "phys2d/CartPole-v1", "Pendulum-v1": "phys2d/Pendulum-v0"},
        num_envs=(1, 256),
        work=2**8,
        about="Gymnasium's functional JAX environments, as the vector environment of `gymnasium.make_vec`; it resets "
        "ended environments one by one in Python, so the batch size is 256 at most",
    ),
    Peer(
        name="envpool",
        script="step_envpool.py",
        ids={**{env: env for env in ENVS}, "Taxi-v4": "Taxi-v3"},
        venv="envpool",
        work=2**16,
        least_steps=16,
        about='its C++ environments, `env_type="gymnasium"`, one thread, stepped from Python; actions drawn beforehand',
    ),
    Peer(
        name="brax (comparable)",
        script="rollout_brax.py",
        ids={"CartPole-v1": "inverted_pendulum"},
        venv="brax",
        work=2**16,
        num_envs=(1, 4096),
        about="not the same task: its `inverted_pendulum`, a pole on a cart in a general rigid-body engine (default "
        "backend), two physics steps a step; in one compiled program",
    ),
    Peer(
        name="jumanji (comparable)",
        script="rollout_jumanji.py",
        ids={"FrozenLake-v1": "Maze-v0"},
        venv="jumanji",
        about="not the same task: its `Maze` with the fixed 5x5 walls of `ToyGenerator`, a walk on a grid; in one "
        "compiled program",
    ),
)


def ours(env: str, num_envs: int, keep: bool, seconds: float) -> Worker:
    """Start funcenv's worker of a row."""
    num_steps = min(max(2**19 // num_envs, 64), 8192)
    options = {"env": env, "num_envs": num_envs, "num_steps": num_steps, "seconds": seconds, "keep": keep}
    return Worker("funcenv", "rollout_funcenv.py", options)


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much the suite measures."""

    rounds: int
    seconds: float
    """CPU seconds of a turn"""
    classic: tuple[int, ...]
    """batch sizes of environments with goals"""
    others: tuple[int, ...]
    toy_text: tuple[int, ...]
    kept: tuple[int, ...]
    most_for_slow_peers: int
    """largest batch size for phys2d and brax, which need minutes for more"""
    compile_rounds: int
    soak_steps: int
    latency_steps: int
    anatomy: tuple[str, ...]
    anatomy_rounds: int


QUICK = Plan(
    rounds=5,
    seconds=0.1,
    classic=(1, 16, 256, 4096, 65536),
    others=(1, 16, 256, 4096, 65536),
    toy_text=(1, 256),
    kept=(256, 4096),
    most_for_slow_peers=16,
    compile_rounds=1,
    soak_steps=10**8,
    latency_steps=5_000,
    anatomy=("CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "FrozenLake-v1"),
    anatomy_rounds=5,
)
FULL = Plan(
    rounds=9,
    seconds=0.25,
    classic=tuple(4**power for power in range(9)),
    others=tuple(4**power for power in range(9)),
    toy_text=(1, 16, 256, 4096, 65536),
    kept=(1, 16, 256, 4096, 65536),
    most_for_slow_peers=4096,
    compile_rounds=3,
    soak_steps=10**9,
    latency_steps=20_000,
    anatomy=ENVS,
    anatomy_rounds=9,
)


def speed_rows(plan: Plan) -> list[tuple[str, int, bool]]:
    """Return the environment, the batch size and whether trajectories are kept, for each row."""
    rows = []
    for env in ENVS:
        sizes = plan.classic if env in WITH_GOALS else plan.others if env in CLASSIC else plan.toy_text
        rows += [(env, num_envs, False) for num_envs in sizes]
    return rows + [(env, num_envs, True) for env in WITH_GOALS for num_envs in plan.kept]


def peers_of(plan: Plan, env: str, num_envs: int, keep: bool) -> list[Peer]:
    """Return the peers of a row."""
    slow = ("phys2d", "brax (comparable)")
    return [
        peer
        for peer in PEERS
        if peer.takes(env, num_envs, keep) and (peer.name not in slow or num_envs <= plan.most_for_slow_peers)
    ]


def start_all(plan: Plan, env: str, num_envs: int, keep: bool, names: list[str] | None) -> tuple[list[Worker], dict]:
    """Start the workers of a row, funcenv's first; also return the errors of the peers that cannot run."""
    workers, absent = [ours(env, num_envs, keep, plan.seconds)], {}
    for peer in peers_of(plan, env, num_envs, keep):
        if names is not None and peer.name not in names:
            continue
        try:
            workers.append(peer.start(env, num_envs, keep, plan.seconds))
        except PeerError as error:
            absent[peer.name] = {"error": str(error)}
    return workers, absent


LOOPS = [
    (env, policy, num_envs)
    for env in ("CartPole-v1", "Acrobot-v1")
    for policy in ("network", "random")
    for num_envs in (16, 256, 4096)
]
"""Environment, policy and batch size of each row of the users' loop."""


def start_loop(env: str, policy: str, num_envs: int, seconds: float) -> tuple[list[Worker], dict]:
    """Start the workers of a users' loop: funcenv, funcenv without kernels, and gymnax, which may be absent."""
    num_steps = max(min(2**16 // num_envs, 1024), 16)
    work = {"env": env, "policy": policy, "num_envs": num_envs, "num_steps": num_steps, "seconds": seconds}
    script, plain = "collection_funcenv.py", {"FUNCENV_NO_FAST_PATH": "1"}
    workers = [Worker("funcenv", script, work), Worker("funcenv, plain steps", script, work, environment=plain)]
    try:
        return [*workers, Worker("gymnax", "collection_gymnax.py", work, peer_python("gymnax"))], {}
    except PeerError as error:
        return workers, {"gymnax": {"error": str(error)}}
