"""What the suite measures: which environments, how many of them, and against whom."""

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


@dataclasses.dataclass(frozen=True)
class Peer:
    """Somebody else's way to do the same work, or comparable work."""

    name: str
    script: str
    """of `workers/`; empty for the C program"""
    ids: dict[str, str]
    """what it calls each of our environments"""
    about: str
    """what exactly is run, for the table of peers"""
    venv: str = ""
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    keeps: bool = False
    """whether it also has a row where trajectories are kept"""
    num_envs: tuple[int, int] = (1, 65536)
    """the least and the most environments that it is asked for"""
    multiple: int = 1
    work: int = 2**19
    """environment steps of one call, about"""
    least_steps: int = 64
    """of each environment in one call; those that reset first in every call need as many as we do"""

    def takes(self, env: str, num_envs: int, keep: bool) -> bool:
        """Whether it has a place in a row."""
        low, high = self.num_envs
        fits = low <= num_envs <= high and num_envs % self.multiple == 0
        return env in self.ids and fits and (self.keeps or not keep)

    def start(self, env: str, num_envs: int, keep: bool, seconds: float) -> Worker:
        """A worker for a row.

        Raises:
            PeerError: it cannot be installed, built or run.
        """
        num_steps = min(max(self.work // num_envs, self.least_steps), 8192)
        if not self.script:
            return c_program.start(self.name, num_envs, num_steps, seconds)
        options = {"env": self.ids[env], "num_envs": num_envs, "num_steps": num_steps, "seconds": seconds, "keep": keep}
        return Worker(self.name, self.script, {**options, **self.options}, peer_python(self.venv))


PEERS = (
    Peer(
        name="gymnax",
        script="rollout_gymnax.py",
        ids=SAME,
        venv="gymnax",
        keeps=True,
        about="the loop of its README under `jax.lax.scan`, its default generator, in one compiled program",
    ),
    Peer(
        name="C",
        script="",
        ids={"CartPole-v1": "CartPole-v1"},
        num_envs=(256, 65536),
        multiple=256,
        about="`benchmarks/c/cartpole.c`: the same equations in float32, a threefry2x32 stream for each environment, "
        "vector instructions, chunks of 256 environments in L1; written to be as fast as the machine allows",
    ),
    Peer(
        name="C, cheap hash",
        script="",
        ids={"CartPole-v1": "CartPole-v1"},
        num_envs=(256, 65536),
        multiple=256,
        about="the same with random numbers that cost next to nothing (and are not to be relied on)",
    ),
    Peer(
        name="Gymnasium",
        script="step_gymnasium.py",
        ids={env: env for env in ENVS},
        venv="gymnasium",
        options={"kind": "single"},
        num_envs=(1, 1),
        work=2**10,
        least_steps=16,
        about="one numpy environment from `gymnasium.make`, stepped and reset from Python; actions drawn beforehand",
    ),
    Peer(
        name="CartPoleVectorEnv",
        script="step_gymnasium.py",
        ids={"CartPole-v1": "CartPole-v1"},
        venv="gymnasium",
        options={"kind": "vector"},
        work=2**16,
        least_steps=16,
        about="Gymnasium's own vector environment in numpy, stepped from Python; actions drawn beforehand",
    ),
    Peer(
        name="phys2d",
        script="step_gymnasium.py",
        ids={"CartPole-v1": "phys2d/CartPole-v1", "Pendulum-v1": "phys2d/Pendulum-v0"},
        venv="gymnasium",
        options={"kind": "vector"},
        num_envs=(1, 256),
        work=2**8,
        least_steps=16,
        about="Gymnasium's functional JAX environments, as the vector environment that `gymnasium.make_vec` gives; "
        "it resets ended environments one by one in Python, so it is asked for 256 at most",
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
    """Our side of a row."""
    num_steps = min(max(2**19 // num_envs, 64), 8192)
    options = {"env": env, "num_envs": num_envs, "num_steps": num_steps, "seconds": seconds, "keep": keep}
    return Worker("funcenv", "rollout_funcenv.py", options)


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is measured."""

    rounds: int
    seconds: float
    """of CPU time that a turn takes"""
    classic: tuple[int, ...]
    """numbers of environments where goals are set"""
    others: tuple[int, ...]
    toy_text: tuple[int, ...]
    kept: tuple[int, ...]
    most_for_slow_peers: int
    """environments that phys2d and brax are asked for, who need minutes for more"""
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
    """Environment, number of them, and whether trajectories are kept, for every row."""
    rows = []
    for env in ENVS:
        sizes = plan.classic if env in WITH_GOALS else plan.others if env in CLASSIC else plan.toy_text
        rows += [(env, num_envs, False) for num_envs in sizes]
    return rows + [(env, num_envs, True) for env in WITH_GOALS for num_envs in plan.kept]


def peers_of(plan: Plan, env: str, num_envs: int, keep: bool) -> list[Peer]:
    """Who takes part in a row."""
    slow = ("phys2d", "brax (comparable)")
    return [
        peer
        for peer in PEERS
        if peer.takes(env, num_envs, keep) and (peer.name not in slow or num_envs <= plan.most_for_slow_peers)
    ]


def start_all(plan: Plan, env: str, num_envs: int, keep: bool, names: list[str] | None) -> tuple[list[Worker], dict]:
    """The workers of a row, ours first, and what the others said who cannot take part."""
    workers, absent = [ours(env, num_envs, keep, plan.seconds)], {}
    for peer in peers_of(plan, env, num_envs, keep):
        if names is not None and peer.name not in names:
            continue
        try:
            workers.append(peer.start(env, num_envs, keep, plan.seconds))
        except PeerError as error:
            absent[peer.name] = {"error": str(error)}
    return workers, absent
