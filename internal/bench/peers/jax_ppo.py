"""PPO on CartPole in JAX: environments, networks and optimiser are one jitted program."""
import serve

try:
    import jax
    import jax.numpy as jnp
    from jax import lax
except ImportError as error:
    serve.absent(error)
from functools import partial
from typing import NamedTuple

GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, RATE, NORM = 0.99, 0.95, 0.2, 0.01, 0.5, 2.5e-4, 0.5
STEPS_A_CALL = 1 << 16  # so that entering and leaving the program costs nothing


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


def network(key, out, gain):
    sizes, gains = ((4, 64), (64, 64), (64, out)), (2**0.5, 2**0.5, gain)
    keys = jax.random.split(key, 3)
    return [(jax.nn.initializers.orthogonal(g)(k, s), jnp.zeros(s[1])) for k, s, g in zip(keys, sizes, gains)]


def apply(layers, x):
    for w, b in layers[:-1]:
        x = jnp.tanh(x @ w + b)
    return x @ layers[-1][0] + layers[-1][1]


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


def loss(params, seen, advantage, target):
    logits = jax.nn.log_softmax(apply(params["policy"], seen.obs))
    value = apply(params["critic"], seen.obs)[:, 0]
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


def iteration(spec, carry, _):
    learner, world, key = carry
    rows = spec["envs"] * spec["horizon"]

    def act(carry, _):
        world, key = carry
        key, choose, reset = jax.random.split(key, 3)
        logits = jax.nn.log_softmax(apply(learner.params["policy"], world.state))
        value = apply(learner.params["critic"], world.state)[:, 0]
        action = jax.random.categorical(choose, logits)
        after, over = advance(world, action, reset)
        return (after, key), Seen(world.state, action, pick(logits, action), value, over)

    (world, key), seen = lax.scan(act, (world, key), length=spec["horizon"])

    def estimate(carry, at):
        running, ahead = carry
        goes_on = 1.0 - at.over
        running = 1.0 + GAMMA * ahead * goes_on - at.value + GAMMA * LAMBDA * goes_on * running
        return (running, at.value), running

    last = apply(learner.params["critic"], world.state)[:, 0]
    _, advantage = lax.scan(estimate, (jnp.zeros_like(last), last), seen, reverse=True)
    kept = seen._replace(over=None), advantage, advantage + seen.value
    batch = jax.tree.map(lambda x: x.reshape((rows,) + x.shape[2:]), kept)

    def epoch(carry, _):
        learner, key = carry
        key, shuffle = jax.random.split(key)
        order = jax.random.permutation(shuffle, rows)
        parts = jax.tree.map(lambda x: x[order].reshape((spec["minibatches"], -1) + x.shape[1:]), batch)
        learn = lambda learner, part: (adam(learner, jax.grad(loss)(learner.params, *part)), None)
        return (lax.scan(learn, learner, parts)[0], key), None

    (learner, key), _ = lax.scan(epoch, (learner, key), length=spec["epochs"])
    return (learner, world, key), rows / jnp.maximum(seen.over.sum(), 1)


def prepare(spec):
    updates = max(1, STEPS_A_CALL // (spec["envs"] * spec["horizon"]))
    train = jax.jit(lambda carry: lax.scan(partial(iteration, spec), carry, length=updates))
    key = jax.random.key(0)
    params = {"policy": network(jax.random.key(1), 2, 0.01), "critic": network(jax.random.key(2), 1, 1.0)}
    zeros = jax.tree.map(jnp.zeros_like, params)
    world = World(start(key, spec["envs"]), jnp.zeros(spec["envs"], int))
    state = [((Learner(params, zeros, zeros, jnp.zeros(())), world, key), None)]

    def run():
        state[0] = jax.block_until_ready(train(state[0][0]))
        return updates

    return run, lambda: [[float(state[0][1][-1])]]


serve.serve(jax.__version__, prepare)
