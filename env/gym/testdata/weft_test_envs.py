"""Environments that the bridge's tests need, made by class: weft_test_envs:Mixed."""
import os, signal, threading, time

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import Autoreset, TimeLimit


class Base(gymnasium.Env):
    """Counts steps; an episode is a random number of them."""

    observation_space = spaces.Box(0, 1000, (2,), np.float64)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.end = 0, int(self.np_random.integers(5, 15))
        return self.obs(), self.info()

    def obs(self):
        return np.array([self.t, self.end], np.float64)

    def info(self):
        return {}

    def step(self, action):
        assert action in self.action_space, action
        self.t += 1
        return self.obs(), float(self.t), self.t == self.end, self.t == 10, self.info()


class Mixed(Base):
    """Every simple space, nested, as observation and as action."""

    observation_space = spaces.Dict({
        "image": spaces.Box(0, 255, (2, 3), np.uint8),
        "half": spaces.Box(-1, 1, (2,), np.float16),
        "wide": spaces.Box(0, 2**40, (1,), np.int64),
        "short": spaces.Box(np.array([-3, 0]), np.array([3, 9]), dtype=np.int16),
        "on": spaces.MultiBinary([2, 2]),
        "inner": spaces.Dict({"which": spaces.Discrete(4, start=-1), "digits": spaces.MultiDiscrete([3, 5], start=[1, 2])}),
        "pair": spaces.Tuple([spaces.Discrete(2), spaces.Box(-np.inf, np.inf, ())]),
    })
    action_space = spaces.Dict({
        "move": spaces.Discrete(3, start=2),
        "force": spaces.Box(-2, 2, (2,), np.float64),
        "keys": spaces.MultiBinary(3),
        "codes": spaces.Tuple([spaces.MultiDiscrete([2, 3], start=[5, 6]), spaces.Box(0, 10, (), np.int32)]),
    })

    def obs(self):
        t, r = self.t, self.np_random
        return {
            "image": np.full((2, 3), t + 200, np.uint8), "half": r.uniform(-1, 1, 2).astype(np.float16),
            "wide": np.array([2**33 + t]), "short": np.array([t % 3 - 3, t % 9], np.int16),
            "on": r.integers(0, 2, (2, 2), np.int8),
            "inner": {"which": np.int64(t % 4 - 1), "digits": np.array([t % 3 + 1, t % 5 + 2])},
            "pair": (t % 2, np.float32(t / 7)),
        }


class Pair(Base):
    observation_space = spaces.Tuple([spaces.Box(0, 20, (2,), np.float32), spaces.Discrete(16)])
    action_space = spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3)])

    def obs(self):
        return np.array([self.t, self.end], np.float32), self.t


class Masked(Base):
    """Refuses actions that its mask forbids: all but two, which change."""

    action_space = spaces.Discrete(6)
    observation_space = spaces.Discrete(6)

    def obs(self):
        return self.t % 6

    def mask(self):
        m = np.zeros(6, np.int8)
        m[[self.t % 6, (self.t + 2) % 6]] = 1
        return m

    def info(self):
        return {"action_mask": self.mask()}

    def step(self, action):
        if not self.mask()[action]:
            raise ValueError(f"action {action} is forbidden")
        right = action == self.t % 6
        obs, _, terminated, truncated, info = super().step(action)
        return obs, float(right), terminated, truncated, info


class Unmasked(Masked):
    """Says nothing about what is legal when it is over."""

    def info(self):
        return {} if self.t in (self.end, 10) else super().info()


def again():
    """An environment that resets itself, inside and outside of a limit."""
    return Autoreset(TimeLimit(Autoreset(Base()), 8))


class Odd(Base):
    """A space that is refused."""

    def __init__(self, space):
        text = spaces.Text(5)
        self.observation_space = {
            "Text": text, "Sequence": spaces.Sequence(spaces.Discrete(2)), "OneOf": spaces.OneOf([spaces.Discrete(2)]),
            "Graph": spaces.Graph(spaces.Discrete(2), None), "nested": spaces.Dict({"a": spaces.Tuple([text])}),
        }[space]

    def obs(self):
        return None


class Locked(Base):
    """Cannot be pickled."""

    def __init__(self):
        self.lock = threading.Lock()


class Own(Locked):
    """Cannot be pickled either, but saves itself."""

    def get_state(self):
        return self.t, self.end

    def set_state(self, state):
        self.t, self.end = state


class Forgetful(Base):
    """Pickles, but has state that is not its own."""

    total = 0

    def obs(self):
        Forgetful.total += 1
        return np.array([Forgetful.total % 1000, 0.0])


class Faulty(Base):
    """The second of a process fails, in a way that is asked for, at a step."""

    made = 0

    def __init__(self, how, at=3, once=""):
        self.how, self.at, self.once, self.steps = how, at, once, 0
        Faulty.made += 1
        self.bad = Faulty.made == 2

    def due(self):
        self.steps += 1
        if not self.bad or self.steps < self.at:
            return False
        if not self.once:
            return True
        try:
            os.close(os.open(self.once, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        if self.due():
            if self.how == "raise":
                raise RuntimeError("out of cheese")
            if self.how == "die":
                print("goodbye")
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "exit":
                raise SystemExit(3)
            if self.how == "hang":
                time.sleep(1000)
            obs = {
                "shape": np.zeros(3), "scalar": np.float64(1), "nan": np.array([np.nan, 1]), "text": np.array(["a", "b"]),
                "range": np.array([0, -5.0]), "none": None,
            }.get(self.how, obs)
            reward = {"reward": np.inf, "words": "much"}.get(self.how, reward)
        return obs, reward, terminated, truncated, info


class Double(gymnasium.RewardWrapper):
    """A wrapper with an argument."""

    def __init__(self, env, by=2):
        super().__init__(env)
        self.by = by

    def reward(self, reward):
        return self.by * reward


def register():
    """Registers a namespace, which the entry point in weft_land-1.0.dist-info offers."""
    gymnasium.register("WeftLand/Base-v0", entry_point=Base)
