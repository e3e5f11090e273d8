"""DQN on CartPole and SAC on Pendulum in JAX: environments, table, networks and optimisers are one jitted program.

What spec["way"] names is tuned for a GPU: "unrolled" writes up to 8 rounds of its scans out as one, "merged" does so too, runs
the critics as one network with an axis more and fetches the rows of all updates of an iteration at once.
"""
import os

import serve

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others are on the device as well

try:
    import jax
    import jax.numpy as jnp
    from jax import lax
except ImportError as error:
    serve.absent(error)
from functools import partial
from typing import NamedTuple

GAMMA, TAU, TARGET_EVERY = 0.99, 0.005, 500
UPDATES_A_CALL = 512  # so that entering and leaving the program costs nothing


class World(NamedTuple):
    state: jax.Array
    age: jax.Array


class Row(NamedTuple):
    obs: jax.Array
    action: jax.Array
    reward: jax.Array
    after: jax.Array
    ended: jax.Array


class Adam(NamedTuple):
    params: dict
    first: dict
    second: dict
    clock: jax.Array


def adam(params):
    zeros = lambda: jax.tree.map(jnp.zeros_like, params)
    return Adam(params, zeros(), zeros(), jnp.zeros(()))


def descend(a, grads, rate):
    clock = a.clock + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, a.first, grads)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, a.second, grads)
    root, scale = jnp.sqrt(1 - 0.999**clock), rate / (1 - 0.9**clock)
    step = lambda p, m, v: p - scale * m / (jnp.sqrt(v) / root + 1e-8)
    return Adam(jax.tree.map(step, a.params, first, second), first, second, clock)


def network(key, sizes):
    pairs = list(zip(sizes, sizes[1:]))
    keys = jax.random.split(key, len(pairs))
    return [(jax.nn.initializers.orthogonal(2**0.5)(k, s), jnp.zeros(s[1])) for k, s in zip(keys, pairs)]


def apply(layers, x):
    for w, b in layers[:-1]:
        x = jax.nn.relu(x @ w + b)
    return x @ layers[-1][0] + layers[-1][1]


class CartPole:
    seen, ends = 4, 500

    def start(key, n):
        return jax.random.uniform(key, (n, 4), minval=-0.05, maxval=0.05)

    def obs(state):
        return state

    def advance(state, action):
        position, speed, angle, spin = state.T
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        push = (jnp.where(action == 1, 10.0, -10.0) + 0.05 * spin**2 * sin) / 1.1
        turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        pull = push - 0.05 * turn * cos / 1.1
        after = jnp.stack([position + 0.02 * speed, speed + 0.02 * pull, angle + 0.02 * spin, spin + 0.02 * turn], axis=1)
        ended = (jnp.abs(after[:, 0]) > 2.4) | (jnp.abs(after[:, 2]) > 0.2095)
        return after, jnp.ones(len(after)), ended


class Pendulum:
    seen, ends = 3, 200

    def start(key, n):
        return jax.random.uniform(key, (n, 2), minval=-1.0, maxval=1.0) * jnp.array([jnp.pi, 1.0])

    def obs(state):
        return jnp.stack([jnp.cos(state[:, 0]), jnp.sin(state[:, 0]), state[:, 1]], axis=1)

    def advance(state, action):
        angle, speed = state.T
        torque = 2 * action[:, 0]
        off = (angle + jnp.pi) % (2 * jnp.pi) - jnp.pi
        cost = off**2 + 0.1 * speed**2 + 0.001 * torque**2
        speed = jnp.clip(speed + 0.05 * (15.0 * jnp.sin(angle) + 3.0 * torque), -8, 8)
        after = jnp.stack([angle + 0.05 * speed, speed], axis=1)
        return after, -cost, jnp.zeros(len(after), bool)


class DQN:
    world, action = CartPole, ((), jnp.int32)

    def init(spec, key):
        values = network(key, [4, *spec["hidden"], 2])
        return adam(values), jax.tree.map(jnp.copy, values)

    def act(agent, key, obs):
        draw, pick = jax.random.split(key)
        best = apply(agent[0].params, obs).argmax(-1)
        random = jax.random.randint(pick, best.shape, 0, 2)
        return jnp.where(jax.random.uniform(draw, best.shape) < 0.05, random, best)

    def learn(spec, agent, key, row):
        learner, target = agent
        goal = row.reward + GAMMA * (1 - row.ended) * apply(target, row.after).max(-1)

        def loss(params):
            value = jnp.take_along_axis(apply(params, row.obs), row.action[:, None], 1)[:, 0]
            return jnp.mean((value - goal) ** 2)

        return descend(learner, jax.grad(loss)(learner.params), 2.5e-4), target

    def settle(agent, before, now):
        learner, target = agent
        copies = now // TARGET_EVERY > before // TARGET_EVERY
        return learner, jax.tree.map(lambda old, new: jnp.where(copies, new, old), target, learner.params)


