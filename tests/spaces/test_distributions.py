"""What members are drawn from: against the laws, and against Gymnasium's own draws. Seeds are fixed."""

from __future__ import annotations

import gymnasium.spaces
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import funcenv
from funcenv.spaces import Box, Discrete, Graph, MultiBinary, MultiDiscrete, OneOf, Sequence, Text
from funcenv.spaces._sampling import draw_weighted, uniform_below

N = 20_000
P = 1e-4  # some hundred p-values are looked at, each once, with a seed that does not change


def assert_follows(values, probabilities):
    """Chi-square of integers from 0 up; what has probability 0 must not occur."""
    probabilities = np.asarray(probabilities, float)
    counts = np.bincount(values.reshape(-1), minlength=probabilities.size)
    assert counts.size == probabilities.size
    assert not counts[probabilities == 0].any()
    possible = probabilities > 0
    if possible.sum() > 1:
        assert stats.chisquare(counts[possible], counts.sum() * probabilities[possible]).pvalue > P


@pytest.mark.parametrize(
    ("low", "high", "law"),
    [
        (-1, 3, stats.uniform(-1, 4)),
        (2, np.inf, stats.expon(2)),
        (-np.inf, 2, stats.expon(-2)),
        (-np.inf, np.inf, stats.norm()),
        (-3e38, 3e38, stats.uniform(-3e38, 6e38)),  # whose width is no float32
    ],
)
def test_boxes(low, high, law, draws):
    sign = -1 if low == -np.inf and high == 2 else 1
    values = sign * draws(Box(low, high, (1,)), N).astype(float)[:, 0]
    assert stats.kstest(values, law.cdf).pvalue > P
    if abs(high) < 1e30:
        reference = gymnasium.spaces.Box(low, high, (N,), np.float32, seed=1).sample().astype(float)
        assert stats.ks_2samp(values, sign * reference).pvalue > P


def test_boxes_with_traced_bounds():
    values = jax.jit(lambda low, key: Box(low, 3.0, (N,)).sample(key))(-1.0, funcenv.key(0))
    assert stats.kstest(np.asarray(values, float), stats.uniform(-1, 4).cdf).pvalue > P


def test_mixed_sides_are_independent(draws):
    values = draws(Box([-np.inf, 0, -np.inf, -1], [np.inf, np.inf, 0, 1]), N)
    correlations = np.corrcoef(values, rowvar=False) - np.eye(4)
    assert np.abs(correlations).max() < 4 / np.sqrt(N)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
