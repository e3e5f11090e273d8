"""PettingZoo's environments, several to a worker."""
import importlib, re

import numpy as np
import weft_envs
import weft_spaces
import weft_state
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.conversions import aec_to_parallel
from pettingzoo.utils.wrappers import BaseParallelWrapper
from weft_failure import Plain, making, wrapper

weft_state.ENVIRONMENTS += [AECEnv, ParallelEnv]


def make(ask):
    """The environment that is asked for, with its wrappers, as one in which all agents act at once or one by turns."""
    env = construct(ask["id"], ask["args"])
    for w in ask["wrappers"]:
        env = wrapper(w["name"], "pettingzoo.utils.wrappers")(env, **w["args"])
    if isinstance(env, AECEnv):
        env = aec_to_parallel(env) if env.metadata.get("is_parallelizable") else Turns(env)
    if not isinstance(env, ParallelEnv):
        raise Plain(f"{ask['id']} makes a {type(env).__name__}, which is no ParallelEnv and no AECEnv of PettingZoo")
    if not getattr(env, "possible_agents", None):
        raise Plain(f"{ask['id']} has no possible_agents: which agents there may be must be known beforehand")
    return env


def construct(name, args):
    module, _, attribute = name.partition(":")
    with making(module, '"pettingzoo[' + module.split(".")[1] + ']"' if module.startswith("pettingzoo.") else ""):
        home = importlib.import_module(module)
        for known in [attribute] if attribute else ["parallel_env", "env"]:
            found = getattr(home, known, None)
            if callable(found):
                return found(**args)
    raise Plain(f"Python's module {module} has no {attribute or 'parallel_env and no env'}: name the module of an environment, or module:Class")


class Turns(ParallelEnv):
    """An environment whose agents act one after another, of which a step is one agent's."""

    turn = None  # whose it is

    def __init__(self, env):
        self.env, self.metadata = env, env.metadata
        self.possible_agents = list(env.possible_agents)
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.state, self.close, self.render = env.state, env.close, env.render
        self.render_mode = getattr(env.unwrapped, "render_mode", None)

    @property
    def agents(self):
        return self.env.agents

    def reset(self, seed=None, options=None):
        self.env.reset(seed=seed, options=options)
        self.bury()
        return self.look(), dict(self.env.infos)

    def step(self, actions):
        env = self.env
        env.step(actions[self.turn])
        rewards, terminations, truncations, infos = map(dict, (env.rewards, env.terminations, env.truncations, env.infos))
        obs = self.look()  # of those who leave
        self.bury()
        return obs | self.look(), rewards, terminations, truncations, infos

    def look(self):
        return {a: self.env.observe(a) for a in self.env.agents}

    def bury(self):
        """Has those who are done take their last step, which PettingZoo asks of them, and finds who is next."""
        env = self.env
        self.turn = env.agent_selection if not env.terminations[env.agent_selection] else None
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            env.step(None)
        if env.agents:
            self.turn = env.agent_selection


def in_play(env, terminations=(), truncations=()):
    """The agents that are in play after a step; some environments forget to take out those that are done."""
    return {a for a in env.agents if not (a in terminations and terminations[a]) and not (a in truncations and truncations[a])}


class Limit(BaseParallelWrapper):
    """Cuts episodes off after n steps; a wrapper, so that its count is saved with its environment."""

    def __init__(self, env, n):
        super().__init__(env)
        self.n, self.age = n, 0

    def reset(self, seed=None, options=None):
        self.age = 0
        return self.env.reset(seed=seed, options=options)

    def step(self, actions):
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        self.age += 1
        if self.age >= self.n:
            # Who is out of play, or ends in this very step, is not cut off.
            truncations = {**truncations, **dict.fromkeys(in_play(self.env, terminations, truncations), True)}
        return obs, rewards, terminations, truncations, infos


def turns(env):
    """The environment, if its agents act one after another."""
    env = env.env if isinstance(env, Limit) else env
    return env if isinstance(env, Turns) else None


def movers(env):
    """The agents whose actions count, in the environment's order."""
    return [turns(env).turn] if turns(env) else list(env.agents)


def mask_of(obs, info):
    """An agent's mask of legal actions, of either place where there may be one."""
    if isinstance(obs, dict) and "action_mask" in obs:
        return obs["action_mask"]
    return info.get("action_mask") if info else None


def without_mask(space):
    """What an agent sees beside its mask, and the key of it if that is all there is."""
    if not isinstance(space, spaces.Dict) or "action_mask" not in space.spaces:
        return space, None
    rest = {key: sub for key, sub in space.spaces.items() if key != "action_mask"}
    if list(rest) == ["observation"]:
        return rest["observation"], "observation"
    return spaces.Dict(rest), None


