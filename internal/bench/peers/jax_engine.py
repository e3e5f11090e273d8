"""Workloads of weft bench engine in JAX: each is one jitted function."""
import serve

try:
    import jax
    import jax.numpy as jnp
    from jax import lax
except ImportError as error:
    serve.absent(error)
import work

RATE, EPS, BETA1, BETA2 = 1e-6, 1e-8, 0.9, 0.999
ACTIVATIONS = {"tanh": jnp.tanh, "relu": lambda x: jnp.maximum(x, 0)}


def network(spec):
    activation = ACTIVATIONS[spec["activation"]]

    def forward(params, x):
        layers = list(zip(params[::2], params[1::2]))
        if spec["kind"] == "cnn":
            for (kernel, bias), stride in zip(layers, (4, 2, 1)):
                x = lax.conv_general_dilated(x, kernel, (stride, stride), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
                x = activation(x + bias)
            x, layers = x.reshape(x.shape[0], -1), layers[3:]
        for weight, bias in layers[:-1]:
            x = activation(x @ weight + bias)
        return x @ layers[-1][0] + layers[-1][1]

    return forward


def adam_step(gradient):
    def step(state, x):
        params, first, second, clock = state
        loss, grads = gradient(params, x)
        clock = clock + 1
        first = [BETA1 * m + (1 - BETA1) * g for m, g in zip(first, grads)]
        second = [BETA2 * v + (1 - BETA2) * g * g for v, g in zip(second, grads)]
        rate, root = RATE / (1 - BETA1**clock), jnp.sqrt(1 - BETA2**clock)
        params = [p - rate * m / (jnp.sqrt(v) / root + EPS) for p, m, v in zip(params, first, second)]
        return (params, first, second, clock), loss

    return step


def prepare(spec):
    x, *params = [jnp.asarray(v) for v in work.inputs(spec)]
    if spec["kind"] == "product":
        return call(jax.jit(jnp.matmul), x, params[0])
    forward = network(spec)
    if spec["pass"] == "forward":
        return call(jax.jit(forward), params, x)
    gradient = jax.value_and_grad(lambda p, x: jnp.sum(forward(p, x) ** 2))
    if spec["pass"] == "gradient":
        return call(jax.jit(gradient), params, x)
    return train(jax.jit(adam_step(gradient), donate_argnums=0), params, x)


def call(function, *args):
    def run():
        jax.block_until_ready(function(*args))
        return 1

    return run, lambda: [work.digest(v) for v in jax.tree.leaves(function(*args))]


def train(step, params, x):
    def fresh():
        zeros = lambda: [jnp.zeros_like(p) for p in params]
        return [p.copy() for p in params], zeros(), zeros(), jnp.zeros(())

    state = [fresh()]

    def run():
        state[0], loss = step(state[0], x)
        jax.block_until_ready((state[0], loss))
        return 1

    def values():
        after, loss = step(fresh(), x)
        return [work.digest(v) for v in [loss, *after[0], *after[1], *after[2]]]

    return run, values


serve.serve(jax.__version__, prepare)
