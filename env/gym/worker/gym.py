"""Gymnasium's environments, several to a worker."""
import importlib, sys

import gymnasium
import weft_spaces
import weft_state
from weft_failure import Plain, installed


def make(ask):
    """The environment that is asked for, with its wrappers."""
    env = construct(ask["id"], ask["args"])
    if isinstance(env, gymnasium.vector.VectorEnv):
        raise Plain(f"{ask['id']} makes a {type(env).__name__}, which is many environments: name a single one")
    if not isinstance(env, gymnasium.Env):
        raise Plain(f"{ask['id']} makes a {type(env).__name__}, which is no gymnasium.Env")
    if ask.get("atari"):
        import weft_atari

        env = weft_atari.Atari(env, **ask["atari"])
    for w in ask["wrappers"]:
        env = wrapper(w["name"])(env, **w["args"])
    return strip(env)


def construct(name, args):
    module, _, attribute = name.rpartition(":")
    try:
        if module:
            found = getattr(importlib.import_module(module), attribute, None)
            if callable(found):
                return found(**args)
        elif name.startswith("ALE/"):
            gymnasium.register_envs(installed("ale-py", "ale_py"))
        return gymnasium.make(name, disable_env_checker=True, **args)
    except ModuleNotFoundError as e:
        if e.name and e.name.split(".")[0] == module.split(".")[0] and module:
            raise Plain(f"Python has no module {e.name!r}: it must lie in this folder, on PYTHONPATH, or be installed") from None
        raise Plain(f"Python's package {e.name} is missing: run {sys.executable} -m pip install {extra(name) or e.name}") from None
    except gymnasium.error.DependencyNotInstalled as e:
        raise Plain(f"{e} (with {sys.executable} -m pip)") from None
    except gymnasium.error.Error as e:
        raise Plain(f"gymnasium.make: {e}") from None
    except TypeError as e:
        if "keyword argument" not in str(e):
            raise
        raise Plain(f"{str(e).split(' was raised from')[0]}: settings after ? that are none of the bridge's go to the constructor") from None


def extra(name):
    """The extra of Gymnasium's own package that an environment of its own needs."""
    spec = gymnasium.registry.get(name)
    parts = str(spec.entry_point).split(".") if spec else []
    return f'"gymnasium[{parts[2]}]"' if parts[:2] == ["gymnasium", "envs"] and parts[2:] else ""


def wrapper(name):
    module, _, attribute = name.rpartition(":")
    try:
        found = getattr(importlib.import_module(module or "gymnasium.wrappers"), attribute, None)
    except ModuleNotFoundError as e:
        raise Plain(f"wrapper {name}: Python has no module {e.name!r}") from None
    if found is None:
        raise Plain(f"{module or 'gymnasium.wrappers'} has no wrapper {attribute!r}")
    return found


def layers(env):
    """The wrappers around an environment, outermost first, and itself."""
    while True:
        yield env
        if not isinstance(env, gymnasium.Wrapper):
            return
        env = env.env


def strip(env):
    """Takes out wrappers that reset of themselves: episodes are the worker's to end."""
    resets = ("Autoreset", "AutoResetWrapper", "AutoReset")
    while type(env).__name__ in resets:
        env = env.env
    for layer in layers(env):
        while isinstance(layer, gymnasium.Wrapper) and type(layer.env).__name__ in resets:
            layer.env = layer.env.env
    return env


def limit(env):
    """The steps after which an episode is cut off, 0 if none are known."""
    all = [w._max_episode_steps for w in layers(env) if isinstance(w, gymnasium.wrappers.TimeLimit)]
    return min(all, default=0)


class Gym:
    """The environments of one worker."""

    at = None  # the environment that is at work
    steps = 0  # of each environment

    def __init__(self, ask):
        self.ask, self.envs, self.first = ask, [], []
        for i, seed in enumerate(ask["seeds"]):
            self.at = i
            self.envs.append(make(ask))
            self.first.append(self.envs[i].reset(seed=seed))
        self.at = None
        a = self.envs[0]
        for i, b in enumerate(self.envs):
            if b.observation_space != a.observation_space or b.action_space != a.action_space:
                raise Plain(f"environment {i} of this worker has other spaces than environment 0")
        self.masked = any("action_mask" in info for _, info in self.first)
        self.obs, self.final = (weft_spaces.Values(a.observation_space, "observation", p) for p in ("obs/", "final/"))
        self.actions = weft_spaces.Values(a.action_space, "action", "action/")
        self.mask, self.final_mask = (weft_spaces.Masks(a.action_space, p) for p in ("mask/", "final_mask/"))

    def describe(self):
        exact, why = weft_state.probe(self.ask, make) if self.ask["probe"] else (False, "")
        return {
            "kinds": [{
                "name": "", "agents": 1, "masked": self.masked,
                "obs": self.obs.describe(), "action": self.actions.describe(),
            }],
            "limit": limit(self.envs[0]), "exact": exact, "why": why,
        }

    def attach(self, arrays):
        for values in (self.obs, self.final, self.actions):
            values.attach(arrays)
        if self.masked:
            self.mask.attach(arrays), self.final_mask.attach(arrays)
        self.reward = memoryview(arrays["reward"])
        self.terminated, self.truncated = (memoryview(arrays[x].view("uint8")) for x in ("terminated", "truncated"))
        self.none = bytes(len(self.envs))
        for i, (obs, info) in enumerate(self.first):
            self.at = i
            self.show(i, obs, info)
        self.at, self.first = None, None

    def show(self, i, obs, info):
        self.obs.put(i, obs)
        if self.masked:
            self.mask.put(i, info)

    def step(self):
        self.steps += 1
        actions, reward, put, masked = self.actions.actions(), self.reward, self.obs.put, self.masked
        self.terminated[:] = self.truncated[:] = self.none
        for i, env in enumerate(self.envs):
            self.at = i
            obs, reward[i], terminated, truncated, info = env.step(actions[i])
            if terminated or truncated:
                obs, info = self.end(i, env, obs, terminated, truncated, info)
            put(i, obs)
            if masked:
                self.mask.put(i, info)
        self.at = None

    def end(self, i, env, obs, terminated, truncated, info):
        """Ends an episode and begins the next one."""
        self.terminated[i], self.truncated[i] = bool(terminated), bool(truncated)
        self.final.put(i, obs)
        if self.masked:
            self.final_mask.put_last(i, info)
        return env.reset()

    def reset(self, seeds):
        """Begins new episodes, wherever the old ones are."""
        for self.at, seed in enumerate(seeds):
            self.show(self.at, *self.envs[self.at].reset(seed=seed))
        self.at = None

    def save(self):
        out = []
        for self.at, env in enumerate(self.envs):
            out.append(weft_state.save(env))
        self.at = None
        return out

    def load(self, parts):
        for self.at, data in enumerate(parts):
            self.envs[self.at] = weft_state.load(self.envs[self.at], data)
        self.at = None

    def close(self):
        for env in self.envs:
            try:
                env.close()
            except Exception:
                pass  # nobody can be told any more
