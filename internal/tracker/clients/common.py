"""How a tracker's client gets the events of a run: JSON lines on standard input, the first of which says what it is."""
import json
import os
import sys

_out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what a package prints is no answer


def events():
    """Tell that the package is there, and yield the header and then (step, metrics) of every event that has some."""
    print("ready", file=_out, flush=True)
    yield json.loads(sys.stdin.readline())
    for line in sys.stdin:
        event = json.loads(line)
        found = {}
        if event["event"] == "iteration":
            found = dict(event["metrics"])
            found.setdefault("episode/return_mean", event["return_mean"])  # lines of a record have it among the others
        elif event["event"] == "eval":
            found = {"eval/return": event["return_mean"], "eval/length": event["length_mean"]}
        found = {k: v for k, v in found.items() if v is not None}
        if found:
            yield event["steps"], found