class SAC:
    world, action = Pendulum, ((1,), jnp.float32)

    def init(spec, key):
        first, second, third = jax.random.split(key, 3)
        critics = [network(k, [4, *spec["hidden"], 1]) for k in (first, second)]
        if spec["way"] == "merged":
            critics = jax.tree.map(lambda *x: jnp.stack(x), *critics)
        return adam(network(third, [3, *spec["hidden"], 2])), adam(critics), jax.tree.map(jnp.copy, critics), adam(jnp.zeros(()))

    def draw(policy, key, obs):
        mean, log = jnp.split(apply(policy, obs), 2, -1)
        log = -5 + 3.5 * (jnp.tanh(log) + 1)
        noise = jax.random.normal(key, mean.shape)
        raw = mean + jnp.exp(log) * noise
        logp = -0.5 * noise**2 - log - 0.5 * jnp.log(2 * jnp.pi) - 2 * (jnp.log(2.0) - raw - jax.nn.softplus(-2 * raw))
        return jnp.tanh(raw), logp.sum(-1)

    def judged(spec, critics, obs, action):
        x = jnp.concatenate([obs, action], -1)
        if spec["way"] == "merged":
            return jax.vmap(apply, (0, None))(critics, x)[..., 0]
        return jnp.stack([apply(c, x)[:, 0] for c in critics])

    def act(agent, key, obs):
        return SAC.draw(agent[0].params, key, obs)[0]

    def learn(spec, agent, key, row):
        policy, critics, target, heat = agent
        first, second = jax.random.split(key)
        alpha = jnp.exp(heat.params)
        ahead, logp = SAC.draw(policy.params, first, row.after)
        goal = row.reward + GAMMA * (1 - row.ended) * (SAC.judged(spec, target, row.after, ahead).min(0) - alpha * logp)

        def judge(params):
            return jnp.mean((SAC.judged(spec, params, row.obs, row.action) - goal) ** 2, -1).sum()

        critics = descend(critics, jax.grad(judge)(critics.params), 1e-3)

        def improve(params):
            action, logp = SAC.draw(params, second, row.obs)
            return jnp.mean(alpha * logp - SAC.judged(spec, critics.params, row.obs, action).min(0)), logp

        grads, logp = jax.grad(improve, has_aux=True)(policy.params)
        policy = descend(policy, grads, 1e-3)
        heat = descend(heat, jax.grad(lambda x: -jnp.mean(x * (logp - 1)))(heat.params), 1e-3)
        target = jax.tree.map(lambda old, new: old + TAU * (new - old), target, critics.params)
        return policy, critics, target, heat

    def settle(agent, before, now):
        return agent


def iteration(spec, kind, carry, _):
    agent, world, table, place, key = carry
    n, rows = spec["envs"], spec["buffer"]

    def step(carry, _):
        world, table, place, key = carry
        key, act, reset = jax.random.split(key, 3)
        obs = kind.world.obs(world.state)
        action = kind.act(agent, act, obs)
        after, reward, ended = kind.world.advance(world.state, action)
        age = world.age + 1
        over = ended | (age >= kind.world.ends)
        row = Row(obs, action, reward, kind.world.obs(after), ended.astype(jnp.float32))
        table = jax.tree.map(lambda t, x: lax.dynamic_update_slice_in_dim(t, x, place % rows, 0), table, row)
        state = jnp.where(over[:, None], kind.world.start(reset, n), after)
        return (World(state, jnp.where(over, 0, age)), table, place + n, key), None

    unroll = 1 if spec["way"] == "jit" else 8
    before, updates, batch = place, spec["updates"], spec["batch"]
    (world, table, place, key), _ = lax.scan(step, (world, table, place, key), length=spec["every"], unroll=min(unroll, spec["every"]))
    held = jnp.minimum(place, rows)
    fetch = lambda key, *shape: jax.tree.map(lambda t: t[jax.random.randint(key, shape, 0, held)], table)

    def update(carry, row):
        agent, key = carry
        key, draw, learn = jax.random.split(key, 3)
        return (kind.learn(spec, agent, learn, fetch(draw, batch) if row is None else row), key), None

    key, ahead = jax.random.split(key)
    given = fetch(ahead, updates, batch) if spec["way"] == "merged" else None
    (agent, key), _ = lax.scan(update, (agent, key), given, length=updates, unroll=min(unroll, updates))
    agent = kind.settle(agent, before, place)
    lap = (1 << 30) // rows * rows  # 32 bits would not hold the steps of a long run
    return (agent, world, table, jnp.where(place >= lap + rows, place - lap, place), key), None


def prepare(spec):
    kind = {"dqn": DQN, "sac": SAC}[spec["algorithm"]]
    n = spec["envs"]
    spec.setdefault("way", "jit")
    spec["buffer"] -= spec["buffer"] % n
    iterations = max(1, UPDATES_A_CALL // spec["updates"])
    seen, (shape, dtype) = kind.world.seen, kind.action
    blank = lambda *s, dtype=jnp.float32: jnp.zeros((spec["buffer"], *s), dtype)
    table = Row(blank(seen), blank(*shape, dtype=dtype), blank(), blank(seen), blank())
    world = World(kind.world.start(jax.random.key(0), n), jnp.zeros(n, int))
    state = [(kind.init(spec, jax.random.key(1)), world, table, jnp.zeros((), int), jax.random.key(2))]
    train = jax.jit(lambda carry: lax.scan(partial(iteration, spec, kind), carry, length=iterations)[0], donate_argnums=0)

    def run():
        state[0] = jax.block_until_ready(train(state[0]))
        return iterations

    def values():
        """Mean reward, and how often an episode ends, of the table."""
        table = state[0][2]
        return [[float(table.reward.mean()), float(table.ended.mean())]]

    return run, values


serve.serve(jax.__version__, prepare)
