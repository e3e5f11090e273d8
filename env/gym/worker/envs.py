"""The environments of one worker: what adapters of every interface have in common."""
import weft_state
from weft_failure import Plain


class Envs:
    """Environments that are made, begun, saved and closed one by one.

    An adapter gives make(ask), the function that makes one; spaces(env), what all
    of them must share; and show(i, obs, info), which writes what environment i shows.
    """

    at = None  # the environment that is at work
    steps = 0  # of each environment

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

    def close(self):
        for env in self.envs:
            try:
                env.close()
            except Exception:
                pass  # nobody can be told any more
