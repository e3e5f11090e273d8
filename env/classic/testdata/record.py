"""Record reference trajectories of the five classic-control environments.

Usage:

    python3 record.py                 write the JSON files beside this script
    python3 record.py --out FOLDER    write them somewhere else
    python3 record.py --force         accept a Gymnasium other than EXPECTED

The trajectories come from the real Gymnasium, through gymnasium.make, so with
the registered time limit. Every run writes the same bytes on the same machine:
resets and action generators are seeded and no clock is read. README.md says
what the files hold and what may differ elsewhere.

The script fails, and writes nothing, when an episode does not end the way its
entry in the table below says it should.
"""

import argparse
import json
import math
import pathlib
import platform
import sys
from dataclasses import dataclass
from typing import Callable

import gymnasium
import numpy as np

EXPECTED = "1.3.0"

# A policy maps (internal state, step index, generator) to one number.
Policy = Callable[[np.ndarray, int, np.random.Generator], float]


@dataclass(frozen=True)
class Episode:
    """One episode to play; only the first head and last tail steps are kept."""

    name: str
    seed: int
    about: str
    policy: Policy
    ends: str  # "terminated" or "truncated"
    head: int = 10**9
    tail: int = 0


@dataclass(frozen=True)
class Probe:
    """One step taken from a state that was set by hand."""

    note: str
    state: list[float]
    action: float


@dataclass(frozen=True)
class Environment:
    """What to record of one environment, and facts no attribute of it tells."""

    id: str
    file: str
    names: list[str]
    initial_low: list[float]
    initial_high: list[float]
    episodes: list[Episode]
    probes: list[Probe]


# Policies.


def uniform_choice(n: int) -> Policy:
    return lambda s, t, rng: int(rng.integers(n))


def uniform_force(bound: float) -> Policy:
    return lambda s, t, rng: rng.uniform(-bound, bound)


def constant(action: float) -> Policy:
    return lambda s, t, rng: action


def cycle(*actions: float) -> Policy:
    return lambda s, t, rng: actions[t % len(actions)]


def along(component: int, low: float, high: float) -> Policy:
    """Push in the direction the given state component is moving."""
    return lambda s, t, rng: high if s[component] >= 0 else low


def balance(lean: float = 0.0) -> Policy:
    """Hold the pole; a lean keeps it tilted, so that the cart runs away."""

    def act(s, t, rng):
        x, x_dot, theta, theta_dot = s
        centre = 0.0 if lean else 0.05 * x + 0.1 * x_dot
        return int(theta - lean + 0.3 * theta_dot + centre > 0)

    return act


# The table of what is recorded.

THETA = 12 * 2 * math.pi / 360  # CartPole's angle threshold

CARTPOLE = Environment(
    id="CartPole-v1",
    file="cartpole.json",
    names=["x", "x_dot", "theta", "theta_dot"],
    initial_low=[-0.05] * 4,
    initial_high=[0.05] * 4,
    episodes=[
        *(
            Episode(f"random-{seed}", seed, "uniform actions", uniform_choice(2), "terminated")
            for seed in (1, 2, 3)
        ),
        Episode("left", 4, "always action 0", constant(0), "terminated"),
        Episode("right", 5, "always action 1", constant(1), "terminated"),
        Episode("edge-right", 6, "hold a lean to the right until the cart leaves", balance(0.1), "terminated", 20, 20),
        Episode("edge-left", 7, "hold a lean to the left until the cart leaves", balance(-0.1), "terminated", 20, 20),
        Episode("balance", 8, "linear controller that stays up", balance(), "truncated"),
    ],
    probes=[
        Probe("x exactly at the threshold goes on", [2.4, 0, 0, 0], 1),
        Probe("x exactly at the negative threshold goes on", [-2.4, 0, 0, 0], 0),
        Probe("x just beyond the threshold ends", [2.400001, 0, 0, 0], 0),
        Probe("x just beyond the negative threshold ends", [-2.400001, 0, 0, 0], 1),
        Probe("theta exactly at the threshold goes on", [0, 0, THETA, 0], 0),
        Probe("theta exactly at the negative threshold goes on", [0, 0, -THETA, 0], 1),
        Probe("theta just beyond the threshold ends", [0, 0, THETA + 1e-6, 0], 1),
        Probe("theta just beyond the negative threshold ends", [0, 0, -THETA - 1e-6, 0], 0),
        Probe("the step carries x out", [2.39, 1, 0, 0], 0),
        Probe("the step carries x back in", [2.41, -1, 0, 0], 1),
        Probe("the step carries theta back in", [0, 0, 0.22, -1], 1),
        Probe("fast pole: the squared angular velocity matters", [0.5, -1, 0.15, 6], 0),
        Probe("fast pole, other way", [-0.5, 1, -0.1, -6], 1),
    ],
)

