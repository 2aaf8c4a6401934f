"""The table of the benchmarks: every task that is measured, and the programs that do it.

A new task is an entry here. A new library is one file in `workers/`, its packages in `libraries.py`, and a `Program` in
the rows that it takes part in.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from programs import Plan, Program, Row, Table
from training import interface_rows, preset_rows, start_rows, trainer_rows

CLASSIC = ("CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0")
TOY_TEXT = ("Blackjack-v1", "CliffWalking-v1", "FrozenLake-v1", "Taxi-v4")
ENVS = CLASSIC + TOY_TEXT
WITH_GOALS = CLASSIC[:4]
SAME = {env: env for env in CLASSIC}
CARTPOLE = {"CartPole-v1": "CartPole-v1"}
PLAIN = {"FUNCENV_NO_FAST_PATH": "1"}
ROLLOUT = "rollout_funcenv"


@dataclasses.dataclass(frozen=True)
class Peer:
    """A program of the table "speed", which has many rows."""

    program: Program
    ids: Mapping[str, str]
    """ids by environment"""
    about: str
    """description for the page"""
    keeps: bool = False
    """true if it is also measured with trajectories kept"""
    num_envs: tuple[int, int] = (1, 65536)
    """smallest and largest batch size"""
    multiple: int = 1
    """divisor of all its batch sizes"""
    work: int = 2**19
    """approximate number of environment steps in one call"""
    least_steps: int = 64
    """smallest number of steps of each environment in one call; it dilutes the reset at the start of a call"""
    is_slow: bool = False

    def takes(self, env: str, num_envs: int, keep: bool) -> bool:
        """Return whether the peer is part of a row."""
        low, high = self.num_envs
        fits = low <= num_envs <= high and num_envs % self.multiple == 0
        return env in self.ids and fits and (self.keeps or not keep)

    def of(self, env: str, num_envs: int, keep: bool, seconds: float) -> Program:
        """Return the program of a row."""
        num_steps = min(max(self.work // num_envs, self.least_steps), 8192)
        options = {"num_envs": num_envs, "num_steps": num_steps, "seconds": seconds}
        if self.program.worker != "c":
            options |= {"env": self.ids[env], "keep": keep, **self.program.options}
        return dataclasses.replace(self.program, options=options)


OURS = Peer(Program("funcenv", ROLLOUT), {env: env for env in ENVS}, about="`funcenv.rollout`", keeps=True)
C = Peer(
    Program("C", "c"),
    CARTPOLE,
    num_envs=(256, 65536),
    multiple=256,
    about="`benchmarks/c/cartpole.c`: the same equations in float32, a threefry2x32 stream for each environment, "
    "vector instructions, chunks of 256 environments in L1; written to be as fast as the machine allows",
)
VECTOR_ENV = Peer(
    Program("CartPoleVectorEnv", "step_gymnasium", {"kind": "vector"}, "gymnasium"),
    CARTPOLE,
    work=2**16,
    least_steps=16,
    about="Gymnasium's own vector environment in NumPy, stepped from Python; actions drawn beforehand",
)
PEERS = (
    Peer(
        Program("funcenv in jit", ROLLOUT, {"in_jit": True}),
        OURS.ids,
        keeps=True,
        about="the same rollout, called inside the caller's own `jax.jit`",
    ),
    Peer(
        Program("gymnax", "rollout_gymnax", library="gymnax"),
        SAME,
        keeps=True,
        about="the loop of its README under `jax.lax.scan`, its default generator, in one compiled program",
    ),
    C,
    dataclasses.replace(
        C,
        program=Program("C, cheap hash", "c"),
        about="the same with a cheap hash as generator, whose random numbers are of low quality",
    ),
    Peer(
        Program("Gymnasium", "step_gymnasium", {"kind": "single"}, "gymnasium"),
        OURS.ids,
        num_envs=(1, 1),
        work=2**10,
        least_steps=16,
        about="one NumPy environment from `gymnasium.make`, stepped and reset from Python; actions drawn beforehand",
    ),
    VECTOR_ENV,
    dataclasses.replace(
        VECTOR_ENV,
        program=dataclasses.replace(VECTOR_ENV.program, name="phys2d"),
        ids={"CartPole-v1": "phys2d/CartPole-v1", "Pendulum-v1": "phys2d/Pendulum-v0"},
        num_envs=(1, 256),
        work=2**8,
        is_slow=True,
        about="Gymnasium's functional JAX environments, as the vector environment of `gymnasium.make_vec`; it resets "
        "ended environments one by one in Python, so the batch size is 256 at most",
    ),
    Peer(
        Program("envpool", "step_envpool", library="envpool"),
        {**OURS.ids, "Taxi-v4": "Taxi-v3"},
        work=2**16,
        least_steps=16,
        about='its C++ environments, `env_type="gymnasium"`, one thread, stepped from Python; actions drawn beforehand',
    ),
    Peer(
        Program("brax (comparable)", "rollout_brax", library="brax"),
        {"CartPole-v1": "inverted_pendulum"},
        work=2**16,
        num_envs=(1, 4096),
        is_slow=True,
        about="not the same task: its `inverted_pendulum`, a pole on a cart in a general rigid-body engine (default "
        "backend), two physics steps a step; in one compiled program",
    ),
    Peer(
        Program("jumanji (comparable)", "rollout_jumanji", library="jumanji"),
        {"FrozenLake-v1": "Maze-v0"},
        about="not the same task: its `Maze` with the fixed 5x5 walls of `ToyGenerator`, a walk on a grid; in one "
        "compiled program",
    ),
)


def speed_rows(plan: Plan) -> Iterator[Row]:
    """Yield random-policy rollouts: every environment at every size, and with trajectories kept."""
    cases = [(env, n, False) for env in CLASSIC for n in plan.sizes]
    cases += [(env, n, False) for env in TOY_TEXT for n in plan.toy_text_sizes]
    cases += [(env, n, True) for env in WITH_GOALS for n in plan.kept_sizes]
    for env, num_envs, keep in cases:
        peers = [peer for peer in (OURS, *PEERS) if peer.takes(env, num_envs, keep)]
        peers = [peer for peer in peers if not peer.is_slow or num_envs <= plan.most_for_slow_peers]
        programs = tuple(peer.of(env, num_envs, keep, plan.seconds) for peer in peers)
        yield Row(programs, {"env": env, "num_envs": num_envs, "keep": keep})


def loop_rows(plan: Plan) -> Iterator[Row]:
    """Yield loops of a user's own, which scan over steps and act by a network or at random."""
    for env in ("CartPole-v1", "Acrobot-v1"):
        for policy in ("network", "random"):
            for num_envs in (16, 256, 4096):
                num_steps = max(min(2**16 // num_envs, 1024), 16)
                labels = {"env": env, "policy": policy, "num_envs": num_envs}
                work = {**labels, "num_steps": num_steps, "seconds": plan.seconds}
                programs = (
                    Program("funcenv", "collection_funcenv", work),
                    Program("funcenv, plain steps", "collection_funcenv", work, variables=PLAIN),
                    Program("gymnax", "collection_gymnax", work, "gymnax"),
                )
                yield Row(programs, labels)


def compile_rows(plan: Plan) -> Iterator[Row]:
    """Yield first rollouts."""
    for env in ENVS:
        yield compile_row(env, 256, 1024)


def compile_row(env: str, num_envs: int, num_steps: int) -> Row:
    """Return a first rollout with an empty cache of compiled programs, and one with what that left in the cache."""
    work = {"env": env, "num_envs": num_envs, "num_steps": num_steps, "seconds": 0.01}
    programs = tuple(Program(name, ROLLOUT, work) for name in ("empty cache", "filled cache"))
    return Row(programs, {"env": env, "num_envs": num_envs})


def import_rows(plan: Plan) -> Iterator[Row]:
    """Yield the imports of a process."""
    statements = {
        "jax": ("", "import jax"),
        "jax, an addition": ("", "import jax; jax.jit(lambda x: x + 1)(1.0)"),
        "funcenv, after jax": ("import jax", "import funcenv"),
        "funcenv list": ("", "import funcenv.cli; funcenv.cli.main(['list'])"),
    }
    programs = (Program(name, "statement", {"before": a, "statement": b}) for name, (a, b) in statements.items())
    yield Row(tuple(programs), {"what": "import"})


def soak_rows(plan: Plan) -> Iterator[Row]:
    """Yield long runs, during which memory must not grow."""
    work = {"env": "CartPole-v1", "num_envs": 4096, "num_steps": 256, "repeats": plan.soak_steps // 2**20}
    yield Row((Program("funcenv", ROLLOUT, work),), {"env": "CartPole-v1", "num_envs": 4096})
    stateful = {"kind": "single", "env": "CartPole-v1", "num_steps": 10**6}
    yield Row((Program("funcenv", "step_funcenv", stateful),), {"env": "CartPole-v1", "num_envs": 1})


def latency_rows(plan: Plan) -> Iterator[Row]:
    """Yield steps of one environment from Python."""
    for env in (*WITH_GOALS, "FrozenLake-v1", "Taxi-v4"):
        work = {"kind": "single", "env": env, "num_steps": plan.latency_steps}
        programs = [
            Program("funcenv", "step_funcenv", work),
            Program("funcenv in gymnasium", "step_funcenv", {**work, "kind": "registered"}),
            Program("gymnasium", "step_gymnasium", work),
        ]
        if env == "CartPole-v1":  # phys2d is slow, so it takes a tenth of the steps
            few = {**work, "env": f"phys2d/{env}", "num_steps": plan.latency_steps // 10}
            programs.append(Program("phys2d", "step_gymnasium", few))
        yield Row(tuple(programs), {"env": env})


def vector_rows(plan: Plan) -> Iterator[Row]:
    """Yield vector steps from Python with NumPy output; JAX's default is to dispatch larger programs asynchronously."""
    for num_envs in (16, 256, 4096):
        num_steps = int(plan.latency_steps / (10 + num_envs / 40))
        work = {"kind": "vector", "env": "CartPole-v1", "num_envs": num_envs, "num_steps": num_steps}
        choices = {"output": "numpy", "autoreset_mode": "NextStep"}
        programs = (
            Program("funcenv, synchronous", "step_funcenv", {**work, **choices, "asynchronous": False}),
            Program("funcenv, asynchronous (default)", "step_funcenv", {**work, **choices, "asynchronous": True}),
            Program("CartPoleVectorEnv", "step_gymnasium", work),
        )
        yield Row(programs, {"env": "CartPole-v1", "num_envs": num_envs})


def anatomy_rows(plan: Plan) -> Iterator[Row]:
    """Yield the cost of each part of a step."""
    for env in ENVS if plan.all_anatomies else (*WITH_GOALS, "FrozenLake-v1"):
        work = {"env": env, "num_envs": 4096, "part_seconds": plan.seconds / 2, "part_rounds": plan.rounds}
        yield Row((Program("funcenv", "anatomy_funcenv", work),), {"env": env})


def draw_rows(plan: Plan) -> Iterator[Row]:
    """Yield draws of random numbers, and rollouts of CartPole, by generator."""
    names = ("threefry", "threefry2x32", "philox4x32")
    for what in ("scalar", "fold", "fold_then_split", "fold_then_uniform_4"):
        work = {"what": what, "num_envs": 256, "num_steps": 150_000}
        yield Row(tuple(Program(name, "draws", {**work, "generator": name}) for name in names), {"what": what})
    for num_envs in (1, 16, 256, 4096):
        num_steps = max(200, min(200_000, 2_000_000 // num_envs))
        work = {"env": "CartPole-v1", "num_envs": num_envs, "num_steps": num_steps}
        programs = tuple(Program(name, ROLLOUT, {**work, "generator": name}) for name in names)
        yield Row(programs, {"what": "CartPole-v1", "num_envs": num_envs})


def thread_rows(plan: Plan) -> Iterator[Row]:
    """Yield a long rollout, whose batch is divided over the threads of XLA."""
    work = {"env": "CartPole-v1", "num_envs": 4096, "num_steps": 1000}
    programs = (Program(f"{n} threads", ROLLOUT, work, variables={"PJRT_NPROC": str(n)}) for n in (1, 2))
    yield Row(tuple(programs), {"env": "CartPole-v1", "num_envs": 4096})


def device_rows(plan: Plan) -> Iterator[Row]:
    """Yield updates of PPO on CPUs that act as several devices of one thread each; the busiest thread's time counts."""
    for width in (64, 512):  # With the wider layers, an update is mostly gradients.
        programs = []
        for count, is_deterministic in ((1, False), (2, False), (2, True)):
            flag = f"--xla_force_host_platform_device_count={count}"
            name = f"{count} devices" + (", deterministic reductions" if is_deterministic else "")
            work = {"width": width, "deterministic": is_deterministic}
            variables = {"XLA_FLAGS": flag, "PJRT_NPROC": str(count)}
            programs.append(Program(name, "devices", work, variables=variables))
        yield Row(tuple(programs), {"what": "an update of PPO", "width": width})


def pixel_rows(plan: Plan) -> Iterator[Row]:
    """Yield grey images of 84 x 84 pixels in compiled code; Gymnasium's are reduced by Pillow."""
    for env in ("CartPole-v1", "FrozenLake-v1"):
        for kind in ("step", "draw"):
            common = {"env": env, "kind": kind, "size": 84, "seconds": 0.5}
            theirs = Program("gymnasium", "pixels_gymnasium", {**common, "num_steps": 50}, "gymnasium-pixels")
            for num_envs in (64, 1024):
                work = {**common, "num_envs": num_envs, "num_steps": 16}
                labels = {"env": env, "kind": kind, "num_envs": num_envs}
                yield Row((Program("funcenv", "pixels_funcenv", work), theirs), labels)


def render_rows(plan: Plan) -> Iterator[Row]:
    """Yield images of 600 x 400 pixels by `render()`; the first result includes compilation."""
    for env in ("FrozenLake-v1", "CliffWalking-v1", "Taxi-v4", "Blackjack-v1", "CartPole-v1"):
        work = {"env": env, "width": 600, "height": 400, "seconds": plan.seconds}
        yield Row((Program("funcenv", "render_funcenv", work),), {"env": env})


def minatar_rows(plan: Plan) -> Iterator[Row]:
    """Yield random-policy rollouts of the games of MinAtar."""
    for game in ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders"):
        words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in game)
        for num_envs in (256, 4096):
            theirs = {"num_envs": num_envs, "num_steps": 400_000 // num_envs}
            work = {"env": f"MinAtar/{game}-v1", "num_envs": num_envs, "num_steps": 10 * theirs["num_steps"]}
            programs = [Program("funcenv", ROLLOUT, work)]
            if game != "Seaquest":  # gymnax does not have it
                programs.append(Program("gymnax", "rollout_gymnax", {"env": f"{game}-MinAtar", **theirs}, "gymnax"))
            pgx = {"env": f"minatar{words.replace('_', '-', 1)}", **theirs}
            programs.append(Program("pgx", "rollout_pgx", pgx, "pgx"))
            yield Row(tuple(programs), {"env": f"MinAtar/{game}-v1", "num_envs": num_envs})


def atari_rows(plan: Plan) -> Iterator[Row]:
    """Yield native games of the Atari 2600, with stacked frames and without, and the originals in ALE."""
    for env, game in (("arcade/Pong-v0", "pong"), ("arcade/Breakout-v0", "breakout")):
        frames = {"kind": "funcenv", "env": env, "num_envs": 64, "num_steps": 6250}
        ale = Program("ALE", "arcade_frames", {"kind": "ale", "env": game, "num_envs": 64, "num_steps": 312})
        yield Row((Program("funcenv", "arcade_frames", frames), ale), {"env": env, "observation": "frames"})
        many = {"env": env, "num_envs": 4096, "num_steps": 1953}
        yield Row((Program("funcenv", ROLLOUT, many), ale), {"env": env, "observation": "numbers"})


def mujoco_rows(plan: Plan) -> Iterator[Row]:
    """Yield MuJoCo's environments: a step from Python, and rollouts of batches, against Gymnasium's own loop."""
    for env in ("InvertedPendulum-v5", "HalfCheetah-v5", "Hopper-v5", "Ant-v5", "Humanoid-v5"):
        single = {"kind": "single", "env": env, "num_steps": 2000}
        theirs = Program("gymnasium", "step_gymnasium", single)
        yield Row((Program("funcenv", "step_funcenv", single), theirs), {"env": env, "how": "stateful"})
        for num_envs in (64, 1024):
            work = {"env": env, "num_envs": num_envs, "num_steps": 8000 // num_envs}
            yield Row((Program("funcenv", ROLLOUT, work), theirs), {"env": env, "how": "rollout", "num_envs": num_envs})


def box2d_rows(plan: Plan) -> Iterator[Row]:
    """Yield rollouts of Box2D's environments from Python and in a program of the user's, against Gymnasium's loop."""
    exact, fast = {"fidelity": "exact"}, {"fidelity": "fast"}
    lander, car = ("LunarLander-v3", 1024, 400), ("CarRacing-v3", 64, 50)
    cases = [(*lander, "exact", exact, False), (*lander, "fast", fast, False)]
    cases += [(f"BipedalWalker{kind}-v3", 256, 200, "exact", {}, False) for kind in ("", "Hardcore")]
    for name, parameters in (("exact", exact), ("fast", fast)):
        cases += [(*car, f"{name}, with pictures", parameters, True), (*car, f"{name}, without", parameters, False)]
    for env, num_envs, num_steps, version, parameters, read in cases:
        work = {"env": env, "parameters": parameters, "num_envs": num_envs, "read": read, "num_steps": num_steps}
        loop = {"kind": "single", "env": env, "num_steps": 200, "seconds": 1.0}
        programs = (
            Program("rollout", ROLLOUT, {**work, "seconds": 1.0}),
            Program("rollout in jit", ROLLOUT, {**work, "in_jit": True, "seconds": 1.0}),
            Program("gymnasium", "step_gymnasium", loop, "gymnasium-box2d"),
        )
        yield Row(programs, {"env": env, "version": version})


SUITE = {
    "speed": Table(speed_rows, "rollouts with a random policy"),
    "loop": Table(loop_rows, "loops of a user's own"),
    "compile": Table(compile_rows, "the first rollout of a process", is_start=True),
    "soak": Table(soak_rows, "memory over many steps, after a turn to warm up", rounds=11),
    "latency": Table(latency_rows, "steps of one environment from Python"),
    "vector": Table(vector_rows, "steps of a vector environment from Python"),
    "anatomy": Table(anatomy_rows, "the parts of a step", rounds=1),
}
TABLES = {
    **SUITE,
    "import": Table(import_rows, "imports", rounds=9, is_start=True),
    "draws": Table(draw_rows, "random numbers by generator"),
    "threads": Table(thread_rows, "the threads of a rollout; the wall time counts", rounds=9, uses_threads=True),
    "devices": Table(device_rows, "training on several devices, on Linux", uses_threads=True),
    "pixels": Table(pixel_rows, "grey images in compiled code", rounds=7),
    "render": Table(render_rows, "images by `render()`"),
    "minatar": Table(minatar_rows, "the games of MinAtar"),
    "atari": Table(atari_rows, "native games of the Atari 2600"),
    "mujoco": Table(mujoco_rows, "MuJoCo's environments"),
    "box2d": Table(box2d_rows, "Box2D's environments"),
    "training": Table(trainer_rows, "training by several libraries", rounds=3),
    "presets": Table(preset_rows, "training by presets", rounds=3),
    "start": Table(start_rows, "`funcenv train` until CartPole is solved", rounds=3, is_start=True, uses_threads=True),
    "stable-baselines3": Table(interface_rows, "training behind Gymnasium's interface", rounds=1, is_start=True),
}
