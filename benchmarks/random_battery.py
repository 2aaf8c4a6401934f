"""Statistical tests of a generator's streams in the way environments use them: `python benchmarks/random_battery.py`.

Each stream is piped as raw 32-bit words into an installed battery: `dieharder` (a package in Debian), TestU01
(`--testu01 PREFIX` of its installation, for which a small C program is compiled), or PractRand (`--practrand PATH` of
its RNG_test). The streams:

    draws      long draws from one key after the other
    seeds      one word from each of the keys of seeds 0, 1, 2, ...
    envs       256 environments: the env key by split, the call key by fold_in, its state key by split, four words
    tree       one word from each leaf of binary trees of splits, 18 deep
    splits     the keys themselves that splits give, as words
    folds      the keys themselves that fold_in(key, 0), fold_in(key, 1), ... give, as words
    raw_low    one word from each of the keys whose data are 0, 1, 2, ... (a generator may fail this)
    raw_high   as raw_low, with the bits of the number reversed
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

from funcenv.random import feistel2x32, find_impl

CHUNK = 2**20
NUM_ENVS, CALLS, DEPTH = 256, 1024, 18
# The tests that dieharder calls good, except its rgb family over tuples of many sizes, which takes an hour.
DIEHARDER = (0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 15, 16, 17, 100, 101, 102, 204, 205, 206, 207, 208, 209)

Chunk = Callable[[jax.Array], jax.Array]


def streams(name: str, seed: int = 20) -> dict[str, Chunk]:
    """Return functions from the index of a chunk to its words, by the name of the stream."""
    impl = find_impl(name)
    root = jax.random.key(seed, impl=impl)
    data, one = jax.vmap(jax.random.key_data), jax.vmap(jax.random.bits)

    def of_numbers(number: jax.Array) -> jax.Array:
        return number * np.uint32(CHUNK) + jnp.arange(CHUNK, dtype=jnp.uint32)

    def draws(number: jax.Array) -> jax.Array:
        return jax.random.bits(jax.random.fold_in(root, number), (CHUNK, 2))

    def seeds(number: jax.Array) -> jax.Array:
        return one(jax.vmap(lambda seed: jax.random.key(seed, impl=impl))(of_numbers(number)))

    def envs(number: jax.Array) -> jax.Array:
        env_keys = jax.random.split(root, NUM_ENVS)

        def words(env_key: jax.Array, call: jax.Array) -> jax.Array:
            state_key, _ = jax.random.split(jax.random.fold_in(env_key, call))
            return jax.random.bits(state_key, (4,))

        calls = number * np.uint32(CALLS) + jnp.arange(CALLS, dtype=jnp.uint32)
        return jax.vmap(lambda call: jax.vmap(words, (0, None))(env_keys, call))(calls)

    def tree(number: jax.Array) -> jax.Array:
        keys = jax.random.fold_in(root, number)[None]
        for _ in range(DEPTH):
            keys = jax.vmap(jax.random.split)(keys).reshape(-1)
        return one(keys)

    def splits(number: jax.Array) -> jax.Array:
        return data(jax.random.split(jax.random.fold_in(root, number), CHUNK))

    def folds(number: jax.Array) -> jax.Array:
        return data(jax.vmap(jax.random.fold_in, (None, 0))(root, of_numbers(number)))

    def raw(words: jax.Array) -> jax.Array:
        return one(jax.random.wrap_key_data(jnp.stack([words >> np.uint32(31), words], axis=1), impl=impl))

    def raw_low(number: jax.Array) -> jax.Array:
        return raw(of_numbers(number))

    def raw_high(number: jax.Array) -> jax.Array:
        return raw(_reversed(of_numbers(number)))

    made = (draws, seeds, envs, tree, splits, folds, raw_low, raw_high)
    return {function.__name__: jax.jit(function) for function in made}


def chunks(function: Chunk) -> Iterator[bytes]:
    """Yield the bytes of a stream until its 32-bit counter of seeds, folds, raw keys or calls would overflow."""
    counted = {"draws": 1, "splits": 1, "tree": 1, "envs": CALLS}.get(function.__name__, CHUNK)
    for number in range(2**32 // counted):
        yield np.asarray(function(jnp.uint32(number))).tobytes()


def feed(function: Chunk, command: list[str]) -> str:
    """Pipe a stream into a battery until it has read enough, and return its output."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=subprocess.STDOUT)
        assert process.stdin is not None
        try:
            for chunk in chunks(function):
                process.stdin.write(chunk)
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.wait()
        said.seek(0)
        return said.read()


