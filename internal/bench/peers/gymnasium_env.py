"""Gymnasium's vector environments, in one process or one for each."""
import serve

try:
    import gymnasium
except ImportError as error:
    serve.absent(error)


def prepare(spec):
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
