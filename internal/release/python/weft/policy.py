"""A trained policy as a callable."""
import http.client
import json
import re
import signal
import subprocess
import threading

from weft.command import Error, find


def plain(x):
    """Return arrays as lists."""
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return x.tolist() if hasattr(x, "tolist") else x


class Policy:
    """A policy of a run: call it with an observation, and it returns the greedy action.

    A server of the weft command computes it, on this machine, and ends with close(). A policy with
    memory remembers an episode; reset() begins the next one. It is for one thread.
    """

    def __init__(self, folder):
        args = [find(), "serve", folder, "--listen", "127.0.0.1:0", "--reload", "0"]
        self._server = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = self._server.stdout.readline()
        at = re.search(r"http://([0-9.]+):([0-9]+)/", first)
        if not at:
            raise Error(self._server.stderr.read().strip() or "weft serve said %r" % first)
        for pipe in (self._server.stdout, self._server.stderr):  # so that it never waits for a reader
            threading.Thread(target=pipe.read, daemon=True).start()
        self._connection = http.client.HTTPConnection(at.group(1), int(at.group(2)), timeout=60)
        self._memory = None

    def __call__(self, obs, legal=None):
        question = {"obs": plain(obs)}
        if legal is not None:
            question["legal"] = plain(legal)
        if self._memory is not None:
            question["memory"] = self._memory
        self._connection.request("POST", "/v1/act", json.dumps(question), {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        said = json.loads(answer.read())
        if answer.status != 200:
            raise Error(said.get("error", "status %d" % answer.status))
        self._memory = said.get("memory")
        return said["action"]

    def reset(self):
        """Begin an episode."""
        self._memory = None

    def close(self):
        """End the server."""
        self._connection.close()
        if self._server.poll() is None:
            self._server.send_signal(signal.SIGINT)
        self._server.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