def dieharder(function: Chunk, tests: tuple[int, ...]) -> str:
    """Run one test after the other, each on other words, and return the rows of the tables."""
    rows = []
    for test in tests:
        said = feed(function, ["dieharder", "-g", "200", "-d", str(test)])
        rows += [line for line in said.splitlines() if re.search(r"PASSED|WEAK|FAILED", line)]
    return "\n".join(rows)


def practrand(function: Chunk, program: str, limit: str) -> str:
    said = feed(function, [program, "stdin32", "-tlmin", limit, "-tlmax", limit])
    return "\n".join(said.splitlines()[4:]).strip()


@functools.cache
def testu01_program(prefix: str) -> str:
    """Compile the C program in this folder against an installed TestU01, and return its path."""
    source, program = pathlib.Path(__file__).parent / "random_testu01.c", pathlib.Path(tempfile.mkdtemp()) / "testu01"
    libraries = [f"-I{prefix}/include", f"-L{prefix}/lib", "-ltestu01", "-lprobdist", "-lmylib", "-lm"]
    subprocess.run(["cc", "-O2", str(source), "-o", str(program), *libraries], check=True)
    return str(program)


def testu01(function: Chunk, prefix: str, battery: str) -> str:
    said = feed(function, [testu01_program(prefix), battery])
    return said[said.rfind("========= Summary") :].strip()


def duplicates(name: str, number: int) -> None:
    keys = np.asarray(jax.random.key_data(jax.random.split(jax.random.key(1, impl=find_impl(name)), number)))
    num_distinct = len(np.unique(keys.view(np.uint64)))
    print(f"{name}: {number:,} split keys, {number - num_distinct} duplicates", flush=True)


def _reversed(words: jax.Array) -> jax.Array:
    for shift, mask in ((16, 0xFFFF), (8, 0xFF00FF), (4, 0xF0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        low = np.uint32(mask)
        words = ((words >> np.uint32(shift)) & low) | ((words & low) << np.uint32(shift))
    return words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generator", default="feistel2x32")
    parser.add_argument("--streams", nargs="+", default=list(streams("feistel2x32")))
    parser.add_argument("--dieharder", action="store_true")
    parser.add_argument("--dieharder-tests", type=int, nargs="+", default=DIEHARDER)
    parser.add_argument("--testu01", metavar="PREFIX", help="where TestU01 is installed")
    parser.add_argument("--battery", default="SmallCrush", choices=["SmallCrush", "Crush", "BigCrush"])
    parser.add_argument("--practrand", metavar="PATH", help="PractRand's RNG_test")
    parser.add_argument("--limit", default="1GB", help="how much of a stream PractRand reads")
    parser.add_argument(
        "--duplicates", type=int, metavar="NUMBER", help="split a key into this many and count duplicates"
    )
    parser.add_argument(
        "--rounds", type=int, default=8, choices=[2, 4, 6, 8], help="weaken feistel2x32 to this many rounds"
    )
    parser.add_argument("--seed", type=int, default=20, help="seed of all streams except seeds and raw")
    parser.add_argument("--write", metavar="STREAM", help="write a stream to standard output without tests")
    arguments = parser.parse_args()
    feistel2x32.MULTIPLIERS = feistel2x32.MULTIPLIERS[: arguments.rounds]
    feistel2x32.SCHEDULE = feistel2x32.SCHEDULE[: arguments.rounds]

    known = streams(arguments.generator, arguments.seed)
    if arguments.write:
        for chunk in chunks(known[arguments.write]):
            sys.stdout.buffer.write(chunk)
        return
    if arguments.duplicates:
        duplicates(arguments.generator, arguments.duplicates)
    for stream in arguments.streams if arguments.dieharder or arguments.testu01 or arguments.practrand else ():
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        print(f"--- {arguments.generator}, {arguments.rounds} rounds, {stream}", flush=True)
        if arguments.dieharder:
            print(dieharder(known[stream], tuple(arguments.dieharder_tests)), flush=True)
        if arguments.testu01:
            print(testu01(known[stream], arguments.testu01, arguments.battery), flush=True)
        if arguments.practrand:
            print(practrand(known[stream], arguments.practrand, arguments.limit), flush=True)
        print(f"    {resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before:.0f} CPU-s", flush=True)


if __name__ == "__main__":
    main()
