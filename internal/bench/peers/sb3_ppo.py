"""PPO on CartPole through Stable-Baselines3."""
import serve

try:
    import stable_baselines3
    import torch
    from stable_baselines3.common.env_util import make_vec_env
except ImportError as error:
    serve.absent(error)


def prepare(spec):
    steps = spec["envs"] * spec["horizon"]
    # Its MlpPolicy is two networks of 2x64 tanh units.
    model = stable_baselines3.PPO(
        "MlpPolicy", make_vec_env("CartPole-v1", spec["envs"]), learning_rate=2.5e-4, n_steps=spec["horizon"],
        batch_size=steps // spec["minibatches"], n_epochs=spec["epochs"], clip_range_vf=0.2, ent_coef=0.01, device="cpu",
    )

    def run():
        model.learn(steps, reset_num_timesteps=False)
        return 1

    serve.faster_threads(torch, run)
    return run, lambda: [[float(sum(e["l"] for e in model.ep_info_buffer) / len(model.ep_info_buffer))]]


serve.serve(stable_baselines3.__version__, prepare)
