"""An environment of which a step takes a millisecond, as of one that a program has to wait for."""
import time

import gymnasium
import numpy as np


class Slow(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(4, np.float32), {}

    def step(self, action):
        time.sleep(1e-3)
        self.steps += 1
        return np.full(4, action, np.float32), float(action), False, self.steps >= 200, {}