def kinds_of(env, by):
    """The agents by kind: equal spaces and, if asked for, names that differ in their number; and the kinds' names."""
    found = []  # of (prefix, spaces, agents)
    for a in env.possible_agents:
        prefix = re.sub(r"[_ -]?\d+$", "", str(a)) or "agent"
        same = env.observation_space(a), env.action_space(a)
        for p, s, agents in found:
            if s == same and (by == "spaces" or p == prefix):
                agents.append(a)
                break
        else:
            found.append((prefix, same, [a]))
    prefixes = [p for p, _, _ in found]
    names = [p if prefixes.count(p) == 1 else str(agents[0]) for p, _, agents in found]
    return [("" if len(found) == 1 else name, agents) for name, (_, _, agents) in zip(names, found)]


class Flat:
    """Arrays of a kind of agents with a row for every agent of every environment."""

    def __init__(self, arrays, kind):
        self.arrays, self.prefix, self.axis = arrays, f"{kind.index}/", len(kind.agents) > 1

    def __getitem__(self, name):
        x = self.arrays[name]
        return x.reshape((-1,) + x.shape[2:]) if self.axis else x

    def column(self, name):
        """An array of numbers or flags; None if there is none."""
        if self.prefix + name not in self.arrays.all:
            return None
        x = self[self.prefix + name]
        return memoryview(x.view("uint8") if x.dtype == bool else x)


class Sight:
    """What a kind of agents sees, at one of the two times: to be acted on, and before a reset."""

    def __init__(self, kind, when, seen, action):
        self.kind, self.when = kind, when
        self.obs = weft_spaces.Values(seen, "observation", f"{kind.index}/{when}/x/")
        self.mask = weft_spaces.Masks(action, f"{kind.index}/{when}/legal/")

    def attach(self, flat):
        self.obs.attach(flat)
        if self.kind.masked:
            self.mask.attach(flat)
        self.alive, self.turn = flat.column(f"{self.when}/alive"), flat.column(f"{self.when}/turn")

    def put(self, at, name, obs, info, alive, acts):
        """Writes what an agent sees; without an observation, a blank."""
        x = obs[self.kind.key] if self.kind.key and obs is not None else obs
        if x is None:
            self.obs.blank(at)
        else:
            self.obs.put(at, x)
        if self.kind.masked:
            if acts:
                self.mask.set(at, mask_of(obs, info))
            else:
                self.mask.bar(at)
        if self.alive is not None:
            self.alive[at] = alive
        if self.turn is not None:
            self.turn[at] = acts


class Kind:
    """Agents with the same spaces."""

    def __init__(self, index, name, agents, env, first):
        self.index, self.name, self.agents = index, name, agents
        seen, self.key = without_mask(env.observation_space(agents[0]))
        action = env.action_space(agents[0])
        self.actions = weft_spaces.Values(action, "action", f"{index}/action/")
        choices = any(leaf.choices for leaf in self.actions.leaves)
        given = any(mask_of(obs.get(a), infos.get(a)) is not None for obs, infos in first for a in agents)
        self.masked = choices and (given or isinstance(env, Turns))
        self.now, self.last = (Sight(self, when, seen, action) for when in ("obs", "final"))

    def describe(self):
        return {
            "name": self.name, "agents": [str(a) for a in self.agents], "masked": self.masked,
            "obs": self.now.obs.describe(), "action": self.actions.describe(),
        }

    def attach(self, arrays):
        flat = Flat(arrays, self)
        self.actions.attach(flat), self.now.attach(flat), self.last.attach(flat)
        self.reward, self.terminated, self.truncated = (flat.column(x) for x in ("reward", "terminated", "truncated"))


