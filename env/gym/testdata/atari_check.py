"""Compares the bridge's preprocessing with Gymnasium's wrappers, frame by frame.

Called with the folder of the bridge's modules; prints how many frames were equal.
"""
import importlib.util, sys

import ale_py, gymnasium
import numpy as np
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

spec = importlib.util.spec_from_file_location("weft_atari", sys.argv[1] + "/atari.py")
atari = importlib.util.module_from_spec(spec)
spec.loader.exec_module(atari)
gymnasium.register_envs(ale_py)

equal = 0
for game, grey in (("Breakout", True), ("Pong", True), ("Seaquest", False)):
    make = lambda: gymnasium.make(f"ALE/{game}-v5", frameskip=1, repeat_action_probability=0.0, disable_env_checker=True)
    theirs = FrameStackObservation(AtariPreprocessing(make(), noop_max=30, frame_skip=4, grayscale_obs=grey), 4)
    ours = atari.Atari(make(), 4, grey, 84, 4, episodic_life=False, clip_reward=False, noop_max=30, fire_reset=False)

    def same(a, b, what):
        global equal
        # Theirs is [image, ...], ours has the images as channels.
        a = np.moveaxis(a, 0, -1) if grey else np.concatenate(list(a), -1)
        assert a.shape == b.shape and (a == b).all(), f"{game}: {what}: {np.abs(a.astype(int) - b).max()}"
        equal += 1

    a, b = theirs.reset(seed=7)[0], ours.reset(seed=7)[0]
    same(a, b, "reset")
    actions = np.random.default_rng(3)
    ends = 0
    for t in range(400 if grey else 60):
        action = actions.integers(ours.action_space.n)
        (a, r, te, tr, _), (b, q, ue, ur, _) = theirs.step(action), ours.step(action)
        assert (r, te, tr) == (q, ue, ur), (game, t)
        same(a, b, f"step {t}")
        if te or tr:
            ends += 1
            same(theirs.reset()[0], ours.reset()[0], f"reset after step {t}")
    assert ends or not grey or game == "Pong", game

# Lives: an episode ends with each, the game goes on; rewards are signs.
env = atari.Atari(gymnasium.make("ALE/Breakout-v5", frameskip=1, repeat_action_probability=0.0), 4, True, 84, 4, True, True, 30, True)
env.reset(seed=1)
lives, rewards = [5], set()
while lives[-1] > 0:
    obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
    rewards.add(reward)
    assert terminated == (info["lives"] < lives[-1]), (info, lives)
    if terminated:
        lives.append(info["lives"])
        if info["lives"]:
            assert env.reset()[1]["lives"] == info["lives"]
assert lives == [5, 4, 3, 2, 1, 0] and rewards <= {0.0, 1.0}, (lives, rewards)
assert env.reset()[1]["lives"] == 5
print(equal, "frames equal")
