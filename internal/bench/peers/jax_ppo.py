"""PPO on CartPole in JAX: environments, networks and optimiser are one jitted program.

What spec["way"] names is tuned for a GPU: "unrolled" writes 16 rounds of its scans out as one, "strided" takes minibatches
by a stride from a random place instead of a permutation, "merged" does both, runs the two networks as one and estimates
advantages by an associative scan.
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

GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, RATE, NORM = 0.99, 0.95, 0.2, 0.01, 0.5, 2.5e-4, 0.5
STEPS_A_CALL = 1 << 19 if jax.default_backend() == "gpu" else 1 << 16  # so that entering and leaving the program costs nothing


class Learner(NamedTuple):
    params: dict
    first: dict
    second: dict
    clock: jax.Array


class World(NamedTuple):
    state: jax.Array
    age: jax.Array


class Seen(NamedTuple):
    obs: jax.Array
    action: jax.Array
    logp: jax.Array
    value: jax.Array
    over: jax.Array


def network(key, width, out, gain):
    sizes, gains = ((4, width), (width, width), (width, out)), (2**0.5, 2**0.5, gain)
    keys = jax.random.split(key, 3)
    return [(jax.nn.initializers.orthogonal(g)(k, s), jnp.zeros(s[1])) for k, s, g in zip(keys, sizes, gains)]


def apply(layers, x):
    for w, b in layers[:-1]:
        x = jnp.tanh(x @ w + b)
    return x @ layers[-1][0] + layers[-1][1]


def fused(params):
    """Both networks as the layers of one: side by side, then in blocks on the diagonal."""
    (a, x), (b, y) = zip(*params["policy"]), zip(*params["critic"])
    block = lambda p, q: jnp.block([[p, jnp.zeros((p.shape[0], q.shape[1]))], [jnp.zeros((q.shape[0], p.shape[1])), q]])
    weights = [jnp.concatenate([a[0], b[0]], axis=1), block(a[1], b[1]), block(a[2], b[2])]
    return [(w, jnp.concatenate(bias)) for w, bias in zip(weights, zip(x, y))]


def networks(spec, params, obs):
    if spec["way"] == "merged":
        out = apply(fused(params), obs)
        return out[:, :2], out[:, 2]
    return apply(params["policy"], obs), apply(params["critic"], obs)[:, 0]


def pick(table, index):
    return jnp.take_along_axis(table, index[:, None], axis=1)[:, 0]


def start(key, envs):
    return jax.random.uniform(key, (envs, 4), minval=-0.05, maxval=0.05)


def advance(world, action, key):
    """CartPole-v1; an episode that is over begins again in the same step."""
    position, speed, angle, spin = world.state.T
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    push = (jnp.where(action == 1, 10.0, -10.0) + 0.05 * spin**2 * sin) / 1.1
    turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
    pull = push - 0.05 * turn * cos / 1.1
    state = jnp.stack([position + 0.02 * speed, speed + 0.02 * pull, angle + 0.02 * spin, spin + 0.02 * turn], axis=1)
    age = world.age + 1
    over = (jnp.abs(state[:, 0]) > 2.4) | (jnp.abs(state[:, 2]) > 0.2095) | (age >= 500)
    fresh = start(key, state.shape[0])
    return World(jnp.where(over[:, None], fresh, state), jnp.where(over, 0, age)), over


def loss(params, spec, seen, advantage, target):
    logits, value = networks(spec, params, seen.obs)
    logits = jax.nn.log_softmax(logits)
    ratio = jnp.exp(pick(logits, seen.action) - seen.logp)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    surrogate = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage).mean()
    near = seen.value + jnp.clip(value - seen.value, -CLIP, CLIP)
    error = 0.5 * jnp.maximum((value - target) ** 2, (near - target) ** 2).mean()
    entropy = -(jnp.exp(logits) * logits).sum(axis=1).mean()
    return VALUE * error - surrogate - ENTROPY * entropy


def adam(learner, grads):
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, NORM / (norm + 1e-6)), grads)
    clock = learner.clock + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, learner.first, grads)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, learner.second, grads)

    def step(p, m, v):
        return p - RATE * (m / (1 - 0.9**clock)) / (jnp.sqrt(v / (1 - 0.999**clock)) + 1e-5)

    return Learner(jax.tree.map(step, learner.params, first, second), first, second, clock)


def associative(seen, last):
    goes_on = 1.0 - seen.over
    delta = 1.0 + GAMMA * jnp.concatenate([seen.value[1:], last[None]]) * goes_on - seen.value
    join = lambda later, earlier: (later[0] * earlier[0], earlier[1] + earlier[0] * later[1])
    return lax.associative_scan(join, (GAMMA * LAMBDA * goes_on, delta), reverse=True)[1]


def parts(spec, batch, key):
    """The minibatches of an epoch."""
    rows, count = spec["envs"] * spec["horizon"], spec["minibatches"]
    if spec["way"] in ("strided", "merged"):
        by = jax.random.randint(key, (), 0, rows)
        take = lambda x: jnp.roll(x, by, 0).reshape((-1, count) + x.shape[1:]).swapaxes(0, 1)
    else:
        order = jax.random.permutation(key, rows)
        take = lambda x: x[order].reshape((count, -1) + x.shape[1:])
    return jax.tree.map(take, batch)


def iteration(spec, carry, _):
    learner, world, key = carry
    rows = spec["envs"] * spec["horizon"]
    unroll = 16 if spec["way"] in ("unrolled", "merged") else 1

    def act(carry, _):
        world, key = carry
        key, choose, reset = jax.random.split(key, 3)
        logits, value = networks(spec, learner.params, world.state)
        logits = jax.nn.log_softmax(logits)
        action = jax.random.categorical(choose, logits)
        after, over = advance(world, action, reset)
        return (after, key), Seen(world.state, action, pick(logits, action), value, over)

    (world, key), seen = lax.scan(act, (world, key), length=spec["horizon"], unroll=unroll)

    def estimate(carry, at):
        running, ahead = carry
        goes_on = 1.0 - at.over
        running = 1.0 + GAMMA * ahead * goes_on - at.value + GAMMA * LAMBDA * goes_on * running
        return (running, at.value), running

    last = apply(learner.params["critic"], world.state)[:, 0]
    if spec["way"] == "merged":
        advantage = associative(seen, last)
    else:
        _, advantage = lax.scan(estimate, (jnp.zeros_like(last), last), seen, reverse=True, unroll=unroll)
    kept = seen._replace(over=None), advantage, advantage + seen.value
    batch = jax.tree.map(lambda x: x.reshape((rows,) + x.shape[2:]), kept)

    def epoch(carry, _):
        learner, key = carry
        key, shuffle = jax.random.split(key)
        learn = lambda learner, part: (adam(learner, jax.grad(loss)(learner.params, spec, *part)), None)
        return (lax.scan(learn, learner, parts(spec, batch, shuffle))[0], key), None

    (learner, key), _ = lax.scan(epoch, (learner, key), length=spec["epochs"])
    return (learner, world, key), rows / jnp.maximum(seen.over.sum(), 1)


def prepare(spec):
    spec.setdefault("way", "jit")
    updates = max(1, STEPS_A_CALL // (spec["envs"] * spec["horizon"]))
    train = jax.jit(lambda carry: lax.scan(partial(iteration, spec), carry, length=updates))
    key = jax.random.key(0)
    width = spec.get("width", 64)
    params = {"policy": network(jax.random.key(1), width, 2, 0.01), "critic": network(jax.random.key(2), width, 1, 1.0)}
    zeros = jax.tree.map(jnp.zeros_like, params)
    world = World(start(key, spec["envs"]), jnp.zeros(spec["envs"], int))
    state = [((Learner(params, zeros, zeros, jnp.zeros(())), world, key), None)]

    def run():
        state[0] = jax.block_until_ready(train(state[0][0]))
        return updates

    return run, lambda: [[float(state[0][1][-1])]]


serve.serve(jax.__version__, prepare)
