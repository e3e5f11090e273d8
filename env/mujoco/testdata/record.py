"""Records trajectories of Gymnasium's MuJoCo tasks: python record.py OUT STEPS

OUT is gzipped JSON. Every trajectory has the state after a reset, the actions,
and what Gymnasium made of them; numbers are double precision, to the last bit.
STEPS bounds the length of a trajectory; those of large observations have a
quarter of it.
"""

import gzip
import json
import sys

import gymnasium
import mujoco
import numpy as np

CASES = [
    ("HalfCheetah-v5", {}),
    ("HalfCheetah-v5", {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.3, "frame_skip": 3,
                        "exclude_current_positions_from_observation": False}),
    ("Hopper-v5", {}),
    ("Hopper-v5", {"healthy_z_range": (0.3, 1.4), "healthy_angle_range": (-1.0, 1.0), "healthy_state_range": (-8.0, 8.0),
                   "healthy_reward": 0.5}),
    ("Walker2d-v5", {}),
    ("Walker2d-v5", {"terminate_when_unhealthy": False, "exclude_current_positions_from_observation": False}),
    ("Swimmer-v5", {}),
    ("Ant-v5", {}),
    ("Ant-v5", {"contact_force_range": (-0.5, 2.0), "contact_cost_weight": 0.01, "healthy_z_range": (0.4, 1.0)}),
    ("Ant-v5", {"include_cfrc_ext_in_observation": False, "main_body": "aux_1"}),
    ("Humanoid-v5", {}),
    ("Humanoid-v5", {"contact_cost_weight": 1e-3, "contact_cost_range": (0.0, 5.0), "include_cvel_in_observation": False,
                     "include_cinert_in_observation": False}),
    ("InvertedPendulum-v5", {}),
    ("InvertedDoublePendulum-v5", {}),
    ("InvertedDoublePendulum-v5", {"healthy_reward": 3.0}),
    ("Reacher-v5", {}),
    ("Pusher-v5", {}),
    ("Pusher-v5", {"reward_near_weight": 0.7, "reward_dist_weight": 1.3, "reward_control_weight": 0.2}),
]

PARTS = ("reward_", "distance_penalty", "velocity_penalty")


def floats(x):
    return [float(v) for v in np.ravel(x)]


def trajectory(name, options, seed, steps):
    env = gymnasium.make(name, **options)
    # Old versions of MuJoCo normalise quaternions in place: the state is taken as it is given to them.
    task, given = env.unwrapped, []
    set_state = task.set_state
    task.set_state = lambda qpos, qvel: (given.append((floats(qpos), floats(qvel))), set_state(qpos, qvel))
    obs, _ = env.reset(seed=seed)
    qpos, qvel = given[-1]
    rng = np.random.default_rng(seed)
    space = env.action_space
    out = {"env": name, "options": options, "qpos": qpos, "qvel": qvel, "first": floats(obs), "steps": []}
    if obs.size > 100:
        steps = steps // 4
    for t in range(steps):
        # small actions first: an episode that falls at once shows little
        action = (rng.uniform(space.low, space.high) * min(1.0, 0.3 + t / 20)).astype(np.float32)
        obs, reward, terminated, truncated, info = env.step(action)
        parts = {k: float(v) for k, v in info.items() if k.startswith(PARTS)}
        out["steps"].append({"action": floats(action), "obs": floats(obs), "reward": float(reward), "parts": parts,
                             "terminated": bool(terminated), "truncated": bool(truncated)})
        if terminated or truncated:
            break
    env.close()
    return out


def main():
    path, steps = sys.argv[1], int(sys.argv[2])
    out = {"mujoco": mujoco.__version__, "gymnasium": gymnasium.__version__,
           "trajectories": [trajectory(n, o, i + 1, steps) for i, (n, o) in enumerate(CASES)]}
    with gzip.GzipFile(path, "wb", mtime=0) as f:
        f.write(json.dumps(out).encode())


main()
