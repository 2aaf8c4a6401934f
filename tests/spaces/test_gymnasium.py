"""Agreement with Gymnasium 1.4.0, and the exceptions to it, each stated once.

Exceptions: integers are int32 unless told otherwise (Gymnasium: int64), as JAX has no int64 without x64; where parts of
different dtypes are joined, JAX's promotion applies (int32 and float32 give float32, in NumPy float64); batches of
padded spaces are stacked; `Discrete` and `MultiDiscrete` hold integers of every dtype that are in range.
"""

from __future__ import annotations

import warnings

import gymnasium.spaces as reference_spaces
import jax
import numpy as np
import pytest
from gymnasium.vector.utils import batch_space as reference_batch_space
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import funcenv
from funcenv import spaces

PROFILE = settings(max_examples=60, derandomize=True, deadline=None)


def dtype_text(text):
    """Gymnasium's text with the dtypes that differ on purpose as they are here."""
    return text.replace("float64", "float32").replace("int64", "int32").replace(", dtype=int32", "")


def test_looks_alike(pair):
    space, reference = pair
    assert repr(space) == dtype_text(repr(reference))
    assert space.shape == reference.shape
    assert space.dtype == reference.dtype
    assert space.is_np_flattenable == reference.is_np_flattenable
    assert repr(spaces.flatten_space(space)) == dtype_text(repr(reference_spaces.flatten_space(reference)))


def test_flatdim(pair):
    space, reference = pair
    if reference.is_np_flattenable:
        assert spaces.flatdim(space) == reference_spaces.flatdim(reference)
    else:
        with pytest.raises(ValueError):
            reference_spaces.flatdim(reference)
        with pytest.raises(ValueError, match="not to a vector, because it holds a Sequence or a Graph"):
            spaces.flatdim(space)


def test_holds_what_gymnasium_draws_and_flattens_it_alike(pair):
    space, reference = pair
    for _ in range(5):
        x = reference.sample()
        assert x in space
        if reference.is_np_flattenable:
            flat = reference_spaces.flatten(reference, x)
            np.testing.assert_array_equal(spaces.flatten(space, x), flat.astype(space.flattened.dtype))
            jax.tree.map(np.testing.assert_array_equal, space.unpack(spaces.unflatten(space, flat)), x)


def test_draws_what_gymnasium_holds(pair, draws):
    space, reference = pair
    members = draws(space, 5)
    for i in range(5):
        plain = to_gymnasium(space.unpack(jax.tree.map(lambda leaf: leaf[i], members)))  # noqa: B023
        assert plain in reference


def to_gymnasium(plain):
    return reference_spaces.GraphInstance(*plain) if isinstance(plain, spaces.PlainGraph) else plain


def test_batches(pair):
    space, reference = pair
    batched = spaces.batch_space(space, 3)
    expected = repr(reference_batch_space(reference, 3))
    stacked = ("Text", "Sequence", "Graph", "OneOf")
    if any(kind in repr(space) for kind in stacked):
        assert "Batched" in repr(batched)
    else:
        assert repr(batched) == dtype_text(expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64])
def test_dtypes_of_integer_spaces(dtype):
    for name, arguments in [("Discrete", (3,)), ("MultiDiscrete", ([3, 2],))]:
        space = getattr(spaces, name)(*arguments, dtype=dtype)
        reference = getattr(reference_spaces, name)(*arguments, dtype=dtype)
        assert space.dtype == reference.dtype
        assert space.sample(funcenv.key(0)) in space
    assert spaces.Discrete(3).dtype == spaces.MultiDiscrete([3]).dtype == np.int32
    assert reference_spaces.Discrete(3).dtype == reference_spaces.MultiDiscrete([3]).dtype == np.int64
    assert repr(spaces.Discrete(3, dtype=np.int64)) == "Discrete(3, dtype=int64)"


def shapes():
    return st.sampled_from([(), (1,), (3,), (2, 2), (0,)])


