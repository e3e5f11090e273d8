"""Runs ONNX models for a test: a request is a line of JSON and the bytes of its arrays, and so is the answer."""
import json
import sys

import numpy
import onnxruntime

sessions = {}


def session(path):
    if path not in sessions:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        sessions[path] = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return sessions[path]


for line in sys.stdin.buffer:
    request = json.loads(line)
    arrays = {}
    for a in request["arrays"]:
        data = sys.stdin.buffer.read(a["bytes"])
        arrays[a["name"]] = numpy.frombuffer(data, a["type"]).reshape(a["shape"])
    model = session(request["model"])
    names = [o.name for o in model.get_outputs()]
    wanted = {i.name for i in model.get_inputs()}
    out = model.run(names, {k: v for k, v in arrays.items() if k in wanted})
    head = [{"name": n, "type": str(x.dtype), "shape": x.shape, "bytes": x.nbytes} for n, x in zip(names, out)]
    sys.stdout.buffer.write(json.dumps({"arrays": head, "inputs": sorted(wanted)}).encode() + b"\n")
    for x in out:
        sys.stdout.buffer.write(numpy.ascontiguousarray(x).tobytes())
    sys.stdout.buffer.flush()