class Zoo(weft_envs.Envs):
    """The environments of one worker."""

    make = staticmethod(make)

    def __init__(self, ask):
        super().__init__(ask)
        env = self.envs[0]
        self.kinds = [Kind(k, *x, env, self.first) for k, x in enumerate(kinds_of(env, ask["zoo"]["kinds"]))]
        self.known = set(env.possible_agents)
        self.state_size = state_size(env) if ask["zoo"]["state"] else 0

    def spaces(self, env):
        return [(a, env.observation_space(a), env.action_space(a)) for a in env.possible_agents]

    def describe(self):
        lead, mortal = self.ask["lead"], self.ask["zoo"]["mortal"]
        exact, why, cost = weft_state.probe(self.ask, make, play) if self.ask["probe"] else (False, "", 0.0)
        gone = leavers(make(self.ask)) if lead and mortal == "auto" else set()
        return {
            "kinds": [k.describe() for k in self.kinds],
            "mortal": [mortal == "yes" or not gone.isdisjoint(k.agents) for k in self.kinds],
            "turns": isinstance(self.envs[0], Turns), "state": self.state_size, "exact": exact, "why": why, "cost": cost, "rate": self.rate(),
        }

    def attach(self, arrays):
        for kind in self.kinds:
            kind.attach(arrays)
        self.over = memoryview(arrays["over"].view("uint8"))
        if self.state_size:
            self.state, self.last_state = arrays["obs/state"], arrays["final/state"]
        self.show_first()

    def limit(self, n):
        self.envs = [Limit(env, n) for env in self.envs]

    def show(self, i, obs, infos):
        """Writes what agents see of environment i as it stands."""
        env = self.envs[i]
        live = in_play(env)
        if not live:
            raise Plain("no agent is in play after a reset")
        self.see(i, obs, infos, live, set(movers(env)), False)

    def see(self, i, obs, infos, live, acting, last):
        if not live <= self.known:
            raise Plain(f"agent {min(live - self.known, key=str)!r} is in play, and none of possible_agents")
        for kind in self.kinds:
            sight, n = kind.last if last else kind.now, len(kind.agents)
            for j, a in enumerate(kind.agents):
                if a in acting and obs.get(a) is None:
                    raise Plain(f"agent {a!r} is in play and has no observation")
                if not last and kind.now.alive is None and a not in live:
                    raise Plain(f"agent {a!r} is out of play and the others are not: say mortal=yes")
                sight.put(i * n + j, a, obs.get(a), infos.get(a), a in live, a in acting)
        if self.state_size:
            self.put_state(i, self.last_state if last else self.state)

    def put_state(self, i, rows):
        x = np.ravel(self.envs[i].state())
        if x.size != self.state_size:
            raise Plain(f"state() has {x.size} numbers, at first it had {self.state_size}")
        rows[i] = x

    def step(self):
        self.steps += 1
        columns = {a: (c, j, len(k.agents)) for k in self.kinds for c in [k.actions.actions()] for j, a in enumerate(k.agents)}
        for i, env in enumerate(self.envs):
            self.at = i
            actions = {}
            for a in movers(env):
                column, j, n = columns[a]
                actions[a] = column[i * n + j]
            self.move(i, env, actions)
        self.at = None

    def move(self, i, env, actions):
        before = set(env.agents)
        obs, rewards, terminations, truncations, infos = env.step(actions)
        if i == self.film:
            self.shoot()
        live = in_play(env, terminations, truncations)
        for kind in self.kinds:
            n = len(kind.agents)
            for j, a in enumerate(kind.agents):
                at, terminated, truncated = i * n + j, bool(terminations.get(a)), bool(truncations.get(a))
                # Who is out of play gets nothing, and stays terminated.
                kind.reward[at] = rewards.get(a, 0) if a in before else 0
                kind.terminated[at] = terminated or a not in live and not truncated
                kind.truncated[at] = truncated
        self.over[i] = not live
        if live:
            self.see(i, obs, infos, live, set(movers(env)), False)
            return
        # An agent that was cut off is still there to be valued, one that has just come as well.
        still = {a for a in before | set(env.agents) if not terminations.get(a)}
        acting = still & {turns(env).turn} if turns(env) else still
        self.see(i, obs, infos, still, acting & obs.keys(), True)
        self.show(i, *env.reset())


def state_size(env):
    """How many numbers the global state has, 0 where there is none."""
    try:
        return np.size(env.state())
    except (NotImplementedError, AttributeError, TypeError):  # some have an attribute of that name
        return 0


def played(env, steps, seed, seen):
    """Steps of random actions: what was seen, who was in play, and what the step returned."""
    obs, infos = seen
    choices = {a: env.action_space(a) for a in env.possible_agents}
    for i, space in enumerate(choices.values()):
        space.seed(seed + i)
    for _ in range(steps):
        actions = {a: weft_state.draw(choices[a], mask_of(obs.get(a), infos.get(a))) for a in movers(env)}
        obs, rewards, terminations, truncations, infos = env.step(actions)
        live = in_play(env, terminations, truncations)
        result = [weft_state.flat(dict(x)) for x in (obs, rewards, terminations, truncations)]
        if not live:
            obs, infos = env.reset()
            result.append(weft_state.flat(obs))
        yield obs, infos, live, result


def play(env, steps, seed, seen):
    """What an environment shows in some steps, and what the last of them showed."""
    out = []
    for obs, infos, _, result in played(env, steps, seed, seen):
        out.append(result)
        seen = obs, infos
    return out, seen


def leavers(env):
    """Agents that are out of play while others are in it, in some episodes of random actions.

    The seed is fixed: what a run does must not depend on which of its workers asks.
    """
    known, seen = set(env.possible_agents), env.reset(seed=1)
    gone = known - in_play(env)
    for _, _, live, _ in played(env, 200, 1, seen):
        gone |= known - (live or in_play(env))
    return gone
