"""SAC, TD3 and DQN through SBX, whose updates are programs of JAX."""
import serve

try:
    import gymnasium
    import sbx
except ImportError as error:
    serve.absent(error)


def prepare(spec):
    common = dict(
        learning_rate=2.5e-4 if spec["algorithm"] == "dqn" else 1e-3, buffer_size=spec["buffer"],
        learning_starts=spec["starts"], batch_size=spec["batch"], train_freq=spec["every"], gradient_steps=1,
        policy_kwargs=dict(net_arch=spec["hidden"]),
    )
    if spec["algorithm"] == "dqn":
        common.update(target_update_interval=500)
    model = getattr(sbx, spec["algorithm"].upper())("MlpPolicy", gymnasium.make(spec["env"]), **common)
    model.learn(spec["starts"] + spec["every"])
    calls = 64  # as with sb3

    def run():
        model.learn(calls * spec["steps"], reset_num_timesteps=False)
        return calls

    return run, lambda: [[float(model.num_timesteps)]]


serve.serve(sbx.__version__, prepare)
