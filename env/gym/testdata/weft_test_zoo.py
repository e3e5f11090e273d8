"""Environments with several agents that the bridge's tests need: weft_test_zoo, weft_test_zoo:Rounds."""
import threading

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv


class Herd(ParallelEnv):
    """Sheep that leave and come back, the last one late, and a dog that sees and does other things.

    A sheep that takes the highest action is out of play for two steps. The dog may
    only do what the time allows. Whatever the environment is not owed is an error.
    """

    metadata = {"name": "herd"}
    possible_agents = ["sheep_0", "sheep_1", "sheep_2", "dog_0"]

    def __init__(self, limit=12, locked=False, fail=""):
        self.limit, self.fail, self.steps = limit, fail, 0
        if locked:
            self.lock = threading.Lock()
        self.agents = []

    def observation_space(self, agent):
        if agent == "dog_0":
            return spaces.Dict({"observation": spaces.Discrete(16), "action_mask": spaces.Box(0, 1, (4,), np.int8)})
        return spaces.Box(1, 30, (2,), np.float64)

    def action_space(self, agent):
        return spaces.Discrete(4) if agent == "dog_0" else spaces.Discrete(3, start=1)

    def mask(self):
        m = np.zeros(4, np.int8)
        m[[self.t % 4, (self.t + 1) % 4]] = 1
        return m

    def obs(self, agents):
        all = {a: np.array([1 + self.t, self.end], np.float64) for a in agents}
        all["dog_0"] = {"observation": self.t, "action_mask": self.mask()}
        return all

    def state(self):
        return np.array([[self.t, self.end], [len(self.agents), 0]])

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.random = np.random.default_rng(seed)
        self.t, self.end, self.back = 0, int(self.random.integers(6, 16)), {"sheep_2": 2}
        self.agents = [a for a in self.possible_agents if a not in self.back]
        return self.obs(self.agents), {a: {} for a in self.agents}

    def step(self, actions):
        assert set(actions) == set(self.agents), (actions, self.agents)
        assert all(x in self.action_space(a) for a, x in actions.items()), actions
        assert self.mask()[actions["dog_0"]], "the dog did what is forbidden"
        self.t += 1
        self.steps += 1
        if self.fail == "raise" and self.steps == 3:
            raise RuntimeError("the wolf is here")
        strays = [a for a, x in actions.items() if a != "dog_0" and x == 3]
        rewards = {a: float(x) for a, x in actions.items()}
        over, cut = self.t == self.end, self.t == self.limit
        terminations = {a: over or a in strays for a in actions}
        truncations = {a: cut and a not in strays for a in actions}
        self.back |= {a: self.t + 2 for a in strays}
        self.agents = [] if over or cut else [a for a in self.possible_agents if self.back.get(a, 0) <= self.t]
        if self.fail == "stranger" and self.steps == 3:
            self.agents.append("wolf_0")
        return self.obs(set(actions) | set(self.agents)), rewards, terminations, truncations, {}


parallel_env = Herd


class Rounds(AECEnv):
    """Players guess in turn; who guesses wrong is out, and the last one wins. What is legal is in info."""

    metadata = {"name": "rounds", "is_parallelizable": False}
    possible_agents = ["player_0", "player_1", "player_2"]

    def observation_space(self, agent):
        return spaces.Box(0, 40, (2,), np.float32)

    def action_space(self, agent):
        return spaces.Discrete(4)

    def observe(self, agent):
        return np.array([self.t, self.bad], np.float32) if agent == self.agent_selection else None

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.random = np.random.default_rng(seed)
        self.agents, self.t = self.possible_agents[:], 0
        self.rewards, self._cumulative_rewards = dict.fromkeys(self.agents, 0), dict.fromkeys(self.agents, 0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.pose("player_0")

    def pose(self, agent):
        self.agent_selection, self.bad = agent, int(self.random.integers(4))
        legal = np.array([1, 1, 1, 0], np.int8)
        self.infos = {a: {"action_mask": legal if a == agent else np.zeros(4, np.int8)} for a in self.agents}

    def guess(self, action):
        assert action in (0, 1, 2), action

    def step(self, action):
        me = self.agent_selection
        if self.terminations[me] or self.truncations[me]:
            self._was_dead_step(action)
            return
        self.guess(action)
        self.t += 1
        self._cumulative_rewards[me] = 0
        self._clear_rewards()
        order = self.agents[self.agents.index(me) + 1 :] + self.agents[: self.agents.index(me)]
        if action == self.bad:
            self.terminations[me], self.rewards[me] = True, -1
            if len(order) == 1:
                self.terminations[order[0]], self.rewards[order[0]] = True, 1
        if self.t == 15:
            self.truncations = {a: not self.terminations[a] for a in self.agents}
        self.pose(order[0])
        self._accumulate_rewards()
        self._deads_step_first()


class Free(Rounds):
    """Rounds without masks."""

    def pose(self, agent):
        super().pose(agent)
        self.infos = {a: {} for a in self.agents}

    def guess(self, action):
        assert action in (0, 1, 2, 3), action
