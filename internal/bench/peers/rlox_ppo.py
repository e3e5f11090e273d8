"""PPO on CartPole through rlox, whose environments are Rust and whose networks torch."""
import serve

try:
    import importlib.metadata

    import rlox
    import torch
except ImportError as error:
    serve.absent(error)


def prepare(spec):
    steps = spec["envs"] * spec["horizon"]
    trainer = rlox.Trainer("ppo", env="CartPole-v1", config=dict(
        n_envs=spec["envs"], n_steps=spec["horizon"], n_epochs=spec["epochs"], batch_size=steps // spec["minibatches"],
    ))

    def run():
        trainer.train(total_timesteps=steps)
        return 1

    serve.faster_threads(torch, run)
    return run, lambda: []


serve.serve(importlib.metadata.version("rlox"), prepare)
