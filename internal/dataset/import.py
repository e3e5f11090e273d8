"""Writes a data set of Minari, or an HDF5 file with D4RL's names, as a NumPy archive: KIND NAME OUT."""

import sys

import numpy as np


def minari_steps(name):
    import minari

    columns = {k: [] for k in ("observations", "next_observations", "actions", "rewards", "terminals", "timeouts")}
    for e in minari.load_dataset(name).iterate_episodes():
        obs = np.asarray(e.observations)
        last = np.zeros(len(e.rewards), bool)
        last[-1] = True
        columns["observations"].append(obs[:-1])
        columns["next_observations"].append(obs[1:])
        columns["actions"].append(np.asarray(e.actions))
        columns["rewards"].append(np.asarray(e.rewards))
        columns["terminals"].append(np.asarray(e.terminations, bool))
        columns["timeouts"].append(np.asarray(e.truncations, bool) | (last & ~np.asarray(e.terminations, bool)))
    return {k: np.concatenate(v) for k, v in columns.items()}


def hdf5_steps(name):
    import h5py

    with h5py.File(name) as f:
        return {k: np.asarray(f[k]) for k in f if isinstance(f[k], h5py.Dataset)}


kind, name, out = sys.argv[1:]
steps = minari_steps(name) if kind == "minari" else hdf5_steps(name)
np.savez(out, **{k: np.ascontiguousarray(v) for k, v in steps.items()})