def test_integer_boxes(dtype, draws):
    assert_follows(draws(Box(3, 9, (2,), dtype), N // 2).astype(int) - 3, np.full(7, 1 / 7))
    limits = np.iinfo(dtype)
    values = draws(Box(limits.min, limits.max, (), dtype), N).astype(float)
    assert_follows(
        ((values - limits.min) * 16 / 2.0 ** (8 * np.dtype(dtype).itemsize)).astype(int), np.full(16, 1 / 16)
    )


@pytest.mark.parametrize(("low", "high"), [(0, np.inf), (-np.inf, 0), (-np.inf, np.inf)])
def test_open_integer_boxes_draw_as_gymnasium(low, high, draws):
    values = draws(Box(low, high, (1,), np.int32), N)
    reference = gymnasium.spaces.Box(low, high, (N,), np.int32, seed=1).sample()
    table = [[np.sum(part == k) for k in range(-3, 4)] for part in (values, reference)]
    table = np.array(table)[:, np.sum(table, axis=0) > 10]
    assert stats.chi2_contingency(table).pvalue > P


def test_bool_boxes(draws):
    values = draws(Box([False, True, False], [True, True, False], dtype=bool), N)
    assert values[:, 1].all()
    assert not values[:, 2].any()
    assert stats.binomtest(int(values[:, 0].sum()), N).pvalue > P


@pytest.mark.parametrize("n", [3, 2**16 + 3, 3 * 2**29])
def test_discrete(n, draws):
    values = draws(Discrete(n, start=-2), N).astype(np.int64) + 2
    assert values.max() < n
    assert_follows(values * 3 // n, np.full(3, 1 / 3))


def test_discrete_with_mask_or_probability(draws):
    space = Discrete(5, start=2)
    assert_follows(draws(space, N, mask=np.array([0, 1, 0, 1, 1])) - 2, np.array([0, 1, 0, 1, 1]) / 3)
    probability = np.array([0.5, 0, 0.2, 0.3, 0])
    assert_follows(draws(space, N, probability=probability) - 2, probability)


def test_masks_may_differ_within_a_batch():
    masks = jnp.asarray([[1, 0, 0], [0, 1, 1], [0, 0, 0]])
    keys = jax.random.split(funcenv.key(0), (N // 10, 3))
    sample = jax.vmap(lambda key, mask: Discrete(3, start=4).sample(key, mask=mask))
    values = np.asarray(jax.jit(jax.vmap(sample, in_axes=(0, None)))(keys, masks))
    assert set(values[:, 0]) == {4}
    assert_follows(values[:, 1] - 4, [0, 0.5, 0.5])
    assert set(values[:, 2]) == {4}  # nothing is allowed: the smallest, as in Gymnasium


def test_multi_discrete(draws):
    space = MultiDiscrete([[3, 1], [2, 4]], start=[[0, 5], [-1, 0]])
    values = draws(space, N) - space.start
    assert_follows(values[:, 0, 0], np.full(3, 1 / 3))
    assert_follows(values[:, 0, 0] * 8 + values[:, 1, 0] * 4 + values[:, 1, 1], np.full(24, 1 / 24))


def test_multi_discrete_with_mask_or_probability(draws):
    space = MultiDiscrete([3, 2, 2], start=[1, 0, 0])
    values = draws(space, N, mask=(np.array([1, 0, 1]), None, np.array([0, 1]))) - space.start
    assert_follows(values[:, 0], [0.5, 0, 0.5])
    assert_follows(values[:, 1], [0.5, 0.5])
    assert (values[:, 2] == 1).all()
    values = draws(space, N, probability=(np.array([0.7, 0.3, 0]), np.array([0.1, 0.9]), None)) - space.start
    assert_follows(values[:, 0], [0.7, 0.3, 0])
    assert_follows(values[:, 1], [0.1, 0.9])
    assert_follows(values[:, 2], [0.5, 0.5])


def test_multi_binary(draws):
    values = draws(MultiBinary([2, 2]), N).reshape(N, 4)
    assert_follows(values @ [8, 4, 2, 1], np.full(16, 1 / 16))
    values = draws(MultiBinary(3), N, mask=np.array([0, 1, 2]))
    assert not values[:, 0].any()
    assert values[:, 1].all()
    assert_follows(values[:, 2], [0.5, 0.5])
    values = draws(MultiBinary(3), N, probability=np.array([0, 0.2, 1]))
    assert values[:, 0].sum() == 0
    assert values[:, 2].sum() == N
    assert_follows(values[:, 1], [0.8, 0.2])


def test_texts(draws):
    texts = draws(Text(4, min_length=2, charset="abc"), N)
    assert_follows(texts.length - 2, np.full(3, 1 / 3))
    assert_follows(texts.codes[:, :2], np.full(3, 1 / 3))
    assert (texts.codes[texts.length == 2, 2:] == 3).all()
    texts = draws(Text(3, charset="abc"), N, mask=(2, np.array([1, 0, 1])))
    assert (texts.length == 2).all()
    assert_follows(texts.codes[:, :2], [0.5, 0, 0.5])
    texts = draws(Text(3, charset="abc"), N, probability=(None, np.array([0.2, 0.8, 0])))
    assert_follows(texts.length, [0, 1 / 3, 1 / 3, 1 / 3])
    assert_follows(texts.codes[:, 0], [0.2, 0.8, 0])


def test_sequences(draws):
    space = Sequence(Discrete(3), max_length=8)
    sequences = draws(space, N)
    weights = 0.75 ** np.arange(8)
    assert_follows(sequences.length, [0, *weights / weights.sum()])
    reference = gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(3), seed=1)
    lengths = np.array([length for length in (len(reference.sample()) for _ in range(3000)) if length <= 8])
    table = [np.bincount(part, minlength=9)[1:] for part in (sequences.length, lengths)]
    assert stats.chi2_contingency(table).pvalue > P
    assert_follows(sequences.items[sequences.length == 8], np.full(3, 1 / 3))

    sequences = draws(space, N, mask=(np.array([0, 2, 2, 8]), np.array([0, 1, 1])))
    assert_follows(sequences.length, [0.25, 0, 0.5, 0, 0, 0, 0, 0, 0.25])
    assert_follows(sequences.items[sequences.length == 8], [0, 0.5, 0.5])
    assert not sequences.items[sequences.length == 0].any()


def test_graphs(draws):
    space = Graph(Discrete(2), Discrete(3), max_nodes=3)
    graphs = draws(space, N)
    assert_follows(graphs.num_nodes, [0, 1 / 3, 1 / 3, 1 / 3])
    for num_nodes in (1, 2, 3):
        of_size = graphs.num_nodes == num_nodes
        most = max(num_nodes * (num_nodes - 1), 1)  # exclusive, as in Gymnasium
        assert_follows(graphs.num_edges[of_size], np.full(most, 1 / most))
        linked = of_size & (graphs.num_edges > 0)
        if linked.any():
            assert_follows(graphs.edge_links[linked, 0], np.full(num_nodes, 1 / num_nodes))
    graphs = draws(space, N, num_nodes=2, num_edges=6, mask=(np.array([1, 0]), np.array([0, 1, 1])))
    assert (graphs.num_nodes == 2).all()
    assert not graphs.nodes.any()
    assert_follows(graphs.edges, [0, 0.5, 0.5])
    assert_follows(graphs.edge_links, [0.5, 0.5])


def test_one_of(draws):
    members = draws(OneOf([Discrete(2), MultiBinary(2), Discrete(4)]), N)
    assert_follows(members.index, np.full(3, 1 / 3))
    assert_follows(members.values[2][members.index == 2], np.full(4, 0.25))
    assert not members.values[2][members.index != 2].any()
    members = draws(OneOf([Discrete(2), Discrete(3)]), N, mask=(None, np.array([0, 0, 1])))
    assert (members.values[1][members.index == 1] == 2).all()


@pytest.mark.parametrize("word", [np.uint32, np.uint64])
def test_uniform_below_is_exact_where_a_remainder_is_not(word):
    """A word modulo three quarters of its range would fall into the lower third half of the time."""
    bits = 8 * np.dtype(word).itemsize
    count = 3 * 2 ** (bits - 2)
    with jax.enable_x64(True):
        draw = jax.jit(lambda key, count: uniform_below(key, count, largest=2**bits))
        values = np.asarray(draw(funcenv.key(0), jnp.full(N, count, word)))
        assert_follows((values // word(2 ** (bits - 2))).astype(int), np.full(3, 1 / 3))
        every = np.asarray(draw(funcenv.key(1), jnp.zeros(N, word)))
        assert_follows((every >> word(bits - 4)).astype(int), np.full(16, 1 / 16))


@pytest.mark.parametrize("count", [2**16 + 1, 2**31 + 12345, 2**32 - 1])
def test_uniform_below_is_the_product_with_a_fraction(count):
    """The same two words, multiplied in Python's unbounded integers."""
    key = funcenv.key(5)
    high, low = (
        words.astype(object) for words in np.asarray(jax.random.bits(jax.random.clone(key), (2, 999), np.uint32))
    )
    expected = ((high * 2**32 + low) * count) >> 64
    drawn = uniform_below(key, jnp.full(999, count, jnp.uint32), largest=count)
    np.testing.assert_array_equal(np.asarray(drawn).astype(object), expected)


def test_weighted_draws_never_give_what_has_no_weight():
    probability = np.zeros(1000)
    probability[[3, 700]] = [1e-6, 1 - 1e-6]
    values = draw_weighted(funcenv.key(0), jnp.broadcast_to(jnp.asarray(probability).astype(float), (N, 1000)))
    assert set(np.asarray(values)) <= {3, 700}