@st.composite
def boxes(draw):
    """Draw a box and Gymnasium's, of any dtype, some sides open."""
    dtype = np.dtype(draw(st.sampled_from(["float32", "float64", "int32", "int8", "uint8", "bool"])))
    shape = draw(shapes())
    limits = {"f": (-100, 100), "i": (-100, 100), "u": (0, 200), "b": (0, 1)}[dtype.kind]
    numbers = npst.arrays(float if dtype.kind == "f" else int, shape, elements=st.integers(*limits))
    one, other = draw(numbers), draw(numbers)
    low, high = np.minimum(one, other).astype(float), np.maximum(one, other).astype(float)
    if dtype.kind in "fi":
        sides = npst.arrays(bool, shape)
        low, high = np.where(draw(sides), -np.inf, low), np.where(draw(sides), np.inf, high)
    if dtype.kind == "f":
        low, high = low.astype(dtype), high.astype(dtype)
    # Gymnasium writes into the bounds that it is given.
    return spaces.Box(low, high, shape, dtype), reference_spaces.Box(low.copy(), high.copy(), shape, dtype)


def arrays():
    kinds = st.sampled_from(["float32", "float64", "int64", "int32", "int8", "uint8", "bool"])
    elements = {"f": st.floats(-120, 120, width=16), "i": st.integers(-120, 120), "u": st.integers(0, 200)}

    def of(dtype):
        kind = np.dtype(dtype).kind
        return npst.arrays(dtype, shapes(), elements=elements.get(kind, st.booleans()))

    return kinds.flatmap(of)


@PROFILE
@given(boxes(), st.data())
def test_boxes(pair, data):
    space, reference = pair
    assert repr(space) == repr(reference)
    assert space.shape == reference.shape
    for manner in ("below", "above", "both"):
        assert space.is_bounded(manner) == reference.is_bounded(manner)
    np.testing.assert_array_equal(space.low, reference.low)
    np.testing.assert_array_equal(space.high, reference.high)
    x = data.draw(arrays())
    assert (x in space) == (x in reference)
    assert (space.low in space) == (reference.low in reference)
    inside = reference.sample()
    assert inside in space
    assert (np.asarray(inside, float) in space) == (np.asarray(inside, float) in reference)
    if x.size and (space.dtype.kind == "f" or np.array_equal(x.astype(space.dtype), x)):
        number = x.reshape(-1)[0]
        with warnings.catch_warnings(action="ignore"):  # Gymnasium casts what is not an array, and says so
            assert (number in space) == (number in reference)
            assert (number.item() in space) == (number.item() in reference)
            assert (x.tolist() in space) == (x.tolist() in reference)
    assert repr(space.flattened) == repr(reference_spaces.flatten_space(reference))


@PROFILE
@given(st.integers(1, 9), st.integers(-9, 9), st.one_of(st.integers(-20, 20), arrays(), st.just(True), st.just(2**40)))
def test_discrete_spaces(n, start, x):
    space, reference = spaces.Discrete(n, start=start), reference_spaces.Discrete(n, start=start)
    assert repr(space) == repr(reference)
    assert (x in space) == (x in reference)
    for member in range(start, start + n):
        np.testing.assert_array_equal(space.flatten(member), reference_spaces.flatten(reference, np.int64(member)))


@settings(PROFILE, max_examples=20)
@given(st.data())
def test_multi_discrete_and_multi_binary_spaces(data):
    shape = data.draw(st.sampled_from([(3,), (2, 2)]))
    nvec = data.draw(npst.arrays(int, shape, elements=st.integers(1, 3)))
    start = data.draw(npst.arrays(int, shape, elements=st.integers(-3, 3)))
    x = data.draw(st.one_of(arrays(), npst.arrays(int, shape, elements=st.integers(-3, 6))))
    for space, reference in [
        (spaces.MultiDiscrete(nvec, start=start), reference_spaces.MultiDiscrete(nvec, start=start)),
        (spaces.MultiBinary(shape), reference_spaces.MultiBinary(shape)),
    ]:
        assert repr(space) == repr(reference)
        assert (x in space) == (x in reference)
        assert (x.tolist() in space) == (x.tolist() in reference) or np.ndim(x) == 0
        member = reference.sample()
        assert member in space
        flat = spaces.flatten(space, member)
        np.testing.assert_array_equal(flat, reference_spaces.flatten(reference, member))
        np.testing.assert_array_equal(spaces.unflatten(space, flat), member)