MOUNTAINCAR = Environment(
    id="MountainCar-v0",
    file="mountaincar.json",
    names=["position", "velocity"],
    initial_low=[-0.6, 0.0],
    initial_high=[-0.4, 0.0],
    episodes=[
        Episode("random-1", 1, "uniform actions", uniform_choice(3), "truncated"),
        Episode("random-2", 2, "uniform actions", uniform_choice(3), "truncated", 60, 10),
        Episode("random-3", 3, "uniform actions", uniform_choice(3), "truncated", 60, 10),
        Episode("bang-bang-4", 4, "accelerate along the velocity", along(1, 0, 2), "terminated", 30, 30),
        Episode("bang-bang-8", 8, "accelerate along the velocity; meets the left wall", along(1, 0, 2), "terminated"),
        Episode("coast", 6, "always action 1", constant(1), "truncated", 40, 10),
    ],
    probes=[
        Probe("hits the left wall: velocity becomes 0", [-1.19, -0.05], 0),
        Probe("at the left wall, pushed left: the slope wins", [-1.2, 0], 0),
        Probe("at the left wall, pushed right", [-1.2, 0], 2),
        Probe("speed clipped at +0.07", [-1.047, 0.07], 2),
        Probe("speed clipped at -0.07", [0, -0.07], 0),
        Probe("right edge: position clipped, velocity kept", [0.58, 0.05], 2),
        Probe("beyond the goal but moving left goes on", [0.55, -0.01], 1),
        Probe("passes the goal", [0.49, 0.02], 2),
        Probe("just short of the goal", [0.48, 0.015], 1),
    ],
)

MOUNTAINCAR_CONTINUOUS = Environment(
    id="MountainCarContinuous-v0",
    file="mountaincar_continuous.json",
    names=["position", "velocity"],
    initial_low=[-0.6, 0.0],
    initial_high=[-0.4, 0.0],
    episodes=[
        Episode("random-1", 1, "uniform forces in [-1, 1)", uniform_force(1), "truncated", 150, 20),
        Episode("random-2", 2, "uniform forces in [-1, 1)", uniform_force(1), "truncated", 40, 10),
        Episode("random-3", 3, "uniform forces in [-1, 1)", uniform_force(1), "truncated", 40, 10),
        Episode("energy-4", 4, "full force along the velocity", along(1, -1, 1), "terminated"),
        Episode("energy-5", 5, "0.8 of full force along the velocity", along(1, -0.8, 0.8), "terminated", 30, 50),
        Episode("beyond-6", 6, "forces outside the bounds, along the velocity", along(1, -2.5, 1.75), "terminated", 30, 50),
        Episode("beyond-8", 8, "uniform forces in [-3, 3)", uniform_force(3), "truncated", 60, 10),
    ],
    probes=[
        Probe("hits the left wall: velocity becomes 0", [-1.19, -0.05], -1),
        Probe("at the left wall, pushed left: the slope wins", [-1.2, 0], -1),
        Probe("at the left wall, pushed right", [-1.2, 0], 0.5),
        Probe("speed clipped at +0.07", [-1.047, 0.07], 1),
        Probe("speed clipped at -0.07", [0, -0.07], -1),
        Probe("right edge: position clipped, velocity kept", [0.58, 0.05], 1),
        Probe("beyond the goal but moving left goes on", [0.5, -0.01], 0.25),
        Probe("passes the goal: +100 less the action's cost", [0.44, 0.02], 0.5),
        Probe("passes the goal: the cost uses the unclipped action", [0.44, 0.02], 3),
        Probe("force clipped, cost not", [-0.5, 0.01], -3),
        Probe("no force costs nothing", [-0.5, 0.01], 0),
    ],
)

