"""Workloads of weft bench engine in torch, eagerly."""
import serve

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    serve.absent(error)
import work

RATE, EPS, BETAS = 1e-6, 1e-8, (0.9, 0.999)
ACTIVATIONS = {"tanh": torch.tanh, "relu": torch.relu}


def network(spec):
    activation = ACTIVATIONS[spec["activation"]]

    def forward(params, x):
        layers = list(zip(params[::2], params[1::2]))
        if spec["kind"] == "cnn":
            for (kernel, bias), stride in zip(layers, (4, 2, 1)):
                x = activation(F.conv2d(x, kernel, bias, stride))
            # Channels are last in memory, so this copies nothing.
            x, layers = x.permute(0, 2, 3, 1).reshape(x.shape[0], -1), layers[3:]
        for weight, bias in layers[:-1]:
            x = activation(torch.addmm(bias, x, weight))
        return torch.addmm(layers[-1][1], x, layers[-1][0])

    return forward


def tensors(spec):
    x, *params = [torch.from_numpy(v) for v in work.inputs(spec)]
    if spec["kind"] == "cnn":
        x = x.permute(0, 3, 1, 2)
        params = [p.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last) if p.dim() == 4 else p for p in params]
    return x, params


def prepare(spec):
    run, values = workload(spec)
    threads = spec["threads"]
    if not threads:
        serve.faster_threads(torch, run)
        return run, values

    def run_on_threads():
        torch.set_num_threads(threads)
        return run()

    return run_on_threads, values


def workload(spec):
    x, params = tensors(spec)
    if spec["kind"] == "product":
        return forward_only(lambda: x @ params[0])
    forward = network(spec)
    if spec["pass"] == "forward":
        return forward_only(lambda: forward(params, x))
    return backward(spec, forward, params, x)


def forward_only(function):
    def run():
        with torch.inference_mode():
            function()
        return 1

    return run, lambda: [work.digest(function())]


def backward(spec, forward, initial, x):
    def fresh():
        params = [p.clone(memory_format=torch.preserve_format).requires_grad_() for p in initial]
        adam = torch.optim.Adam(params, lr=RATE, betas=BETAS, eps=EPS, fused=True) if spec["pass"] == "adam" else None
        return params, adam

    def step(params, adam):
        for p in params:
            p.grad = None
        loss = forward(params, x).square().sum()
        loss.backward()
        if adam:
            adam.step()
        return loss.detach()

    state = fresh()

    def run():
        step(*state)
        return 1

    def values():
        params, adam = fresh()
        out = [step(params, adam)]
        if adam:
            out += [p.detach() for p in params]
            out += [adam.state[p][name] for name in ("exp_avg", "exp_avg_sq") for p in params]
        else:
            out += [p.grad.permute(2, 3, 1, 0) if p.dim() == 4 else p.grad for p in params]
        return [work.digest(v) for v in out]

    return run, values


serve.serve(torch.__version__.split("+")[0], prepare)
