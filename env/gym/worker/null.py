"""An environment that does nothing, for what the bridge itself costs: weft_null:Null."""
import gymnasium
import numpy as np
from gymnasium import spaces


class Null(gymnasium.Env):
    observation_space = spaces.Box(-1, 1, (4,), np.float32)
    action_space = spaces.Discrete(2)
    here, none = np.zeros(4, np.float32), {}

    def reset(self, *, seed=None, options=None):
        return self.here, self.none

    def step(self, action):
        return self.here, 0.0, False, False, self.none
