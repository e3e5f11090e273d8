"""Spaces of Gymnasium as lists of leaves, and values of theirs in shared memory."""
import operator

import numpy as np
from gymnasium import spaces
from weft_failure import Plain

REFUSED = ("Text", "Graph", "Sequence", "OneOf")


def leaves(space, what, path=()):
    """The simple spaces inside, in order, with the keys that lead to them."""
    if isinstance(space, spaces.Dict):
        inner = list(space.spaces.items())
    elif isinstance(space, spaces.Tuple):
        inner = list(enumerate(space.spaces))
    else:
        return [Leaf(space, what, path)]
    out = []
    for key, sub in inner:
        out += leaves(sub, what, path + (key,))
    names = [leaf.name for leaf in out]
    for name in names:
        if names.count(name) > 1:
            raise Plain(f"the {what} space has two parts called {name!r}")
    return out


class Leaf:
    """One simple space: what the parent is told of it, and its array."""

    def __init__(self, space, what, path):
        self.space, self.what, self.path = space, what, path
        self.name = ".".join(str(key) for key in path)
        self.label = what + (f" {self.name!r}" if self.name else "")
        self.choices, self.start, self.shape = 0, 0, ()
        self.shifted = False
        kind = type(space).__name__
        if isinstance(space, spaces.Box):
            self.box(space)
        elif isinstance(space, spaces.Discrete):
            self.about = {"type": "discrete", "n": int(space.n), "start": int(space.start)}
            self.dtype, self.choices = "int32", int(space.n)
        elif isinstance(space, spaces.MultiDiscrete):
            n = [int(x) for x in np.ravel(space.nvec)]
            self.about = {"type": "multi_discrete", "n": n}
            self.shape, self.start = space.shape, getattr(space, "start", 0)
            self.shifted = bool(np.any(self.start))
            self.dtype, self.choices = "int32", sum(n)
        elif isinstance(space, spaces.MultiBinary):
            self.shape = space.shape
            n = int(np.prod(space.shape))
            self.about = {"type": "multi_binary", "n": n}
            self.dtype, self.choices = "int32", 2 * n
        elif kind in REFUSED:
            raise Plain(f"the {self.label} space is a {kind}, which has no fixed size: wrap the environment so that it becomes a Box")
        else:
            raise Plain(f"the {self.label} space is a {kind}, which is not known")
        self.about |= {"name": self.name, "dtype": self.dtype}
        self.rows_shape = self.about.get("dims", [] if kind == "Discrete" else [int(np.prod(self.shape))])

    def box(self, space):
        self.shape = space.shape
        low, high = np.asarray(space.low), np.asarray(space.high)
        kind = space.dtype.kind
        if kind == "f":
            self.dtype = "float32"
        elif space.dtype in (np.uint8, np.bool_):
            self.dtype = "uint8"
        elif kind in "iu":
            small = np.iinfo(np.int32)
            fits = (low >= small.min).all() and (high <= small.max).all()
            self.dtype = "int32" if fits else "int64"
        else:
            raise Plain(f"the {self.label} space is a Box of {space.dtype}, which is no number")
        self.about = {"type": "box", "dims": list(space.shape), "low": bounds(low), "high": bounds(high)}

    def attach(self, array):
        """Uses an array [rows, ...] of shared memory."""
        self.array = array
        self.rows = [array[i : i + 1].reshape(self.shape) for i in range(len(array))]
        if isinstance(self.space, spaces.Discrete):
            self.put = self.put_whole
            self.whole = memoryview(array)
        self.narrow = np.dtype(self.dtype).itemsize < self.space.dtype.itemsize and self.dtype != "float32"

    def get(self, value):
        """The part of a nested value that belongs here."""
        for key in self.path:
            value = value[key]
        return value

    def put(self, i, x):
        """Writes an observation of environment i."""
        if x.__class__ is not np.ndarray:
            x = np.asarray(x)
        if x.shape != self.shape:
            raise Plain(f"{self.label} has shape {list(x.shape)}, its space says {list(self.shape)}")
        row = self.rows[i]
        if x.dtype != self.space.dtype:
            self.check(x)
        if self.shifted:
            x = x - self.start
        row[...] = x
        if self.narrow and not np.array_equal(row, x):
            raise Plain(f"{self.label} holds {x}, which {self.dtype} does not")

    def blank(self, i):
        """Writes a value of the space that says nothing, for who has no observation: 0, or what is nearest to it."""
        if isinstance(self.space, spaces.Box):
            self.rows[i][...] = np.clip(0, self.space.low, self.space.high)
        else:
            self.array[i] = self.about.get("start", 0)

    def check(self, x):
        """Finds values that another type of numbers would change."""
        if x.dtype.kind not in "fiub":
            raise Plain(f"{self.label} holds {x.dtype}, its space says {self.space.dtype}")
        if self.space.dtype.kind != "f" and not np.array_equal(x, x.astype(self.space.dtype)):
            raise Plain(f"{self.label} is {x}, its space holds {self.space.dtype}")

    def put_whole(self, i, x):
        try:
            self.whole[i] = operator.index(x)
        except TypeError:
            raise Plain(f"{self.label} is {x!r}, its space is {self.space}") from None

    def actions(self):
        """What environments take, one for each: values of their own, not views of shared memory."""
        x = self.array.astype(self.space.dtype)
        if isinstance(self.space, spaces.Discrete):
            return list(x)
        x = x.reshape((len(x),) + tuple(self.shape))
        if self.shifted:
            x += self.start
        return list(x) if self.shape else [np.asarray(a) for a in x]


