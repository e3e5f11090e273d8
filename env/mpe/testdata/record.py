"""Record reference trajectories of simple_spread and simple_tag.

Usage:

    python3 record.py                 write the JSON files beside this script
    python3 record.py --out FOLDER    write them somewhere else
    python3 record.py --force         accept an mpe2 other than EXPECTED

The trajectories come from the real mpe2, through its parallel environments.
Initial positions are set, so that agents meet and leave the area often enough;
actions are random. Every run writes the same bytes on the same machine. The
script fails, and writes nothing, when a distance comes so close to the one at
which two entities touch that another precision could decide otherwise, or when
a recording holds no collision.
"""

import argparse
import importlib.metadata
import json
import pathlib
import sys

import numpy as np
from mpe2 import simple_spread_v3, simple_tag_v3

EXPECTED = "1.1.1"
STEPS = 25

# name, maker, keyword arguments, spreads of initial positions (one per episode)
RECORDINGS = [
    ("spread", simple_spread_v3, {}, [1.0, 0.3]),
    ("spread_continuous", simple_spread_v3, {"continuous_actions": True}, [0.4]),
    ("spread_five", simple_spread_v3, {"N": 5, "local_ratio": 0.2}, [0.5]),
    ("spread_one", simple_spread_v3, {"N": 1, "terminate_on_success": True}, [0.15]),
    ("tag", simple_tag_v3, {}, [1.0, 0.4, 1.2]),
    ("tag_continuous", simple_tag_v3, {"continuous_actions": True}, [0.4]),
    ("tag_many", simple_tag_v3, {"num_good": 2, "num_adversaries": 4, "num_obstacles": 3}, [0.4]),
    ("tag_open", simple_tag_v3,
     {"num_good": 1, "num_adversaries": 1, "num_obstacles": 0, "terminate_on_success": True}, [0.25, 0.1, 0.06]),
]


def number(x):
    """A number that reads back as the same float32."""
    return float(f"{float(x):.9g}")


def numbers(x):
    return [number(v) for v in np.asarray(x, dtype=np.float64).ravel()]


def gap(env):
    """How far the distance of any two agents or landmarks is from touching."""
    e = env.unwrapped.world.entities
    out = [
        abs(np.linalg.norm(a.state.p_pos - b.state.p_pos) - a.size - b.size)
        for i, a in enumerate(e) for b in e[:i]
    ]
    return min(out)


def collided(env):
    agents = env.unwrapped.world.agents
    scenario = env.unwrapped.scenario
    return any(scenario.is_collision(a, b) for i, a in enumerate(agents) for b in agents[:i])


def state(env):
    world = env.unwrapped.world
    return {
        "pos": numbers([e.state.p_pos for e in world.entities]),
        "vel": numbers([a.state.p_vel for a in world.agents]),
    }


def episode(env, spread, rng):
    env.reset(seed=0)
    world = env.unwrapped.world
    for e in world.entities:
        e.state.p_pos = rng.uniform(-spread, spread, 2).astype(np.float32).astype(np.float64)
    for a in world.agents:
        a.state.p_vel = rng.uniform(-0.5, 0.5, 2).astype(np.float32).astype(np.float64)
    names = env.possible_agents
    out = {
        "spread": spread, "states": [state(env)], "actions": [], "rewards": [], "terminated": [], "truncated": [],
        "observations": [numbers(np.concatenate([env.unwrapped.observe(n) for n in names]))],
    }
    collisions = 0
    for _ in range(STEPS):
        if env.unwrapped.continuous_actions:
            act = {n: rng.uniform(0, 1, 5).astype(np.float32) for n in names}
        else:
            act = {n: int(rng.integers(5)) for n in names}
        out["actions"].append(numbers([act[n] for n in names]))
        obs, rewards, terminated, truncated, _ = env.step(act)
        if gap(env) < 2e-5:
            sys.exit("too close to call: use another seed")
        collisions += collided(env)
        out["states"].append(state(env))
        out["observations"].append(numbers(np.concatenate([obs[n] for n in names])))
        out["rewards"].append(numbers([rewards[n] for n in names]))
        out["terminated"].append(all(terminated.values()))
        out["truncated"].append(all(truncated.values()))
        if not env.agents:
            break
    return out, collisions


def record(name, module, kwargs, spreads):
    env = module.parallel_env(**kwargs)
    rng = np.random.default_rng(sum(name.encode()))
    episodes, collisions = [], 0
    for spread in spreads:
        e, c = episode(env, spread, rng)
        episodes.append(e)
        collisions += c
    if collisions == 0 and len(env.possible_agents) > 1:
        sys.exit(f"{name}: no collision")
    space = env.action_space(env.possible_agents[0])
    return {
        "name": name, "mpe2": importlib.metadata.version("mpe2"), "options": kwargs,
        "agents": env.possible_agents,
        "observation_sizes": [env.observation_space(n).shape[0] for n in env.possible_agents],
        "state_size": env.state_space.shape[0],
        "action": "box" if hasattr(space, "low") else "discrete", "action_size": 5,
        "max_cycles": env.unwrapped.max_cycles, "episodes": episodes,
    }


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", default=pathlib.Path(__file__).parent, type=pathlib.Path)
    p.add_argument("--force", action="store_true")
    args = p.parse_args()
    if (found := importlib.metadata.version("mpe2")) != EXPECTED and not args.force:
        sys.exit(f"mpe2 is {found}, want {EXPECTED}")
    files = {r[0]: record(*r) for r in RECORDINGS}
    for name, r in files.items():
        (args.out / f"{name}.json").write_text(json.dumps(r, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
