"""The worker's side of the protocol; what it serves is an adapter.

Messages come on descriptor 3 and are answered on 4. A message is one byte, for
everything but a step followed by its length and its content:

    s                one step: actions are in shared memory, results go there
    j LENGTH JSON    anything else; LENGTH is 4 bytes, little-endian
    b LENGTH BYTES   what belongs to the JSON message before it
    k                done (answers only)
    e LENGTH JSON    what went wrong (answers only)

Shared memory is descriptor 5, a list of arrays with a row for each environment
of the batch; the parent says where each lies. End of file on 3 means that the
parent is gone.
"""
import gc, importlib, json, mmap, os, sys, traceback

import weft_failure


class Arrays:
    """The arrays in shared memory, as far as they belong to this worker."""

    def __init__(self, ask):
        import numpy as np

        memory = mmap.mmap(5, ask["size"])
        self.all = {}
        for a in ask["arrays"]:
            whole = np.ndarray([ask["of"]] + a["shape"], a["dtype"], memory, a["offset"])
            self.all[a["name"]] = whole[ask["first"] : ask["first"] + ask["rows"]]

    def __getitem__(self, name):
        return self.all[name]


def read(n):
    parts = []
    while n > 0:
        part = os.read(3, min(n, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def write(data):
    view = memoryview(data)
    while view:
        view = view[os.write(4, view) :]


def framed(kind, data):
    write(kind + len(data).to_bytes(4, "little") + data)


def frame():
    return read(int.from_bytes(read(4), "little"))


class Worker:
    adapter = None

    def do(self, ask):
        """One JSON message; the answer is JSON and, if any, bytes."""
        what = ask["do"]
        if what == "make":
            for package, module in ask["needs"]:
                weft_failure.installed(package, module)
            module, _, name = ask["adapter"].partition(":")
            adapter = getattr(importlib.import_module(module), name)
            self.adapter = adapter.__new__(adapter)  # known before it fails: it says where
            self.adapter.__init__(ask)
            return self.adapter.describe(), None
        if what == "attach":
            if ask["limit"]:
                self.adapter.limit(ask["limit"])
            self.adapter.attach(Arrays(ask))
            gc.collect()
            gc.freeze()  # what lives as long as the worker need not be looked at again
            return {}, None
        if what == "film":
            self.adapter.turn(ask["env"])
            return {}, None
        if what == "picture":
            x = self.adapter.picture
            return {"shape": list(x.shape)}, x.tobytes()
        if what == "reset":
            self.adapter.reset(ask["seeds"])
            return {}, None
        if what == "save":
            parts = self.adapter.save()
            return {"sizes": [len(p) for p in parts]}, b"".join(parts)
        if what == "load":
            data, parts = self.bytes(), []
            for size in ask["sizes"]:
                parts.append(data[:size])
                data = data[size:]
            self.adapter.load(parts)
            return {}, None
        raise ValueError(f"unknown message {what}")

    def bytes(self):
        kind = read(1)
        assert kind == b"b", kind
        return frame()

    def answer(self, ask):
        try:
            reply, data = self.do(ask)
        except EOFError:
            raise
        except BaseException as e:
            framed(b"e", self.explain(e))
            return
        framed(b"j", json.dumps(reply).encode())
        if data is not None:
            framed(b"b", data)

    def explain(self, e):
        """What went wrong, as the parent tells it."""
        row = getattr(self.adapter, "at", None)
        out = {"env": row, "step": getattr(self.adapter, "steps", 0)}
        if isinstance(e, weft_failure.Plain):
            out["text"] = str(e)
        else:
            out["text"] = "".join(traceback.format_exception_only(e)).strip()
            out["traceback"] = "".join(traceback.format_exception(e)).strip()
        return json.dumps(out).encode()

    def serve(self):
        byte, ring, done = os.read, os.write, b"k"
        while True:
            kind = byte(3, 1)
            if kind == b"s":
                try:
                    self.adapter.step()
                except BaseException as e:
                    framed(b"e", self.explain(e))
                else:
                    ring(4, done)
            elif kind == b"j":
                self.answer(json.loads(frame()))
            elif not kind:
                raise EOFError
            else:
                raise ValueError(f"unknown message {kind}")


def main():
    for fd in (3, 4, 5):
        os.set_inheritable(fd, False)
    worker = Worker()
    try:
        worker.serve()
    except (EOFError, BrokenPipeError):
        if worker.adapter is not None:
            worker.adapter.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads of an environment's must not keep it
