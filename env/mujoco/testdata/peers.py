"""Steps per second of EnvPool and Gymnasium, as BenchmarkStep measures ours:
python peers.py, 64 environments, 2 threads, the best of several rounds."""

import time

import gymnasium
import numpy as np

ENVS, THREADS, ROUNDS = 64, 2, 5


def best(step, batch, count):
    top = 0.0
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for i in range(count):
            step(i)
        top = max(top, batch * count / (time.perf_counter() - start))
    return round(top)


def envpool_rate(name):
    import envpool

    env = envpool.make(name, env_type="gymnasium", num_envs=ENVS, num_threads=THREADS)
    env.reset()
    space = env.action_space
    actions = np.random.default_rng(0).uniform(space.low, space.high, (16, ENVS, *space.shape))
    return best(lambda i: env.step(actions[i % 16]), ENVS, 60)


def gymnasium_rate(name):
    env = gymnasium.make(name)
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(16)]

    def step(i):
        _, _, terminated, truncated, _ = env.step(actions[i % 16])
        if terminated or truncated:
            env.reset()

    return best(step, 1, 2000)


for name in ("HalfCheetah-v5", "Ant-v5", "Humanoid-v5"):
    for kind, rate in (("envpool", envpool_rate), ("gymnasium", gymnasium_rate)):
        try:
            print(name, kind, rate(name), "steps/s")
        except ImportError as e:
            print(name, kind, "is not installed:", e)
