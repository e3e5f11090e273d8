"""d3rlpy on a data set of weft's: trains an algorithm, prints updates a second, and plays the policy.

    python d3rlpy_offline.py SET ALGORITHM [--updates N] [--seed N] [--env ID] [--episodes N] [--threads N]

It prints one JSON object: the algorithm, the updates and how many of them a second on the CPU, and with --env the mean
return of greedy episodes, with the score where the set has the bounds of one. Settings are those of weft's algorithms
of the same names. It is no part of weft bench, because a run takes minutes: docs/bench.md says how to call it.
"""
import argparse
import json
import time

import d3rlpy
import numpy as np
import pyarrow.parquet
import torch
from d3rlpy.algos import AWACConfig, BCConfig, IQLConfig, TD3PlusBCConfig
from d3rlpy.models.encoders import VectorEncoderFactory
from d3rlpy.preprocessing import MinMaxActionScaler, MultiplyRewardScaler, StandardObservationScaler

WARMUP = 200  # updates that are not timed


def read(path):
    """Returns the set as d3rlpy's, and its description."""
    table = pyarrow.parquet.read_table(path)
    about = json.loads(pyarrow.parquet.read_metadata(path).metadata[b"weft.data"])
    final = table["final"].to_numpy()
    starts = np.concatenate([[0], np.flatnonzero(final) + 1])

    def block(name):
        column = table[name].combine_chunks()
        rows = column.flatten().to_numpy() if hasattr(column, "flatten") and column.type.num_fields else column.to_numpy()
        return rows.reshape(len(final), -1)

    obs, action, reward = block("obs"), block("action"), block("reward")
    terminated = table["terminated"].to_numpy()
    episodes = []
    for begin, end in zip(starts[:-1], starts[1:]):
        steps = slice(begin, end - 1)  # the last row is the final observation
        episodes.append(d3rlpy.dataset.Episode(obs[steps], action[steps], reward[steps], bool(terminated[end - 2])))
    return d3rlpy.dataset.ReplayBuffer(d3rlpy.dataset.InfiniteBuffer(), episodes=episodes), about


def factor(about):
    """IQL's factor of rewards, as weft's iql has it."""
    low, high = about["returns"]["min"], about["returns"]["max"]
    if about.get("bounds"):
        low = min(low, about["bounds"]["random"])
    return 1000 / (high - low)


def configure(name, about):
    layers = lambda *hidden: VectorEncoderFactory(list(hidden))
    numbers = int(np.prod(about["action"]["dims"]))
    low, high = (np.resize(np.asarray(about["action"][side], np.float32), numbers) for side in ("low", "high"))
    bounds = MinMaxActionScaler(minimum=low, maximum=high)
    if name == "iql":
        net, rate = layers(256, 256), 3e-4
        return IQLConfig(
            batch_size=256, actor_learning_rate=rate, critic_learning_rate=rate, expectile=0.7, weight_temp=3.0, max_weight=100.0,
            actor_encoder_factory=net, critic_encoder_factory=net, value_encoder_factory=net,
            action_scaler=bounds, reward_scaler=MultiplyRewardScaler(factor(about)))
    if name == "td3bc":
        net = layers(256, 256)
        return TD3PlusBCConfig(
            batch_size=256, alpha=2.5, actor_encoder_factory=net, critic_encoder_factory=net,
            action_scaler=bounds, observation_scaler=StandardObservationScaler())
    if name == "awac":
        net = layers(256, 256, 256)
        return AWACConfig(
            batch_size=256, lam=1 / 3, actor_encoder_factory=net, critic_encoder_factory=net,
            action_scaler=bounds, observation_scaler=StandardObservationScaler())
    return BCConfig(batch_size=256, learning_rate=3e-4, encoder_factory=layers(256, 256), action_scaler=bounds,
                    observation_scaler=StandardObservationScaler())


def play(algorithm, env, episodes):
    """Returns the mean return of greedy episodes."""
    import gymnasium

    world, total = gymnasium.make(env), 0.0
    for i in range(episodes):
        obs, over = world.reset(seed=i)[0], False
        while not over:
            action = algorithm.predict(np.asarray(obs, np.float32)[None])[0]
            obs, reward, terminated, truncated, _ = world.step(action)
            total, over = total + float(reward), terminated or truncated
    return total / episodes


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("set")
    arguments.add_argument("algorithm", choices=["iql", "td3bc", "awac", "bc"])
    arguments.add_argument("--updates", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--env")
    arguments.add_argument("--episodes", type=int, default=20)
    arguments.add_argument("--threads", type=int, default=0, help="of torch; 0 is its own choice")
    a = arguments.parse_args()
    if a.threads:
        torch.set_num_threads(a.threads)
    d3rlpy.seed(a.seed)
    data, about = read(a.set)
    algorithm = configure(a.algorithm, about).create(device="cpu:0")
    algorithm.build_with_dataset(data)
    scaler = algorithm.config.observation_scaler
    if scaler is not None and not scaler.built:
        scaler.fit_with_transition_picker(data.episodes, data.transition_picker)
    begin = None
    for i in range(a.updates):
        if i == min(WARMUP, a.updates - 1):
            begin = time.perf_counter()
        algorithm.update(data.sample_transition_batch(algorithm.batch_size))
    timed = a.updates - min(WARMUP, a.updates - 1)
    out = {"peer": f"d3rlpy {d3rlpy.__version__}", "algorithm": a.algorithm, "updates": a.updates,
           "updates_per_second": round(timed / (time.perf_counter() - begin), 1)}
    if a.env:
        out["return"] = round(play(algorithm, a.env, a.episodes), 1)
        bounds = about.get("bounds")
        if bounds:
            out["score"] = round(100 * (out["return"] - bounds["random"]) / (bounds["expert"] - bounds["random"]), 1)
    print(json.dumps(out))


main()
