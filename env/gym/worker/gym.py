"""Gymnasium's environments, several to a worker."""
import importlib, importlib.metadata, sys

import gymnasium
import weft_envs
import weft_spaces
import weft_state
from weft_failure import Plain, installed, making, wrapper


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
        env = wrapper(w["name"], "gymnasium.wrappers")(env, **w["args"])
    return strip(env)


def construct(name, args):
    module, _, attribute = name.rpartition(":")
    try:
        with making(module, extra(name)):
            if module:
                found = getattr(importlib.import_module(module), attribute, None)
                if callable(found):
                    return found(**args)
            elif name.startswith("ALE/"):
                gymnasium.register_envs(installed("ale-py", "ale_py"))
            elif "/" in name:
                register(name.partition("/")[0])
            return gymnasium.make(name, disable_env_checker=True, **args)
    except gymnasium.error.DependencyNotInstalled as e:
        raise Plain(f"{e} (with {sys.executable} -m pip)") from None
    except gymnasium.error.Error as e:
        raise Plain(f"gymnasium.make: {e}") from None


def register(namespace):
    """Lets an installed package register the environments of its namespace, by the entry point that it has for that."""
    if not any(i.startswith(namespace + "/") for i in gymnasium.registry):
        for offer in importlib.metadata.entry_points(group="gymnasium.envs", name=namespace):
            offer.load()()


def extra(name):
    """The extra of Gymnasium's own package that an environment of its own needs."""
    spec = gymnasium.registry.get(name)
    parts = str(spec.entry_point).split(".") if spec else []
    return f'"gymnasium[{parts[2]}]"' if parts[:2] == ["gymnasium", "envs"] and parts[2:] else ""


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


class Gym(weft_envs.Envs):
    """The environments of one worker."""

    make = staticmethod(make)

    def __init__(self, ask):
        super().__init__(ask)
        a = self.envs[0]
        self.masked = any("action_mask" in info for _, info in self.first)
        self.obs, self.final = (weft_spaces.Values(a.observation_space, "observation", f"0/{p}/x/") for p in ("obs", "final"))
        self.actions = weft_spaces.Values(a.action_space, "action", "0/action/")
        self.mask, self.final_mask = (weft_spaces.Masks(a.action_space, f"0/{p}/legal/") for p in ("obs", "final"))

    def spaces(self, env):
        return env.observation_space, env.action_space

    def describe(self):
        exact, why, cost = weft_state.probe(self.ask, make, play) if self.ask["probe"] else (False, "", 0.0)
        return {
            "kinds": [{
                "name": "", "agents": ["agent"], "masked": self.masked,
                "obs": self.obs.describe(), "action": self.actions.describe(),
            }],
            "limit": limit(self.envs[0]), "exact": exact, "why": why, "cost": cost, "rate": self.rate(),
        }

    def attach(self, arrays):
        for values in (self.obs, self.final, self.actions):
            values.attach(arrays)
        if self.masked:
            self.mask.attach(arrays), self.final_mask.attach(arrays)
        self.reward = memoryview(arrays["0/reward"])
        self.terminated, self.truncated, self.over = (
            memoryview(arrays[x].view("uint8")) for x in ("0/terminated", "0/truncated", "over")
        )
        self.none = bytes(len(self.envs))
        self.show_first()

    def limit(self, n):
        """Cuts episodes off after n steps; a wrapper, so that it is saved with its environment."""
        for i, env in enumerate(self.envs):
            self.envs[i] = gymnasium.wrappers.TimeLimit(env, n)
            self.envs[i]._elapsed_steps = 0  # its episode has begun

    def show(self, i, obs, info):
        self.obs.put(i, obs)
        if self.masked:
            self.mask.put(i, info)

    def step(self):
        self.steps += 1
        actions, reward, put, masked, film = self.actions.actions(), self.reward, self.obs.put, self.masked, self.film
        self.terminated[:] = self.truncated[:] = self.over[:] = self.none
        for i, env in enumerate(self.envs):
            self.at = i
            obs, reward[i], terminated, truncated, info = env.step(actions[i])
            if i == film:
                self.shoot()
            if terminated or truncated:
                obs, info = self.end(i, env, obs, terminated, truncated, info)
            put(i, obs)
            if masked:
                self.mask.put(i, info)
        self.at = None

    def end(self, i, env, obs, terminated, truncated, info):
        """Ends an episode and begins the next one."""
        self.terminated[i], self.truncated[i], self.over[i] = bool(terminated), bool(truncated), True
        self.final.put(i, obs)
        if self.masked:
            self.final_mask.put_last(i, info)
        return env.reset()


def play(env, steps, seed, seen):
    """What an environment shows in some steps of random actions, and what the last of them showed."""
    out, info = [], seen[1]
    env.action_space.seed(seed)
    for _ in range(steps):
        obs, reward, terminated, truncated, info = env.step(weft_state.draw(env.action_space, info.get("action_mask")))
        out.append((weft_state.flat(obs), float(reward), bool(terminated), bool(truncated)))
        if terminated or truncated:
            obs, info = env.reset()
            out.append(weft_state.flat(obs))
    return out, (obs, info)
