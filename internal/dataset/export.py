"""Writes a NumPy archive of weft data export as a data set of Minari: ARCHIVE NAME."""

import json
import shutil
import sys

import gymnasium
import minari
import numpy as np
from gymnasium import spaces
from minari.data_collector.episode_buffer import EpisodeBuffer
from minari.storage import get_dataset_path


def space_of(s):
    kind = s["kind"]
    if kind == "discrete":
        return spaces.Discrete(s["n"][0], start=s.get("start", 0))
    if kind == "multi-discrete":
        return spaces.MultiDiscrete(s["n"])
    if kind == "multi-binary":
        return spaces.MultiBinary(s["n"][0])
    dims, dtype = s.get("dims", []), np.dtype(s["dtype"].lower())

    def bound(name, infinite):
        x = np.asarray(s.get(name) or [infinite], np.float64)
        x = np.where(np.abs(x) >= 1e308, np.copysign(np.inf, x), x)
        return np.resize(x, int(np.prod(dims))).reshape(dims).astype(dtype)

    return spaces.Box(bound("low", -np.inf), bound("high", np.inf), shape=tuple(dims), dtype=dtype)


def spec_of(env):
    try:
        return gymnasium.spec(env)
    except gymnasium.error.Error:
        return None  # Gymnasium does not have it


archive, name = sys.argv[1:]
steps = np.load(archive)
about = json.loads(bytes(steps["weft.data"]))
ends = np.flatnonzero(steps["terminals"] | steps["timeouts"]) + 1
episodes = []
for i, (begin, end) in enumerate(zip([0, *ends[:-1]], ends)):
    at = slice(begin, end)
    episodes.append(EpisodeBuffer(
        id=i, observations=np.concatenate([steps["observations"][at], steps["next_observations"][end - 1:end]]),
        actions=steps["actions"][at], rewards=steps["rewards"][at],
        terminations=steps["terminals"][at], truncations=steps["timeouts"][at]))
folder = get_dataset_path(name)
if folder.exists():
    sys.exit(f"there is a data set {name} already: name another, or remove it with minari delete {name}")
try:
    minari.create_dataset_from_buffers(
        name, buffer=episodes, env=spec_of(about.get("env", "")),
        observation_space=space_of(about["obs"]), action_space=space_of(about["action"]),
        algorithm_name=about.get("about", {}).get("algorithm", "unknown"), description="exported by weft")
except BaseException:
    shutil.rmtree(folder, ignore_errors=True)  # nothing half-written is left
    raise
