"""PPO on CartPole as a loop in torch over Gymnasium's vector of environments."""
import serve

try:
    import gymnasium
    import torch
    from torch import nn
except ImportError as error:
    serve.absent(error)

GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, RATE, NORM = 0.99, 0.95, 0.2, 0.01, 0.5, 2.5e-4, 0.5


def network(out, gain):
    layers = [nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, out)]
    for i, layer in enumerate(layers[::2]):
        nn.init.orthogonal_(layer.weight, gain if i == 2 else 2**0.5)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


class Trainer:
    def __init__(self, spec):
        self.envs, self.horizon = spec["envs"], spec["horizon"]
        self.epochs, self.minibatches = spec["epochs"], spec["minibatches"]
        torch.manual_seed(0)
        self.world = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * self.envs)
        self.policy, self.critic = network(2, 0.01), network(1, 1.0)
        self.params = [*self.policy.parameters(), *self.critic.parameters()]
        self.adam = torch.optim.Adam(self.params, lr=RATE, eps=1e-5)
        self.obs = torch.from_numpy(self.world.reset(seed=0)[0])

    @torch.no_grad()
    def collect(self):
        shape = (self.horizon, self.envs)
        obs, action = torch.empty(*shape, 4), torch.empty(shape, dtype=torch.int64)
        logp, value, reward, over = (torch.empty(shape) for _ in range(4))
        for t in range(self.horizon):
            choice = torch.distributions.Categorical(logits=self.policy(self.obs))
            obs[t], action[t], value[t] = self.obs, choice.sample(), self.critic(self.obs)[:, 0]
            logp[t] = choice.log_prob(action[t])
            after, gained, terminated, truncated, _ = self.world.step(action[t].numpy())
            reward[t], over[t] = torch.from_numpy(gained), torch.from_numpy(terminated | truncated)
            self.obs = torch.from_numpy(after)
        advantage, ahead, running = torch.empty(shape), self.critic(self.obs)[:, 0], torch.zeros(self.envs)
        for t in reversed(range(self.horizon)):
            goes_on = 1 - over[t]
            running = reward[t] + GAMMA * ahead * goes_on - value[t] + GAMMA * LAMBDA * goes_on * running
            advantage[t], ahead = running, value[t]
        self.length = self.envs * self.horizon / max(1.0, float(over.sum()))
        return [x.flatten(0, 1) for x in (obs, action, logp, value, advantage, advantage + value)]

    def loss(self, obs, action, logp, value, advantage, target):
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        choice = torch.distributions.Categorical(logits=self.policy(obs))
        ratio = (choice.log_prob(action) - logp).exp()
        surrogate = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
        now = self.critic(obs)[:, 0]
        near = value + (now - value).clamp(-CLIP, CLIP)
        error = 0.5 * torch.max((now - target) ** 2, (near - target) ** 2).mean()
        return VALUE * error - surrogate - ENTROPY * choice.entropy().mean()

    def iterate(self):
        batch = self.collect()
        for _ in range(self.epochs):
            for rows in torch.randperm(self.envs * self.horizon).chunk(self.minibatches):
                self.adam.zero_grad()
                self.loss(*(x[rows] for x in batch)).backward()
                nn.utils.clip_grad_norm_(self.params, NORM)
                self.adam.step()
        return 1


def prepare(spec):
    trainer = Trainer(spec)
    serve.faster_threads(torch, trainer.iterate)
    return trainer.iterate, lambda: [[trainer.length]]


serve.serve(torch.__version__.split("+")[0], prepare)
