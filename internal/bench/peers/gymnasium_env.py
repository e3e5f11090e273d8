"""Gymnasium's environments: a single one, and vectors of them in one process or one for each."""
import serve

try:
    import gymnasium
except ImportError as error:
    serve.absent(error)


def alone(spec):
    """One environment that does the steps of all."""
    env = gymnasium.make(spec["id"])
    env.reset(seed=1)
    env.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(spec["envs"])]

    def run():
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return 1

    return run, lambda: []


def prepare(spec):
    if spec["way"] == "single":
        return alone(spec)
    envs = gymnasium.make_vec(spec["id"], spec["envs"], vectorization_mode=spec["way"])
    envs.reset(seed=1)
    envs.action_space.seed(1)
    actions, at = [envs.action_space.sample() for _ in range(16)], 0

    def run():
        nonlocal at
        envs.step(actions[at % 16])
        at += 1
        return 1

    return run, lambda: []


serve.serve(gymnasium.__version__, prepare)