@PROFILE
@given(st.text("abcx", max_size=6), st.integers(0, 3))
def test_texts(text, min_length):
    arguments = {"max_length": 4, "min_length": min_length, "charset": "cab"}
    space, reference = spaces.Text(**arguments), reference_spaces.Text(**arguments)
    assert repr(space) == repr(reference)
    assert (text in space) == (text in reference)
    if text in space:
        assert space.unpack(space.pack(text)) == text
        np.testing.assert_array_equal(space.flatten(text), reference_spaces.flatten(reference, text))
        assert space.unpack(space.unflatten(space.flatten(text))) == text


@PROFILE
@given(st.lists(st.integers(-1, 3), max_size=6), st.booleans())
def test_sequences(items, stack):
    space = spaces.Sequence(spaces.Discrete(3), max_length=6, stack=stack)
    reference = reference_spaces.Sequence(reference_spaces.Discrete(3), stack=stack)
    x = np.asarray(items, int) if stack else tuple(items)
    assert (x in space) == (x in reference)
    if x in space:
        member = space.pack(x)
        assert member in space
        np.testing.assert_array_equal(space.unpack(member), x)


@PROFILE
@given(
    npst.arrays(np.int64, st.integers(1, 4), elements=st.integers(0, 3)),
    st.one_of(st.none(), npst.arrays(np.int64, st.integers(1, 3), elements=st.integers(0, 2))),
    npst.arrays(np.int64, st.tuples(st.integers(1, 3), st.just(2)), elements=st.integers(-1, 4)),
)
def test_graphs(nodes, edges, links):
    space = spaces.Graph(spaces.Discrete(3), spaces.Discrete(2), max_nodes=4, max_edges=3)
    reference = reference_spaces.Graph(reference_spaces.Discrete(3), reference_spaces.Discrete(2))
    x = reference_spaces.GraphInstance(nodes, edges, None if edges is None else links)
    assert (x in space) == (x in reference)
    if x in space:
        member = space.pack(x)
        assert member in space
        jax.tree.map(np.testing.assert_array_equal, to_gymnasium(space.unpack(member)), x)


@PROFILE
@given(st.one_of(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), st.integers(0, 3), st.just((0, 1, 2))))
def test_one_of(x):
    space = spaces.OneOf([spaces.Discrete(2), spaces.Discrete(3)])
    reference = reference_spaces.OneOf([reference_spaces.Discrete(2), reference_spaces.Discrete(3)])
    assert (x in space) == (x in reference)
    if x in space:
        assert space.pack(x) in space
        assert space.unpack(space.pack(x)) == x


@PROFILE
@given(st.sampled_from([(0, 1), [0, 1], (0,), (0, 2), np.array([0, 1]), {"a": 0, "b": 1}, {"a": 0}, {"b": 0, "c": 1}]))
def test_products(x):
    for ours, theirs in [
        (spaces.Tuple([spaces.Discrete(2)] * 2), reference_spaces.Tuple([reference_spaces.Discrete(2)] * 2)),
        (
            spaces.Dict(a=spaces.Discrete(2), b=spaces.Discrete(2)),
            reference_spaces.Dict(a=reference_spaces.Discrete(2), b=reference_spaces.Discrete(2)),
        ),
    ]:
        assert (x in ours) == (x in theirs)


def test_exceptions_of_contains():
    """Every one of them holds more than Gymnasium does, or names a value that Gymnasium rounds."""
    for x in (np.uint64(1), np.int64(1)):
        assert x in spaces.Discrete(2)
        assert np.array([x]) in spaces.MultiDiscrete([2])
        assert x not in reference_spaces.Discrete(2, dtype=np.int32) or x.dtype == np.int32
    assert [0.5] not in spaces.Box(0, 1, (1,), np.int32)
    with pytest.warns(UserWarning, match="Casting"):
        assert [0.5] in reference_spaces.Box(0, 1, (1,), np.int32)