ACROBOT = Environment(
    id="Acrobot-v1",
    file="acrobot.json",
    names=["theta1", "theta2", "theta1_dot", "theta2_dot"],
    initial_low=[-0.1] * 4,
    initial_high=[0.1] * 4,
    episodes=[
        Episode("random-1", 1, "uniform actions", uniform_choice(3), "truncated", 120, 20),
        Episode("random-2", 2, "uniform actions", uniform_choice(3), "truncated", 25, 5),
        Episode("random-3", 3, "uniform actions", uniform_choice(3), "truncated", 25, 5),
        Episode("coast", 6, "always action 1 (no torque)", constant(1), "truncated", 30, 10),
        Episode("pump-4", 4, "torque along the second joint's velocity", along(3, 0, 2), "terminated"),
        Episode("pump-5", 5, "torque along the second joint's velocity", along(3, 0, 2), "terminated"),
    ],
    probes=[
        Probe("at rest, torque -1", [0, 0, 0, 0], 0),
        Probe("at rest, torque 0", [0, 0, 0, 0], 1),
        Probe("at rest, torque +1", [0, 0, 0, 0], 2),
        Probe("theta1 wraps past pi", [3.1, 0.2, 2, 0], 1),
        Probe("theta1 wraps past -pi", [-3.1, 0.2, -2, 0], 1),
        Probe("theta2 wraps past pi", [0.5, 3, 0, 5], 2),
        Probe("theta2 wraps past -pi", [0.5, -3, 0, -5], 0),
        Probe("theta2 wraps and both speeds are clipped", [0, 3.1, 0, 28], 2),
        Probe("first joint's speed clipped at +4 pi", [-2.6, 0, 12.5, 0], 0),
        Probe("first joint's speed clipped at -4 pi", [2.6, 0, -12.5, 0], 2),
        Probe("second joint's speed clipped at +9 pi", [-3, 0, 0, 28], 2),
        Probe("second joint's speed clipped at -9 pi", [3, 0, 0, -28], 0),
        Probe("upright is terminal: reward 0", [3, 0.1, 0, 0], 1),
        Probe("first link up, second folded down is not terminal", [3, 3, 0, 0], 1),
    ],
)

PENDULUM = Environment(
    id="Pendulum-v1",
    file="pendulum.json",
    names=["theta", "theta_dot"],
    initial_low=[-math.pi, -1.0],
    initial_high=[math.pi, 1.0],
    episodes=[
        Episode("random-1", 1, "uniform torques in [-2, 2)", uniform_force(2), "truncated"),
        Episode("random-2", 2, "uniform torques in [-2, 2)", uniform_force(2), "truncated", 60, 10),
        Episode("random-3", 3, "uniform torques in [-2, 2)", uniform_force(2), "truncated", 60, 10),
        Episode("pump", 4, "full torque along the velocity: many turns", along(1, -2, 2), "truncated", 100, 20),
        Episode("extremes", 5, "torques -2 and 2 in turn, ten steps each", cycle(*[-2] * 10, *[2] * 10), "truncated", 80, 10),
        Episode("beyond", 6, "uniform torques in [-6, 6)", uniform_force(6), "truncated", 80, 10),
    ],
    probes=[
        Probe("upright at rest costs nothing", [0, 0], 0),
        Probe("hanging down: normalised to -pi", [math.pi, 0], 0),
        Probe("hanging down from the other side", [-math.pi, 0], 0),
        Probe("several turns forward", [20.3, 0.5], 1),
        Probe("several turns back", [-20.3, -0.5], -1),
        Probe("speed clipped at +8", [1.5, 7.9], 2),
        Probe("speed clipped at -8", [-1.5, -7.9], -2),
        Probe("torque clipped at +2, the cost as well", [0.5, 1], 5),
        Probe("torque clipped at -2, the cost as well", [0.5, 1], -5),
        Probe("torque at the upper bound", [0.5, 1], 2),
        Probe("torque at the lower bound", [0.5, 1], -2),
    ],
)

