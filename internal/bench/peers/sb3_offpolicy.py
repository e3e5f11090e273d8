"""SAC, TD3 and DQN through Stable-Baselines3."""
import serve

try:
    import gymnasium
    import stable_baselines3
    import torch
except ImportError as error:
    serve.absent(error)


def prepare(spec):
    common = dict(
        learning_rate=2.5e-4 if spec["algorithm"] == "dqn" else 1e-3, buffer_size=spec["buffer"],
        learning_starts=spec["starts"], batch_size=spec["batch"], train_freq=spec["every"], gradient_steps=1,
        policy_kwargs=dict(net_arch=spec["hidden"]), device="cpu",
    )
    if spec["algorithm"] == "dqn":
        common.update(target_update_interval=500)
    make = getattr(stable_baselines3, spec["algorithm"].upper())
    model = make("MlpPolicy", gymnasium.make(spec["env"]), **common)
    model.learn(spec["starts"] + spec["every"])
    # One call of learn has costs of its own, which a longer one shares out.
    calls = 64

    def run():
        model.learn(calls * spec["steps"], reset_num_timesteps=False)
        return calls

    serve.faster_threads(torch, run)
    return run, lambda: [[float(model.num_timesteps)]]


serve.serve(stable_baselines3.__version__, prepare)