def bounds(x):
    """One number for all if they are alike; infinities are null, which JSON has."""
    one = len(set(np.ravel(x).tolist())) <= 1
    flat = np.ravel(x)[:1] if one else np.ravel(x)
    return [float(v) if np.isfinite(v) else None for v in flat]


class Values:
    """Values of one space for every environment: observations or actions."""

    def __init__(self, space, what, prefix):
        self.space, self.prefix = space, prefix
        self.leaves = leaves(space, what)
        if not self.leaves:
            raise Plain(f"the {what} space is empty")

    def describe(self):
        return [leaf.about for leaf in self.leaves]

    def attach(self, arrays):
        for leaf in self.leaves:
            leaf.attach(arrays[self.prefix + leaf.name])
        if len(self.leaves) == 1 and not self.leaves[0].path:
            self.put, self.actions = self.leaves[0].put, self.leaves[0].actions
        return self

    def put(self, i, value):
        for leaf in self.leaves:
            try:
                x = leaf.get(value)
            except (KeyError, IndexError, TypeError):
                raise Plain(f"{leaf.label} is missing in {value!r:.200}") from None
            leaf.put(i, x)

    def blank(self, i):
        for leaf in self.leaves:
            leaf.blank(i)

    def actions(self):
        columns = [iter(leaf.actions()) for leaf in self.leaves]
        return [nested(self.space, iter(columns)) for _ in range(len(self.leaves[0].array))]


def nested(space, columns):
    if isinstance(space, spaces.Dict):
        return {key: nested(sub, columns) for key, sub in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(nested(sub, columns) for sub in space.spaces)
    return next(next(columns))


class Masks:
    """Masks of legal actions, from info["action_mask"]."""

    def __init__(self, space, prefix):
        self.prefix = prefix
        self.leaves = [leaf for leaf in leaves(space, "action") if leaf.choices]

    def attach(self, arrays):
        self.rows = [arrays[self.prefix + leaf.name] for leaf in self.leaves]
        return self

    def put(self, i, info):
        if "action_mask" not in info:
            raise Plain('info has no "action_mask", though an earlier one had')
        self.set(i, info["action_mask"])

    def put_last(self, i, info):
        """The mask of an episode's last observation, which nobody acts on and which may be missing."""
        self.set(i, info.get("action_mask"))

    def set(self, i, value):
        for leaf, rows in zip(self.leaves, self.rows):
            rows[i] = mask(leaf, value)

    def bar(self, i):
        """Leaves the first choice of every number, for who is not to act."""
        for leaf, rows in zip(self.leaves, self.rows):
            rows[i] = first(leaf)


def first(leaf):
    """The mask of the first choice of every number."""
    n = leaf.about["n"] if isinstance(leaf.about["n"], list) else [leaf.about["n"]]
    if isinstance(leaf.space, spaces.MultiBinary):
        n = [2] * n[0]
    out = np.zeros(leaf.choices, bool)
    out[np.cumsum([0] + n[:-1])] = True
    return out


def mask(leaf, value):
    """A mask as the contract has it: the options of each number, one after another; without a mask, all of them."""
    if value is None:
        return True
    try:
        for key in leaf.path:
            value = value[key]
    except (KeyError, IndexError, TypeError):
        return True  # a mask for some parts of an action leaves the others free
    flat = flatten(value)
    if isinstance(leaf.space, spaces.MultiBinary) and flat.size * 2 == leaf.choices:
        # Gymnasium's form: 0 and 1 are the only choice, 2 leaves both.
        return np.stack([flat != 1, flat != 0], -1).ravel()
    if flat.size != leaf.choices:
        raise Plain(f"the mask of {leaf.label} has {flat.size} entries, its space has {leaf.choices} choices")
    return flat != 0


def flatten(value):
    if isinstance(value, (tuple, list)) and any(np.ndim(v) for v in value):
        return np.concatenate([flatten(v) for v in value])
    return np.ravel(np.asarray(value))
