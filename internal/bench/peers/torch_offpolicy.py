"""SAC, TD3 and DQN as loops in torch over one environment of Gymnasium: one file, no library between, as CleanRL's are."""
import copy

import serve

try:
    import gymnasium
    import numpy
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as error:
    serve.absent(error)

GAMMA, TAU, NOISE, SMOOTH, EDGE, TARGET_EVERY = 0.99, 0.005, 0.1, 0.2, 0.5, 500


def network(into, hidden, out):
    layers = []
    for width in hidden:
        layers += [nn.Linear(into, width), nn.ReLU()]
        into = width
    return nn.Sequential(*layers, nn.Linear(into, out))


class Table:
    """The last transitions."""

    def __init__(self, rows, seen, acted, choices):
        self.rows, self.next, self.full = rows, 0, False
        self.obs, self.after = numpy.zeros((rows, seen), numpy.float32), numpy.zeros((rows, seen), numpy.float32)
        self.action = numpy.zeros((rows, acted), numpy.int64 if choices else numpy.float32)
        self.reward, self.ended = numpy.zeros(rows, numpy.float32), numpy.zeros(rows, numpy.float32)

    def insert(self, *row):
        for column, x in zip((self.obs, self.action, self.reward, self.after, self.ended), row):
            column[self.next] = x
        self.next = (self.next + 1) % self.rows
        self.full |= self.next == 0

    def sample(self, batch):
        at = numpy.random.randint(self.rows if self.full else self.next, size=batch)
        return [torch.from_numpy(x[at]) for x in (self.obs, self.action, self.reward, self.after, self.ended)]


def blend(target, source):
    with torch.no_grad():
        for old, new in zip(target.parameters(), source.parameters()):
            old.mul_(1 - TAU).add_(new, alpha=TAU)


def descend(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


class Critics(nn.Module):
    def __init__(self, seen, acted, hidden):
        super().__init__()
        self.each = nn.ModuleList(network(seen + acted, hidden, 1) for _ in range(2))

    def forward(self, obs, action):
        x = torch.cat([obs, action], -1)
        return [critic(x)[:, 0] for critic in self.each]


class SAC:
    def __init__(self, seen, acted, hidden):
        self.acted, self.policy, self.critics = acted, network(seen, hidden, 2 * acted), Critics(seen, acted, hidden)
        self.target = copy.deepcopy(self.critics)
        self.log = torch.zeros(1, requires_grad=True)
        self.on_critics, self.on_policy = (torch.optim.Adam(x.parameters(), lr=1e-3) for x in (self.critics, self.policy))
        self.on_log = torch.optim.Adam([self.log], lr=1e-3)

    def draw(self, obs):
        mean, spread = self.policy(obs).chunk(2, -1)
        normal = torch.distributions.Normal(mean, (-5 + 3.5 * (torch.tanh(spread) + 1)).exp())
        raw = normal.rsample()
        action = torch.tanh(raw)
        return action, (normal.log_prob(raw) - torch.log(1 - action**2 + 1e-6)).sum(-1)

    @torch.no_grad()
    def act(self, obs):
        return self.draw(obs)[0]

    def learn(self, obs, action, reward, after, ended):
        alpha = self.log.exp().detach()
        with torch.no_grad():
            ahead, logp = self.draw(after)
            goal = reward + GAMMA * (1 - ended) * (torch.min(*self.target(after, ahead)) - alpha * logp)
        descend(self.on_critics, sum(functional.mse_loss(q, goal) for q in self.critics(obs, action)))
        mine, logp = self.draw(obs)
        descend(self.on_policy, (alpha * logp - torch.min(*self.critics(obs, mine))).mean())
        descend(self.on_log, (-self.log.exp() * (logp.detach() - self.acted)).mean())
        blend(self.target, self.critics)


class TD3:
    def __init__(self, seen, acted, hidden):
        self.policy, self.critics, self.updates = network(seen, hidden, acted), Critics(seen, acted, hidden), 0
        self.targets = copy.deepcopy(self.policy), copy.deepcopy(self.critics)
        self.on_critics, self.on_policy = (torch.optim.Adam(x.parameters(), lr=1e-3) for x in (self.critics, self.policy))

    @torch.no_grad()
    def act(self, obs):
        action = torch.tanh(self.policy(obs))
        return (action + NOISE * torch.randn_like(action)).clamp(-1, 1)

    def learn(self, obs, action, reward, after, ended):
        policy, critics = self.targets
        with torch.no_grad():
            noise = (SMOOTH * torch.randn_like(action)).clamp(-EDGE, EDGE)
            ahead = (torch.tanh(policy(after)) + noise).clamp(-1, 1)
            goal = reward + GAMMA * (1 - ended) * torch.min(*critics(after, ahead))
        descend(self.on_critics, sum(functional.mse_loss(q, goal) for q in self.critics(obs, action)))
        self.updates += 1
        if self.updates % 2 == 0:
            descend(self.on_policy, -self.critics(obs, torch.tanh(self.policy(obs)))[0].mean())
            blend(policy, self.policy)
            blend(critics, self.critics)


class DQN:
    def __init__(self, seen, choices, hidden):
        self.choices, self.values, self.updates = choices, network(seen, hidden, choices), 0
        self.target = copy.deepcopy(self.values)
        self.on_values = torch.optim.Adam(self.values.parameters(), lr=2.5e-4)

    @torch.no_grad()
    def act(self, obs):
        if numpy.random.random() < 0.05:
            return torch.randint(self.choices, (1,))
        return self.values(obs).argmax(-1, keepdim=True)[0]

    def learn(self, obs, action, reward, after, ended):
        with torch.no_grad():
            goal = reward + GAMMA * (1 - ended) * self.target(after).max(-1).values
        descend(self.on_values, functional.mse_loss(self.values(obs).gather(1, action)[:, 0], goal))
        self.updates += 1
        if self.updates % (TARGET_EVERY // 10) == 0:
            self.target.load_state_dict(self.values.state_dict())


def prepare(spec):
    torch.manual_seed(0)
    world = gymnasium.make(spec["env"])
    choices = isinstance(world.action_space, gymnasium.spaces.Discrete)
    acted = world.action_space.n if choices else world.action_space.shape[0]
    seen = world.observation_space.shape[0]
    agent = {"sac": SAC, "td3": TD3, "dqn": DQN}[spec["algorithm"]](seen, int(acted), spec["hidden"])
    table = Table(spec["buffer"], seen, 1 if choices else int(acted), choices)
    state = {"obs": world.reset(seed=0)[0].astype(numpy.float32)}

    def step(action):
        after, reward, terminated, truncated, _ = world.step(int(action) if choices else action)
        after = after.astype(numpy.float32)
        table.insert(state["obs"], action, reward, after, terminated)
        state["obs"] = world.reset()[0].astype(numpy.float32) if terminated or truncated else after

    for _ in range(spec["starts"]):
        step(world.action_space.sample())

    def run():
        for _ in range(spec["every"]):
            chosen = agent.act(torch.from_numpy(state["obs"])[None] if choices else torch.from_numpy(state["obs"]))
            step(chosen.numpy()[0] if choices else chosen.numpy())
        agent.learn(*table.sample(spec["batch"]))
        return 1

    serve.faster_threads(torch, run)
    return run, lambda: [[float(table.next)]]


serve.serve(torch.__version__, prepare)
