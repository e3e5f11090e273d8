"""d3rlpy on a data set of weft's: trains an algorithm, prints updates a second, and plays the policy.

    python d3rlpy_offline.py SET ALGORITHM [--updates N] [--seed N] [--env ID] [--episodes N] [--threads N]
                             [--device D] [--compile] [--seconds N] [--save FILE] [--load FILE]

SET is a data set, or the archive that weft data export makes of one. The program prints one JSON object: the
algorithm, the updates, how many of them a second of wall time and of CPU time, and with --env the mean return of
greedy episodes, with the score where the environment has the bounds of one. Settings are those of weft's algorithms of
the same names; sac is the soft actor-critic. --save writes the policy, which --load plays without training, on
another machine. It is no part of weft bench, because a run takes minutes: docs/bench.md says how to call it.
"""
import argparse
import json
import time

import d3rlpy
import numpy as np
import torch
from d3rlpy.algos import AWACConfig, BCConfig, CQLConfig, IQLConfig, SACConfig, TD3PlusBCConfig
from d3rlpy.models.encoders import VectorEncoderFactory
from d3rlpy.preprocessing import MinMaxActionScaler, MultiplyRewardScaler, StandardObservationScaler

WARMUP = 200  # updates that are not timed


def episodes_of(obs, action, reward, terminated, ends):
    """Returns d3rlpy's set of steps whose episodes end before the given ones."""
    episodes = []
    for begin, end in zip(np.concatenate([[0], ends[:-1]]), ends):
        steps = slice(begin, end)
        episodes.append(d3rlpy.dataset.Episode(obs[steps], action[steps], reward[steps], bool(terminated[end - 1])))
    return d3rlpy.dataset.ReplayBuffer(d3rlpy.dataset.InfiniteBuffer(), episodes=episodes)


def read_archive(path):
    """Returns an archive of weft data export as d3rlpy's set, and its description."""
    x = np.load(path)
    ends = np.flatnonzero(x["terminals"] | x["timeouts"]) + 1
    steps = episodes_of(x["observations"], x["actions"], x["rewards"].reshape(-1, 1), x["terminals"], ends)
    return steps, json.loads(bytes(x["weft.data"]))


def read(path):
    """Returns the set as d3rlpy's, and its description."""
    if path.endswith(".npz"):
        return read_archive(path)
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    about = json.loads(pyarrow.parquet.read_metadata(path).metadata[b"weft.data"])
    final = table["final"].to_numpy()

    def block(name):
        column = table[name].combine_chunks()
        rows = column.flatten().to_numpy() if hasattr(column, "flatten") and column.type.num_fields else column.to_numpy()
        return rows.reshape(len(final), -1)[~final]  # a final row holds an observation alone

    ends = np.flatnonzero(final) - np.arange(final.sum())
    return episodes_of(block("obs"), block("action"), block("reward"), table["terminated"].to_numpy()[~final], ends), about


def factor(about):
    """IQL's factor of rewards, as weft's iql has it."""
    low, high = about["returns"]["min"], about["returns"]["max"]
    if about.get("bounds"):
        low = min(low, about["bounds"]["random"])
    return 1000 / (high - low)


def configure(name, about, compiled):
    """Returns the configuration of an algorithm, whose updates are compiled by torch if compiled is set."""
    config = configured(name, about)
    config.compile_graph = compiled
    return config


def configured(name, about):
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
    if name == "cql":
        net = layers(256, 256, 256)
        return CQLConfig(
            batch_size=256, actor_learning_rate=3e-5, critic_learning_rate=3e-4, conservative_weight=10.0, alpha_learning_rate=0.0,
            initial_alpha=1.0, n_action_samples=10, actor_encoder_factory=net, critic_encoder_factory=net,
            action_scaler=bounds, observation_scaler=StandardObservationScaler())
    if name == "sac":
        net = layers(256, 256)
        return SACConfig(
            batch_size=256, actor_learning_rate=3e-4, critic_learning_rate=3e-4, temp_learning_rate=3e-4,
            actor_encoder_factory=net, critic_encoder_factory=net, action_scaler=bounds)
    return BCConfig(batch_size=256, learning_rate=3e-4, encoder_factory=layers(256, 256), action_scaler=bounds,
                    observation_scaler=StandardObservationScaler())


def play(predict, env, episodes):
    """Returns the mean return of greedy episodes."""
    import gymnasium

    world, total = gymnasium.make(env), 0.0
    for i in range(episodes):
        obs, over = world.reset(seed=i)[0], False
        while not over:
            action = predict(np.asarray(obs, np.float32)[None])[0]
            obs, reward, terminated, truncated, _ = world.step(action)
            total, over = total + float(reward), terminated or truncated
    return total / episodes


def train(a, data, about):
    """Trains an algorithm, and returns it with what there is to report."""
    device = a.device if ":" in a.device else a.device + ":0"
    algorithm = configure(a.algorithm, about, a.compile).create(device=device)
    algorithm.build_with_dataset(data)
    scaler = algorithm.config.observation_scaler
    if scaler is not None and not scaler.built:
        scaler.fit_with_transition_picker(data.episodes, data.transition_picker)
    untimed = min(WARMUP, a.updates - 1)
    done, start = 0, time.perf_counter()
    while done < a.updates and not (a.seconds and time.perf_counter() - start > a.seconds):
        if done == untimed:
            begin, cpu = time.perf_counter(), time.process_time()
        algorithm.update(data.sample_transition_batch(algorithm.batch_size))
        done += 1
    timed = done - untimed
    return algorithm, {
        "updates": done, "device": a.device, "updates_per_second": round(timed / (time.perf_counter() - begin), 1),
        "cpu_ms_per_update": round(1000 * (time.process_time() - cpu) / timed, 3)}


def loaded(path):
    """Returns what a saved policy does."""
    policy = torch.jit.load(path, map_location="cpu")
    return lambda obs: policy(torch.from_numpy(obs)).detach().numpy()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("set")
    arguments.add_argument("algorithm", choices=["iql", "td3bc", "awac", "cql", "sac", "bc"])
    arguments.add_argument("--updates", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--env")
    arguments.add_argument("--episodes", type=int, default=20)
    arguments.add_argument("--threads", type=int, default=0, help="of torch; 0 is its own choice")
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--compile", action="store_true", help="let torch compile updates")
    arguments.add_argument("--seconds", type=float, help="end training after this time")
    arguments.add_argument("--save", help="file to write the policy to")
    arguments.add_argument("--load", help="file of a policy to play, without training")
    a = arguments.parse_args()
    if a.threads:
        torch.set_num_threads(a.threads)
    d3rlpy.seed(a.seed)
    data, about = read(a.set)
    out = {"peer": f"d3rlpy {d3rlpy.__version__}", "algorithm": a.algorithm}
    if a.load:
        predict = loaded(a.load)
    else:
        algorithm, told = train(a, data, about)
        out.update(told)
        predict = algorithm.predict
        if a.save:
            algorithm.save_policy(a.save)
    if a.env:
        out["return"] = round(play(predict, a.env, a.episodes), 1)
        bounds = about.get("bounds")
        if bounds:
            out["score"] = round(100 * (out["return"] - bounds["random"]) / (bounds["expert"] - bounds["random"]), 1)
    print(json.dumps(out))


main()
