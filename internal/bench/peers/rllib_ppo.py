"""PPO through RLlib: on CartPole with a worker for every core, or on what the case says. It runs on
the cluster that RAY_ADDRESS names, or on one of its own."""
import logging
import os
import warnings

import serve

os.environ.setdefault("RAY_DEDUP_LOGS", "0")
warnings.filterwarnings("ignore")

try:
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.tune.registry import register_env

    import slow_env
except ImportError as error:
    serve.absent(error)


def prepare(spec):
    steps = spec["envs"] * spec["horizon"]
    workers = spec.get("workers") or min(serve.cores(), spec["envs"])
    env = spec.get("env", "CartPole-v1")
    if env != "CartPole-v1":
        ray.cloudpickle.register_pickle_by_value(slow_env)
        register_env(env, lambda _: slow_env.Slow())
    # Its default model is two networks that share nothing, of tanh units.
    config = (
        PPOConfig()
        .environment(env)
        .env_runners(num_env_runners=workers, num_envs_per_env_runner=-(-spec["envs"] // workers), rollout_fragment_length=spec["horizon"])
        .training(train_batch_size=steps, minibatch_size=steps // spec["minibatches"], num_epochs=spec["epochs"], lr=2.5e-4)
        .rl_module(model_config=dict(fcnet_hiddens=[64, 64], vf_share_layers=False))
    )
    ray.init(ignore_reinit_error=True, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    algorithm = config.build_algo()

    def run():
        algorithm.train()
        return 1

    return run, lambda: [[float(steps)]]


serve.serve(ray.__version__, prepare)
