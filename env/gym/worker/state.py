"""The state of an environment as bytes, and whether that can be trusted."""
import io, pickle, time, zlib

import gymnasium
import numpy as np

try:
    import cloudpickle  # knows functions and classes of a script
except ImportError:
    cloudpickle = None


# What pickles as its attributes, for it has no way of its own that keeps them. Adapters add to it.
ENVIRONMENTS = [gymnasium.Env]


# What pygame draws with: no state of a game, and nothing that pickles.
PICTURES = ("Surface", "Font", "Clock")


def is_environment(obj):
    return isinstance(obj, tuple(ENVIRONMENTS)) and not isinstance(obj, type)


class Pickler(pickle._Pickler):
    """Pickles an environment as it stands.

    Many environments pickle as their constructor's arguments (EzPickle), which
    is a new one and not this one: here they are their attributes. What holds
    its state outside Python, or has its own way of saving it, is a reference to
    its counterpart in the environment that is loaded into, with that state.

    Environments that are alike give the same bytes, though pickle also writes
    which equal objects are the same one, and that changes when they are loaded.
    It is Python's pickler in Python because the one in C cannot be told so.
    """

    dispatch = dict(pickle._Pickler.dispatch)

    def __init__(self, file):
        super().__init__(file, protocol=5)
        self.seen = {}  # kind -> the objects of it, in the order of their meeting
        self.texts = {}
        self.other = cloudpickle.Pickler(io.BytesIO()) if cloudpickle else None

    def save_text(self, text):
        text = self.texts.setdefault(text, text)
        known = self.memo.get(id(text))
        if known:
            self.write(self.get(known[0]))
        else:
            self.save_str(text)

    dispatch[str] = save_text

    def number(self, kind, obj):
        met = self.seen.setdefault(kind, [])
        for i, other in enumerate(met):
            if other is obj:
                return i, False
        met.append(obj)
        return len(met) - 1, True

    def persistent_id(self, obj):
        kind = type(obj).__name__
        if kind == "ALEInterface":
            n, new = self.number(kind, obj)
            return kind, n, pickle.dumps(obj.cloneState(include_rng=True)) if new else None
        if kind == "MjModel" or kind in PICTURES and type(obj).__module__.startswith("pygame"):
            return kind, self.number(kind, obj)[0], None
        if own(obj):
            n, new = self.number("own", obj)
            return "own", n, pickle.dumps((obj.get_state(), getattr(obj, "_np_random", None))) if new else None
        return None

    def reducer_override(self, obj):
        if is_environment(obj):
            return blank, (type(obj),), obj.__dict__, None, None, adopt
        if type(obj).__name__ == "MjData":
            for timer in obj.timer:
                timer.duration = 0  # the clock is no state
            return pickle.loads, (pickle.dumps(obj),)
        if isinstance(obj, np.dtype) and obj.isbuiltin == 1:
            return np.dtype, (obj.str,)  # the one there is; NumPy's own way makes another
        if isinstance(obj, gymnasium.spaces.Space):
            return blank, (type(obj),), obj.__dict__, None, None, adopt
        return self.other.reducer_override(obj) if self.other else NotImplemented


def own(obj):
    """Whether an environment's author saves it."""
    return (
        is_environment(obj) and not isinstance(obj, gymnasium.Wrapper)
        and callable(getattr(type(obj), "get_state", None)) and callable(getattr(type(obj), "set_state", None))
    )


def blank(cls):
    return cls.__new__(cls)


def adopt(obj, attributes):
    obj.__dict__.update(attributes)


class Unpickler(pickle.Unpickler):
    """Reads what Pickler wrote, beside the environment that it replaces."""

    def __init__(self, file, env):
        super().__init__(file)
        finder = Pickler(io.BytesIO())
        finder.dump(env)
        self.here = finder.seen

    def persistent_load(self, ref):
        kind, n, state = ref
        obj = self.here[kind][n]
        if kind == "ALEInterface" and state is not None:
            obj.restoreState(pickle.loads(state))
        if kind == "own" and state is not None:
            inner, generator = pickle.loads(state)
            if generator is not None:
                obj._np_random = generator
            obj.set_state(inner)
        return obj


def save(env):
    file = io.BytesIO()
    Pickler(file).dump(env)
    return zlib.compress(file.getvalue(), 1)


def load(env, data):
    """The environment that was saved; env is used up."""
    return Unpickler(io.BytesIO(zlib.decompress(data)), env).load()


def probe(ask, make, play):
    """Whether a saved environment goes on as the original does, if not, why, and the seconds of a step, 0 if unknown.

    One environment is played, saved, loaded into another one that did something
    else, and both are played on, over the end of an episode if one comes soon.
    play(env, steps, seed, seen) is what the environment showed, and what the next
    play needs of it: at first, what its reset returned.
    """
    one, other = make(ask), make(ask)
    try:
        _, seen = play(one, 12, 1, one.reset(seed=ask["seeds"][0]))
        play(other, 5, 2, other.reset(seed=ask["seeds"][0] + 1))
        other = load(other, save(one))
        begin = time.perf_counter()
        original = play(one, 60, 3, seen)[0]
        cost = (time.perf_counter() - begin) / 60
        if original != play(other, 60, 3, seen)[0]:
            return False, "a saved and loaded one does not go on as the original does", cost
    except Exception as e:
        return False, f"saving it fails: {type(e).__name__}: {e}", 0.0
    finally:
        if isinstance(one, gymnasium.Env):  # one of PettingZoo's would quit pygame for its neighbours
            one.close()
    return True, "", cost


def draw(space, mask):
    """A random action that is legal, as far as a mask can be understood."""
    try:
        if mask is not None and isinstance(space, gymnasium.spaces.Discrete):
            mask = np.asarray(mask).astype(np.int8)
        return space.sample(mask) if mask is not None else space.sample()
    except (AssertionError, TypeError, ValueError):
        return space.sample()


def flat(x):
    if isinstance(x, dict):
        return [(k, flat(v)) for k, v in x.items()]
    if isinstance(x, (tuple, list)):
        return [flat(v) for v in x]
    return np.asarray(x).tobytes()
