"""How a peer talks to weft bench: requests are JSON lines on standard input, answers JSON lines on standard output.

    {"do": "prepare", "way": w, "spec": {...}}    {"calls": of one run, "seconds": of it}
    {"do": "measure", "way": w, "seconds": 0.3}   {"calls": n, "seconds": of n calls}
    {"do": "values", "way": w}                    {"values": [numbers about each output]}
    {"do": "release", "way": w}                   {}
"""
import json
import os
import sys
import time

# Libraries that print must not be taken for answers.
_answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

WARMUP = 0.1  # part of a turn that is not timed


def say(**answer):
    print(json.dumps(answer), file=_answers, flush=True)


def absent(error):
    say(absent=str(error))
    sys.exit(0)


def serve(version, prepare):
    """Answers requests. prepare(spec) returns run, which does the work, waits for it and returns how many calls that
    was, and values, which returns what a first call computes."""
    say(ready=version)
    held = {}
    for line in sys.stdin:
        request = json.loads(line)
        do, way = request["do"], request["way"]
        try:
            if do == "prepare":
                held[way] = prepare(request["spec"])
                held[way][0]()  # compiles
                say(**repeat(held[way][0], 0))
            elif do == "measure":
                say(**measure(held[way][0], request["seconds"]))
            elif do == "values":
                say(values=held[way][1]())
            else:
                held.pop(way, None)
                say()
        except Exception as error:
            say(error=f"{type(error).__name__}: {error}")


def measure(run, seconds):
    first = repeat(run, WARMUP * seconds)
    if first["seconds"] > seconds:
        return first
    return repeat(run, seconds, 1 + int(2e-4 / first["seconds"] * first["calls"]))


def repeat(run, seconds, few=1):
    """Runs until the time is over, looking at the clock after every few runs."""
    calls, begin = 0, time.perf_counter()
    while True:
        for _ in range(few):
            calls += run()
        passed = time.perf_counter() - begin
        if passed >= seconds:
            return {"calls": calls, "seconds": passed}


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def faster_threads(torch, run):
    """Gives torch one thread or all, whichever is faster for run at its worse of two tries: threads that wait for each
    other on a busy machine can be slow beyond measure."""
    worst = {1: 0.0, cores(): 0.0}
    for _ in range(2):
        for n in worst:
            torch.set_num_threads(n)
            run()
            sample = repeat(run, 0.05)
            worst[n] = max(worst[n], sample["seconds"] / sample["calls"])
    torch.set_num_threads(min(worst, key=worst.get))
