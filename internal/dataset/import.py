"""Writes a data set of Minari, or an HDF5 file with D4RL's names, as a NumPy archive: KIND NAME OUT."""

import json
import sys

import numpy as np


def space_of(s):
    """Returns a space of Gymnasium as weft writes it; None if it is not a simple one."""
    from gymnasium import spaces

    if isinstance(s, spaces.Discrete):
        return {"kind": "discrete", "n": [int(s.n)], "start": int(s.start)}
    if isinstance(s, spaces.MultiDiscrete) and s.nvec.ndim == 1:
        return {"kind": "multi-discrete", "n": s.nvec.tolist()}
    if isinstance(s, spaces.MultiBinary) and len(s.shape) == 1:
        return {"kind": "multi-binary", "n": [int(s.shape[0])]}
    if not isinstance(s, spaces.Box):
        return None
    out = {"kind": "box", "dims": list(s.shape), "dtype": str(np.dtype(s.dtype)).capitalize()}
    for name, x in (("low", s.low), ("high", s.high)):
        x = np.clip(x.astype(np.float64).ravel(), -1e308, 1e308)  # JSON has no infinity
        out[name] = x[:1].tolist() if (x == x[0]).all() else x.tolist()
    return out


def minari_steps(name):
    import minari

    columns = {k: [] for k in ("observations", "next_observations", "actions", "rewards", "terminals", "timeouts")}
    loaded = minari.load_dataset(name)
    for e in loaded.iterate_episodes():
        obs = np.asarray(e.observations)
        last = np.zeros(len(e.rewards), bool)
        last[-1] = True
        columns["observations"].append(obs[:-1])
        columns["next_observations"].append(obs[1:])
        columns["actions"].append(np.asarray(e.actions))
        columns["rewards"].append(np.asarray(e.rewards))
        columns["terminals"].append(np.asarray(e.terminations, bool))
        columns["timeouts"].append(np.asarray(e.truncations, bool) | (last & ~np.asarray(e.terminations, bool)))
    steps = {k: np.concatenate(v) for k, v in columns.items()}
    about = {"version": 1, "obs": space_of(loaded.observation_space), "action": space_of(loaded.action_space)}
    if loaded.env_spec is not None:
        about["env"] = loaded.env_spec.id
    if about["obs"] and about["action"]:
        steps["weft.data"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    return steps


def hdf5_steps(name):
    import h5py

    with h5py.File(name) as f:
        return {k: np.asarray(f[k]) for k in f if isinstance(f[k], h5py.Dataset)}


kind, name, out = sys.argv[1:]
steps = minari_steps(name) if kind == "minari" else hdf5_steps(name)
np.savez(out, **{k: np.ascontiguousarray(v) for k, v in steps.items()})
