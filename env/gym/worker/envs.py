"""The environments of one worker: what adapters of every interface have in common."""
import numpy as np
import weft_state
from weft_failure import Plain


class Envs:
    """Environments that are made, begun, saved and closed one by one.

    An adapter gives make(ask), the function that makes one; spaces(env), what all
    of them must share; and show(i, obs, info), which writes what environment i shows.
    """

    at = None  # the environment that is at work
    steps = 0  # of each environment
    film = -1  # the environment that is drawn at every step
    picture = None

    def __init__(self, ask):
        self.ask, self.envs, self.first = ask, [], []
        for i, seed in enumerate(ask["seeds"]):
            self.at = i
            self.envs.append(self.make(ask))
            self.first.append(self.envs[i].reset(seed=seed))
        self.at = None
        alike = self.spaces(self.envs[0])
        for i, env in enumerate(self.envs):
            if self.spaces(env) != alike:
                raise Plain(f"environment {i} of this worker has other spaces than environment 0")

    def shoot(self):
        """Draws the environment that is at work."""
        x = np.asarray(self.envs[self.at].render())
        if x.ndim != 3 or x.shape[2] != 3 or x.dtype != np.uint8:
            raise Plain(f"render() returns {list(x.shape)} of {x.dtype}, and no picture of height, width and three bytes of colour")
        self.picture = x

    def turn(self, i):
        """Points the camera."""
        self.film = i
        if i >= 0:
            self.at = i
            self.shoot()
            self.at = None

    def show_first(self):
        for i, (obs, info) in enumerate(self.first):
            self.at = i
            self.show(i, obs, info)
        self.at, self.first = None, None

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

    def rate(self):
        """The pictures a second of an environment that draws; 0 if it does not."""
        env = self.envs[0]
        modes = [getattr(x, "render_mode", None) for x in (env, getattr(env, "unwrapped", env))]
        return float((env.metadata or {}).get("render_fps") or 30) if "rgb_array" in modes else 0.0

    def close(self):
        for env in self.envs:
            try:
                env.close()
            except Exception:
                pass  # nobody can be told any more