ENVIRONMENTS = [CARTPOLE, ACROBOT, MOUNTAINCAR, MOUNTAINCAR_CONTINUOUS, PENDULUM]


# Numbers as they are stored: the shortest decimal that reads back exactly.


def float64s(values) -> list[float]:
    return [float(v) for v in values]


def float32(value) -> float | None:
    """The shortest decimal of a float32; JSON has no infinity, hence None."""
    value = np.float32(value)
    return float(str(value)) if np.isfinite(value) else None


def float32s(values) -> list[float | None]:
    return [float32(v) for v in values]


# Playing.


def encode(env, action: float):
    """Turn a policy's number into what env.step takes."""
    if isinstance(env.action_space, gymnasium.spaces.Discrete):
        return int(action)
    return np.array([action], dtype=np.float32)


def stored_action(action):
    return action if isinstance(action, int) else float32(action[0])


def play(env, episode: Episode) -> tuple[dict, list[dict]]:
    """Play one episode to its end: its header, and all of its steps."""
    rng = np.random.default_rng(episode.seed)
    observation, _ = env.reset(seed=episode.seed)
    state = float64s(env.unwrapped.state)
    header = {"initial_state": state, "initial_observation": float32s(observation)}
    steps, over = [], False
    while not over:
        action = encode(env, episode.policy(state, len(steps), rng))
        observation, reward, terminated, truncated, _ = env.step(action)
        following = float64s(env.unwrapped.state)
        steps.append({
            "state": state,
            "action": stored_action(action),
            "observation": float32s(observation),
            "reward": float(reward),
            "terminated": bool(terminated),
            "truncated": bool(truncated),
            "next": following,
        })
        state, over = following, terminated or truncated
    return header, steps


def segment(steps: list[dict], first: int, last: int) -> dict:
    """Columns for steps first..last-1; states has one row more than the rest."""
    part = steps[first:last]
    return {
        "first": first,
        "states": [step["state"] for step in part] + [part[-1]["next"]],
        "actions": [step["action"] for step in part],
        "observations": [step["observation"] for step in part],
        "rewards": [step["reward"] for step in part],
        "terminated": [step["terminated"] for step in part],
        "truncated": [step["truncated"] for step in part],
    }


def kept(length: int, episode: Episode) -> list[tuple[int, int]]:
    """The half-open ranges of steps that are stored."""
    if episode.head + episode.tail >= length:
        return [(0, length)]
    return [(0, episode.head), (length - episode.tail, length)]


def record_episode(env, episode: Episode) -> dict:
    header, steps = play(env, episode)
    ended = [flag for flag in ("terminated", "truncated") if steps[-1][flag]]
    if ended != [episode.ends]:
        sys.exit(f"{env.spec.id} {episode.name}: ended by {ended} after {len(steps)} steps, "
                 f"wanted {episode.ends}; adjust the policy or the seed")
    return {
        "name": episode.name,
        "about": episode.about,
        "seed": episode.seed,
        "length": len(steps),
        "ends": episode.ends,
        "return": sum(step["reward"] for step in steps),
        **header,
        "segments": [segment(steps, *bounds) for bounds in kept(len(steps), episode)],
    }


