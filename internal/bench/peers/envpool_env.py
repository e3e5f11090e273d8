"""EnvPool's environments, on as many threads as there are cores."""
import serve

try:
    import envpool
    import numpy as np
except ImportError as error:
    serve.absent(error)


def prepare(spec):
    n = spec["envs"]
    envs = envpool.make_gymnasium(spec["id"], num_envs=n, seed=1, num_threads=serve.cores())
    envs.reset()
    draw = lambda: np.array([envs.action_space.sample() for _ in range(n)])
    actions, at = [draw() for _ in range(16)], 0

    def run():
        nonlocal at
        envs.step(actions[at % 16])
        at += 1
        return 1

    return run, lambda: []


serve.serve(envpool.__version__, prepare)
