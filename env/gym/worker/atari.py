"""The usual preprocessing of Atari games, frame by frame as Gymnasium's wrappers do it."""
import gymnasium
import numpy as np


class Atari(gymnasium.Wrapper):
    """Frame skip with a maximum, grey, resize, stack, lives, clipping, no-ops and fire.

    It works on the emulator itself: Gymnasium's own environment copies the screen
    for every frame, of which three in four are not looked at.
    """

    def __init__(self, env, frame_skip, grey, size, stack, episodic_life, clip_reward, noop_max, fire_reset):
        super().__init__(env)
        inner = env.unwrapped
        self.ale, self.moves = inner.ale, inner._action_set
        self.skip, self.grey, self.stack = frame_skip, grey, stack
        self.episodic_life, self.clip, self.noop_max = episodic_life, clip_reward, noop_max
        meanings = inner.get_action_meanings()
        self.fire = fire_reset and len(meanings) >= 3 and meanings[1] == "FIRE"
        height, width = self.ale.getScreenDims()
        channels = () if grey else (3,)
        self.screens = [np.zeros((height, width) + channels, np.uint8) for _ in range(2)]
        self.resize = Areas(height, width, size)
        self.frames = np.zeros((size, size, stack * (1 if grey else 3)), np.uint8)
        self.lives, self.ended = 0, True
        self.observation_space = gymnasium.spaces.Box(0, 255, self.frames.shape, np.uint8)

    def screen(self, i):
        (self.ale.getScreenGrayscale if self.grey else self.ale.getScreenRGB)(self.screens[i])

    def look(self):
        """The image of now: the maximum of the last two frames, made small."""
        if self.skip > 1:
            np.maximum(self.screens[0], self.screens[1], out=self.screens[0])
        image = self.resize(self.screens[0])
        return image[..., None] if self.grey else image

    def push(self, image):
        n = image.shape[-1]
        self.frames[..., :-n] = self.frames[..., n:]
        self.frames[..., -n:] = image

    def act(self, action):
        """One action over its frames."""
        reward, move, last = 0.0, self.moves[action], self.skip - 1
        for t in range(self.skip):
            reward += self.ale.act(move)
            terminated, truncated = self.ale.game_over(with_truncation=False), self.ale.game_truncated()
            if terminated or truncated:
                break
            if t == last - 1:
                self.screen(1)
            elif t == last:
                self.screen(0)
        self.push(self.look())
        return reward, terminated, truncated

    def step(self, action):
        reward, terminated, truncated = self.act(action)
        self.ended = terminated or truncated
        lives = self.ale.lives()
        if self.episodic_life and 0 < lives < self.lives:
            terminated = True
        self.lives = lives
        if self.clip:
            reward = float(np.sign(reward))
        return self.frames.copy(), reward, terminated, truncated, {"lives": lives}

    def reset(self, *, seed=None, options=None):
        if self.ended or seed is not None:
            self.begin(seed, options)
            if self.fire and not self.press(1):
                self.begin(None, options)
            if self.fire and not self.press(2):
                self.begin(None, options)
        elif not self.press(0):  # a life is lost, the game goes on
            self.begin(None, options)
        self.lives = self.ale.lives()
        return self.frames.copy(), {"lives": self.lives}

    def press(self, action):
        """Whether the game is still on after an action."""
        _, terminated, truncated = self.act(action)
        return not (terminated or truncated)

    def begin(self, seed, options):
        """A new game, after some frames without an action."""
        self.env.reset(seed=seed, options=options)
        noops = self.unwrapped.np_random.integers(1, self.noop_max + 1) if self.noop_max else 0
        for _ in range(noops):
            self.ale.act(self.moves[0])
            if self.ale.game_over(with_truncation=False) or self.ale.game_truncated():
                self.env.reset(seed=seed, options=options)
        self.screen(0)
        self.screens[1].fill(0)
        self.ended = False
        image = self.look()
        for _ in range(self.stack):
            self.push(image)


class Areas:
    """Resizing by areas, in the arithmetic of OpenCV's INTER_AREA: float32, a row after another."""

    def __init__(self, height, width, size):
        self.x, self.y = weights(width, size), weights(height, size)

    def __call__(self, image):
        across = total((np.take(image, at, 1), part.reshape((1, -1) + (1,) * (image.ndim - 2))) for at, part in self.x)
        down = total((np.take(across, at, 0), part.reshape((-1,) + (1,) * (image.ndim - 1))) for at, part in self.y)
        return np.rint(down).astype(np.uint8)


def total(terms):
    out = None
    for values, part in terms:
        term = values * part
        out = term if out is None else np.add(out, term, out=out)
    return out


def weights(source, size):
    """For each of size cells, which source pixels it covers, and how much of it they are."""
    scale, cells = source / size, []
    for i in range(size):
        begin = i * scale
        end = begin + scale
        width = min(scale, source - begin)
        last = min(int(np.floor(end)), source - 1)
        first = min(int(np.ceil(begin)), last)
        cell = []
        if first - begin > 1e-3:
            cell.append((first - 1, (first - begin) / width))
        cell += [(x, 1 / width) for x in range(first, last)]
        if end - last > 1e-3:
            cell.append((last, min(min(end - last, 1.0), width) / width))
        cells.append(cell)
    most = max(map(len, cells))
    padded = [cell + [(cell[-1][0], 0.0)] * (most - len(cell)) for cell in cells]
    return [(np.array([c[k][0] for c in padded]), np.array([c[k][1] for c in padded], np.float32)) for k in range(most)]