def record_probe(env, probe: Probe, dtype: str) -> dict:
    """Step once from a chosen state; the reset clears what an ended step left."""
    env.reset(seed=0)
    env.unwrapped.state = np.array(probe.state, dtype=dtype)
    state = float64s(env.unwrapped.state)
    action = encode(env, probe.action)
    observation, reward, terminated, _, _ = env.unwrapped.step(action)
    return {
        "note": probe.note,
        "state": state,
        "action": stored_action(action),
        "observation": float32s(observation),
        "reward": float(reward),
        "terminated": bool(terminated),
        "next": float64s(env.unwrapped.state),
    }


# Describing.


def describe_space(space) -> dict:
    common = {"shape": list(space.shape), "dtype": str(space.dtype)}
    if isinstance(space, gymnasium.spaces.Discrete):
        return {"kind": "discrete", **common, "n": int(space.n), "start": int(space.start)}
    return {"kind": "box", **common, "low": float32s(space.low), "high": float32s(space.high)}


def state_dtypes(env) -> tuple[str, str]:
    """The element type of the internal state after a reset and after a step."""
    env.reset(seed=0)
    fresh = np.asarray(env.unwrapped.state).dtype
    env.step(encode(env, 0))
    return str(fresh), str(np.asarray(env.unwrapped.state).dtype)


def check_initial(environment: Environment, episodes: list[dict]) -> None:
    """Hold the stated range against what the resets really gave."""
    slack = 1e-8  # Acrobot rounds its fresh state to float32
    for episode in episodes:
        for low, x, high in zip(environment.initial_low, episode["initial_state"], environment.initial_high):
            if not low - slack <= x <= high + slack:
                sys.exit(f"{environment.id} {episode['name']}: initial {x} outside [{low}, {high}]")


def record(environment: Environment) -> dict:
    env = gymnasium.make(environment.id)
    fresh, stepped = state_dtypes(env)
    episodes = [record_episode(env, episode) for episode in environment.episodes]
    check_initial(environment, episodes)
    return {
        "id": environment.id,
        "recorded_with": {"gymnasium": gymnasium.__version__, "numpy": np.__version__},
        "max_episode_steps": env.spec.max_episode_steps,
        "observation_space": describe_space(env.observation_space),
        "action_space": describe_space(env.action_space),
        "state": {
            "names": environment.names,
            "dtype_after_reset": fresh,
            "dtype_after_step": stepped,
            "initial_low": environment.initial_low,
            "initial_high": environment.initial_high,
        },
        "episodes": episodes,
        "probes": [record_probe(env, probe, stepped) for probe in environment.probes],
    }


# Writing.


def compact(value) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def lay_out(value) -> str:
    """JSON with a line for each field and each row, and no indentation."""
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"{compact(k)}:{lay_out(v)}" for k, v in value.items()) + "\n}"
    if isinstance(value, list) and value and isinstance(value[0], (dict, list)):
        return "[\n" + ",\n".join(lay_out(v) for v in value) + "\n]"
    return compact(value)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent,
                        help="folder to write to (default: beside this script)")
    parser.add_argument("--force", action="store_true",
                        help=f"record even when Gymnasium is not {EXPECTED}")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    print(f"gymnasium {gymnasium.__version__}, numpy {np.__version__}, python {platform.python_version()}")
    if gymnasium.__version__ != EXPECTED and not options.force:
        sys.exit(f"the reference is Gymnasium {EXPECTED}, found {gymnasium.__version__}: "
                 f"install gymnasium=={EXPECTED}, or pass --force")
    files = {environment.file: lay_out(record(environment)) + "\n" for environment in ENVIRONMENTS}
    options.out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (options.out / name).write_bytes(text.encode("ascii"))
        print(f"{name}: {len(text)} bytes")


if __name__ == "__main__":
    main()
