"""Runs: starting them, and reading their folders."""
import glob
import json
import os
import signal
import subprocess
import threading

from weft.command import Error, find
from weft.policy import Policy


def text(value):
    """Return a value as the command line has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(text(v) for v in value)
    return str(value)


def start(algorithm, env=None, settings=None, on_event=None, **flags):
    """Start a run and return a Training, which goes on beside this program.

    settings are the algorithm's (--set); flags are those of weft train, with _ for -, such as
    steps=10_000, seed=1, out="runs/mine", policy="single-learner-coarse" or eval_every=5_000.
    on_event is called with every event of the run, a dict, in a thread of its own.
    """
    args = ["train", algorithm, "--json"]
    if env is not None:
        args += ["--env", env]
    for key, value in flags.items():
        if value is not None:
            args.append("--%s=%s" % (key.replace("_", "-"), text(value)))
    for key, value in (settings or {}).items():
        args += ["--set", "%s=%s" % (key, text(value))]
    return Training(args, on_event)


def train(algorithm, env=None, settings=None, on_event=None, **flags):
    """Train to the end and return the Run; see start."""
    training = start(algorithm, env, settings, on_event, **flags)
    try:
        return training.wait()
    except BaseException:
        training.stop()
        raise


class Training:
    """A run under way."""

    def __init__(self, args, on_event=None):
        self.last = {}
        self.out = None
        self._errors = []
        self._on_event = on_event
        self._process = subprocess.Popen([find()] + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._threads = [threading.Thread(target=f, daemon=True) for f in (self._read, self._listen)]
        for t in self._threads:
            t.start()

    def _read(self):
        for line in self._process.stdout:
            event = json.loads(line)
            self.last = event
            self.out = event.get("out") or self.out
            if self._on_event:
                self._on_event(event)

    def _listen(self):
        for line in self._process.stderr:
            self._errors.append(line)

    def stop(self):
        """Have the run save and end. A run that is over is left alone."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def wait(self):
        """Wait for the end, and return the Run. One that failed raises Error."""
        code = self._process.wait()
        for t in self._threads:
            t.join()
        if code not in (0, 130):
            raise Error("".join(self._errors).strip() or self.last.get("error") or "weft ended with %d" % code)
        return Run(self.out)


class Run:
    """The folder of a run."""

    def __init__(self, folder):
        self.folder = os.fspath(folder)
        if not os.path.exists(os.path.join(self.folder, "config.yaml")):
            raise Error("%s is not a run folder: it has no config.yaml" % self.folder)

    def __repr__(self):
        return "weft.Run(%r)" % self.folder

    def rows(self):
        """Return the record: a dict for every iteration and evaluation, oldest first."""
        out = []
        parts = sorted(glob.glob(os.path.join(glob.escape(self.folder), "metrics.*.jsonl")))
        for name in parts + [os.path.join(self.folder, "metrics.jsonl")]:
            if os.path.exists(name):
                with open(name) as f:
                    out += [json.loads(line) for line in f if line.endswith("\n")]
        return out

    def metrics(self):
        """Return the record as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise Error("pandas is not installed: pip install pandas, or use Run.rows()") from None
        return pandas.DataFrame(self.rows())

    def settings(self):
        """Return all settings by key, as text."""
        out = self._ask("config", "show", self.folder, "--json")
        return {x["key"]: x["value"] for x in map(json.loads, out.splitlines())}

    def resume(self, **flags):
        """Go on with the run to its end, or to steps=N, and return it."""
        args = ["resume", self.folder, "--json"]
        args += ["--%s=%s" % (k.replace("_", "-"), text(v)) for k, v in flags.items() if v is not None]
        training = Training(args)
        training.out = self.folder
        return training.wait()

    def evaluate(self, episodes=100):
        """Return the mean of greedy returns."""
        out = self._ask("eval", self.folder, "--episodes", str(episodes), "--json")
        return json.loads(out.splitlines()[-1])

    def policy(self):
        """Return the trained policy as a callable; close it, or use it in a with statement."""
        return Policy(self.folder)

    def _ask(self, *args):
        done = subprocess.run([find()] + list(args), capture_output=True, text=True)
        if done.returncode != 0:
            raise Error(done.stderr.strip())
        return done.stdout
