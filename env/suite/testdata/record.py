"""Record trajectories of the control suite's cartpole swingup.

Usage:

    python3 record.py > cartpole_swingup.json

They come from the real suite (package dm_control on PyPI), stepped by its own
environment with seeded actions. Every run writes the same bytes on the same
machine. A trajectory is states (slider, hinge, and their velocities), actions
between them, and what the suite says of each state reached: observation and
reward. The file also holds what MuJoCo makes of the model's description.
"""

import json
import math

import numpy as np
from dm_control import suite


def state(physics):
    return [*physics.data.qpos, *physics.data.qvel]


def observed(step):
    return [*step.observation["position"], *step.observation["velocity"]]


def record(name, start, policy, steps):
    """Play from a state; policy maps (state, step, generator) to an action."""
    env = suite.load("cartpole", "swingup", task_kwargs={"random": 1})
    env.reset()
    with env.physics.reset_context():
        env.physics.data.qpos[:] = start[:2]
        env.physics.data.qvel[:] = start[2:]
    out = {"name": name, "states": [state(env.physics)], "actions": [], "observations": [], "rewards": []}
    draw = np.random.default_rng(7)
    for i in range(steps):
        a = float(policy(state(env.physics), i, draw))
        step = env.step([a])
        out["states"].append(state(env.physics))
        out["actions"].append(a)
        out["observations"].append(observed(step))
        out["rewards"].append(step.reward)
    return out


def pump(s, i, draw):
    """Swing up by pushing along with the pole."""
    return math.copysign(1, -s[3] * math.cos(s[1])) if abs(s[0]) < 1.2 else -math.copysign(1, s[0])


def main():
    env = suite.load("cartpole", "swingup", task_kwargs={"random": 1})
    env.reset()
    model = env.physics.model
    spec = env.action_spec()
    out = {
        "steps": int(env._step_limit),
        "timestep": env.control_timestep(),
        "action": [float(spec.minimum[0]), float(spec.maximum[0])],
        "inertia": float(model.body_inertia[-1][0]),
        "damping": [float(x) for x in model.dof_damping],
        "episodes": [
            record("random", [0.0, math.pi, 0.0, 0.0], lambda s, i, d: d.uniform(-1, 1), 200),
            record("pumping", [0.01, math.pi + 0.02, 0.0, 0.0], pump, 400),
            record("falling", [0.1, 0.05, 0.2, -0.1], lambda s, i, d: 0.0, 200),
            record("right end", [1.5, 2.0, 1.0, 3.0], lambda s, i, d: 1.0, 150),
            record("left end", [-1.6, -1.0, -3.0, 2.0], lambda s, i, d: -0.5, 150),
            record("fast", [0.0, 1.0, 0.0, 12.0], lambda s, i, d: math.sin(i / 7), 150),
        ],
    }
    print(json.dumps(out, indent=None, separators=(",", ":")).replace('{"name"', '\n{"name"'))


main()
