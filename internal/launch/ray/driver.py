"""Weft's side of Ray.

A driver answers requests at a Unix socket: one JSON object a line in each direction, a connection
for each request. It is a child process of a weft command, or part of a Leader, the actor that a
submitted job is. It uses Ray's public interface where there is one.
"""
import ctypes
import json
import os
import queue
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

try:
    import ray
    from ray.util.placement_group import placement_group, placement_group_table, remove_placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
except ImportError as error:
    print(json.dumps({"error": f"{sys.executable} has no Ray ({error}): {sys.executable} -m pip install 'ray[default]', or name another interpreter with --ray python=PATH"}))
    sys.exit(1)

NAMESPACE = "weft"  # of the actors that jobs are
GRACE = 5  # seconds that a process has to end before it is killed
POLL = 0.5  # seconds between two looks at what Ray does not tell by itself
GAUGES = {  # of the endpoint at which Ray has Prometheus look, by what a run tells of itself
    "steps": "Environment steps of the run.",
    "episodes": "Episodes that ended.",
    "return": "Mean return of the last episodes.",
    "steps_per_second": "Environment steps a second.",
}


class Refused(Exception):
    """Refused is an error that is a sentence for the user."""


def connect(address, folder=None):
    """Connects to a cluster. All of its processes that this one starts get a copy of folder."""
    os.environ.pop("RAY_JOB_CONFIG_JSON_ENV_VAR", None)  # a job's own folder is not the program's
    reachable(address)
    try:
        ray.init(address=address, namespace=NAMESPACE, runtime_env={"working_dir": folder, "config": {"eager_install": False}} if folder else None, log_to_driver=False, logging_level="ERROR")
    except ConnectionError as why:
        raise Refused(f"there is no Ray at {address}: start one with ray start --head, or name the cluster with RAY_ADDRESS or --ray address=HOST:PORT ({first(why)})")
    except ray.exceptions.AuthenticationError as why:
        raise Refused(f"the Ray at {address} does not let this user in: {first(why)}; RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH holds the cluster's token")
    except (RuntimeError, ValueError) as why:
        raise Refused(f"the Ray at {address} cannot be used: {first(why)}")


def reachable(address):
    """Refuses an address at which nothing listens: Ray would wait for it for a minute."""
    if address.startswith(("http://", "https://")):
        raise Refused(f"{address} is Ray's dashboard: name the cluster itself, as in RAY_ADDRESS=HOST:6379, or submit the script of --dry-run with ray job submit")
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host:
        return  # auto, local and the like
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, ValueError) as why:
        raise Refused(f"there is no Ray at {address} ({why}): name the cluster with RAY_ADDRESS or --ray address=HOST:PORT")


def first(why):
    """Returns the first line of an error that says something."""
    return next((line.strip() for line in str(why).splitlines() if line.strip()), type(why).__name__)


def bound():
    """Has a process end with the thread that started it, where the system can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def start(args, env, folder, **pipes):
    """Starts this job's program in a folder, or where it is if there is no such folder."""
    program = os.path.join(os.getcwd(), "weft")
    os.chmod(program, 0o755)
    return subprocess.Popen([program, *args], cwd=folder if os.path.isdir(folder) else None, env=dict(os.environ, **env), preexec_fn=bound, **pipes)


class Worker:
    """Worker is an actor that runs the program as a child process, one at a time."""

    def __init__(self):
        self.lock, self.child, self.wanted = threading.Lock(), None, 0

    def run(self, args, env, folder):
        """Runs a process to its end, and yields what it writes and its exit code, beside its number."""
        with self.lock:
            self.wanted += 1
            number = self.wanted
        self.end(0, 0)  # of one that nobody waits for any more
        events = queue.Queue()
        threading.Thread(target=self.live, args=(args, env, folder, number, events)).start()
        kind = ""
        while kind != "exit":
            kind, value = events.get()
            yield number, kind, value

    def live(self, args, env, folder, number, events):
        """Starts a process and waits for it: it ends with this thread."""
        try:
            child = start(args, env, folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as why:
            events.put(("err", f"it cannot be started: {why}\n"))
            events.put(("exit", 127))
            return
        with self.lock:
            self.child, now = child, self.wanted
        if now != number:
            child.kill()
        events.put(("begun", ""))

        def read(pipe, kind, to):
            for line in pipe:
                os.write(to, line)  # Ray keeps it among its logs
                events.put((kind, line.decode(errors="replace")))

        readers = [threading.Thread(target=read, args=x) for x in ((child.stdout, "out", 1), (child.stderr, "err", 2))]
        for x in readers:
            x.start()
        code = child.wait()
        for x in readers:
            x.join()
        events.put(("exit", code))

    def end(self, grace, number):
        """Asks a process to end, and kills it if it has not within grace seconds."""
        with self.lock:
            if number != self.wanted and grace:
                return
            child = self.child
        if child is None or child.poll() is not None:
            return
        try:
            child.stdin.close()
        except OSError:
            pass  # it has ended
        try:
            child.wait(grace)
        except subprocess.TimeoutExpired:
            child.kill()

    def node(self):
        return ray.get_runtime_context().get_node_id()


class Leader:
    """Leader is the actor that a job is. It runs the leading command, which asks it for machines.
    When its node is lost, Ray starts another in its place, which goes on with the run."""

    def __init__(self, args, env, folder, run):
        self.requeued, self.child = False, None
        self.began = threading.Event()
        self.me = ray.get_runtime_context().current_actor
        self.server = Server(self)
        threading.Thread(target=self.lead, args=(args, env, folder), daemon=True).start()
        threading.Thread(target=self.watch, daemon=True).start()
        threading.Thread(target=self.measure, args=(run,), daemon=True).start()

    def lead(self, args, env, folder):
        here = ray.get_runtime_context()
        env = dict(env, WEFT_RAY_SOCKET=self.server.path, WEFT_RAY_JOB=here.get_actor_name(), WEFT_RAY_RESTARTS=str(restarts(here)), WEFT_RAY_PYTHON=sys.executable, RAY_ADDRESS=here.gcs_address)
        try:
            self.child = start(args, env, folder, stdin=subprocess.DEVNULL)
            self.began.set()
            code = self.child.wait()
        except OSError as why:
            print(f"weft cannot be started: {why}", file=sys.stderr)
            code = 1
        self.server.release()
        if code < 0 or self.requeued:
            os._exit(1)  # Ray starts another one
        ray.kill(self.me, no_restart=True)

    def watch(self):
        """Has the run saved, and this actor moved, when Ray drains its node."""
        self.began.wait()
        here = ray.get_runtime_context().get_node_id()
        while here not in draining():
            time.sleep(POLL)
        self.child.send_signal(signal.SIGUSR1)

    def measure(self, run):
        """Sets gauges to what the run tells of itself."""
        from ray.util.metrics import Gauge
        gauges = {key: Gauge(f"weft_{key}", description=what, tag_keys=("run",)) for key, what in GAUGES.items()}
        while True:
            time.sleep(POLL)
            try:
                with open(os.path.join(run, "job", "progress.json")) as told:
                    progress = json.load(told)["run"]["progress"]
            except (OSError, ValueError):
                continue  # it has told nothing yet
            for key, gauge in gauges.items():
                gauge.set(progress[key], {"run": os.path.basename(run)})

    def standing(self):
        log = os.path.realpath(f"/proc/{os.getpid()}/fd/1")
        return {"node": ray.get_runtime_context().get_node_id()[:8], "log": log if os.path.isfile(log) else ""}

    def interrupt(self):
        self.began.wait()
        self.child.send_signal(signal.SIGINT)


def restarts(here):
    """Returns how often Ray has started this actor again."""
    actor = ray._private.state.actors(actor_id=here.get_actor_id())
    return actor["NumRestarts"] if actor else 0


def draining():
    """Returns the nodes that are about to leave. Ray has no public way to ask."""
    return ray._private.state.state.get_draining_nodes()


class Server:
    """Server answers requests at a socket that this user alone can reach."""

    def __init__(self, leader=None, address=""):
        self.leader, self.address, self.staged = leader, address, leader is not None
        self.group, self.workers, self.placed = None, [], []
        self.folder = tempfile.mkdtemp(prefix="weft-ray-")
        self.path = os.path.join(self.folder, "driver")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with connection, connection.makefile("r") as lines:
            try:
                self.carry_out(lambda reply: send(connection, reply), lines)
                connection.shutdown(socket.SHUT_RDWR)  # a thread may still read
            except OSError:
                pass  # whoever asked has gone

    def carry_out(self, reply, lines):
        request = json.loads(lines.readline() or '{"verb": "nothing"}')
        try:
            getattr(self, "do_" + request.pop("verb"))(reply, lines, **request)
        except Refused as why:
            reply({"error": str(why)})
        except OSError:
            raise
        except Exception as why:
            reply({"error": f"Ray says: {first(why)}"})

    def do_nothing(self, reply, lines):
        pass

    def do_submit(self, reply, lines, name, program, args, env, folder, run, ask):
        fits(ask, self.address)
        self.stage(program)
        name = f"{name}-{secrets.token_hex(3)}"
        kind = ray.remote(Leader).options(name=name, lifetime="detached", max_restarts=-1, max_task_retries=-1, max_concurrency=16)
        kind.remote(args, env, folder, run)
        reply({"job": name})

    def stage(self, program):
        """Has all processes that are started from now on get a copy of the program."""
        if self.staged:
            return
        with tempfile.TemporaryDirectory(prefix="weft-ray-") as folder:
            try:
                os.link(os.path.realpath(program), os.path.join(folder, "weft"))
            except OSError:  # another file system
                shutil.copy(program, os.path.join(folder, "weft"))
            ray.shutdown()
            connect(self.address, folder)
        self.staged = True

    def do_look(self, reply, lines, job):
        try:
            leader = ray.get_actor(job)
        except ValueError:
            return reply(submitted(job, self.address))
        try:
            found = ray.get(leader.standing.remote(), timeout=2)
            reply({"phase": "running", "text": f"RUNNING on {found['node']}", "log": found["log"]})
        except (ray.exceptions.GetTimeoutError, ray.exceptions.ActorUnavailableError):
            reply({"phase": "waiting", "text": "waiting for a node"})
        except ray.exceptions.RayActorError:
            reply({"phase": "over", "text": "over"})

    def do_interrupt(self, reply, lines, job):
        try:
            leader = ray.get_actor(job)
        except ValueError:
            interrupt_submitted(job, self.address)
            return reply({})
        try:
            ray.get(leader.interrupt.remote(), timeout=POLL * 4)
        except ray.exceptions.GetTimeoutError:  # it has not begun
            ray.kill(leader, no_restart=True)
        except ray.exceptions.RayActorError:
            pass  # it is over
        reply({})

    def do_requeue(self, reply, lines):
        if self.leader is None:
            raise Refused("a job of ray job submit is not started again: weft resume goes on")
        self.leader.requeued = True
        reply({})

    def do_reserve(self, reply, lines, program, ask):
        """Makes a placement group, with an actor in each bundle of it."""
        fits(ask, self.address)
        self.stage(program)
        bundles = [ask["bundle"]] * ask["workers"]
        self.group = placement_group(bundles, strategy=ask["strategy"])
        if not self.group.wait(ask["wait"] or 1 << 30):
            self.release()
            raise Refused(f"no room for {said(ask)} within {ask['wait']} s: ray status shows what is used, --ray wait=SECONDS waits longer")
        places = [PlacementGroupSchedulingStrategy(self.group, placement_group_bundle_index=i) for i in range(ask["workers"])]
        bundle = dict(ask["bundle"])
        cpus, gpus, memory = bundle.pop("CPU", 0), bundle.pop("GPU", 0), bundle.pop("memory", None)
        for at in places + ["SPREAD"] * ask["more"]:  # that wait for room ask an autoscaler for it
            kind = ray.remote(Worker).options(num_cpus=cpus, num_gpus=gpus, memory=memory, resources=bundle, scheduling_strategy=at, max_restarts=-1, max_concurrency=4)
            self.workers.append(kind.remote())
        self.placed = [worker.node.remote() for worker in self.workers]  # ready once they have a node
        placed = placement_group_table(self.group)["bundles_to_node_id"]
        reply({"host": ray.util.get_node_ip_address(), "nodes": [placed[i][:8] for i in range(ask["workers"])] + [""] * ask["more"]})

    def do_run(self, reply, lines, slot, args, env, folder):
        """Runs a process on a slot's node. The end of what the asker sends asks the process to end."""
        worker, placed, number, gone = self.workers[slot], self.placed[slot], None, threading.Event()

        def end():
            if number is not None and gone.is_set():
                worker.end.remote(GRACE, number)

        def asked():
            lines.read()
            gone.set()
            end()

        threading.Thread(target=asked, daemon=True).start()
        while not gone.is_set():
            try:
                if not ray.wait([placed], timeout=POLL)[0]:
                    continue
                if self.leaving(worker):
                    time.sleep(POLL)
                    continue
                for event in worker.run.options(num_returns="streaming").remote(args, env, folder):
                    number, kind, value = ray.get(event)
                    if kind == "begun":
                        end()
                    else:
                        reply({kind: value})
                return
            except ray.exceptions.RayActorError as why:
                if number is not None:
                    reply({"err": f"Ray lost it: {first(why)}\n"})
                    return reply({"exit": 1})
                time.sleep(POLL)  # Ray is about to start the actor again
        reply({"exit": 0})

    def leaving(self, worker):
        """Returns the node of an actor if it is about to leave."""
        nodes = draining()
        try:
            node = ray.get(worker.node.remote(), timeout=2) if nodes else ""
        except ray.exceptions.GetTimeoutError:
            return ""  # it is between two nodes
        return node if node in nodes else ""

    def do_drains(self, reply, lines):
        """Tells which slots are on nodes that are about to leave, each once a node."""
        told = set()
        while True:
            for slot, worker in enumerate(self.workers):
                if not ray.wait([self.placed[slot]], timeout=0)[0]:
                    continue
                try:
                    at = (slot, self.leaving(worker))
                except ray.exceptions.RayActorError:
                    continue  # it is lost
                if at[1] and at not in told:
                    told.add(at)
                    reply({"slot": slot})
            time.sleep(POLL)

    def release(self):
        """Gives the machines back."""
        for worker in self.workers:
            ray.kill(worker, no_restart=True)
        if self.group is not None:
            remove_placement_group(self.group)
        self.group, self.workers, self.placed = None, [], []
        shutil.rmtree(self.folder, ignore_errors=True)


def send(connection, reply):
    connection.sendall((json.dumps(reply) + "\n").encode())


def said(ask):
    bundle = ", ".join(f"{k} {v:g}" for k, v in ask["bundle"].items())
    return f"{ask['workers']} workers with {bundle} each" + (", on nodes of their own" if ask["strategy"] == "STRICT_SPREAD" else "")


def fits(ask, address):
    """Refuses what no node of the cluster would ever have, unless nodes may be added."""
    if ask["wait"]:
        return
    room = 0
    for node in ray.nodes():
        if node["Alive"]:
            times = min(int(node["Resources"].get(k, 0) // v) for k, v in ask["bundle"].items())
            room += min(times, 1) if ask["strategy"] == "STRICT_SPREAD" else times
    if room < ask["workers"]:
        raise Refused(
            f"the cluster of Ray has no room for {said(ask)}, but for {room} of them: ask for less with --nodes, --workers or --ray cpus=N (ray status shows what is there); "
            "where nodes are added on demand, --ray wait=SECONDS waits for them")


def submitted(job, address):
    """Returns where a job of ray job submit stands."""
    try:
        from ray.job_submission import JobSubmissionClient
        state = JobSubmissionClient(address).get_job_status(job)
    except Exception:  # there is no dashboard, or no such job
        return {"phase": "over", "text": "over"}
    phase = {"PENDING": "waiting", "RUNNING": "running"}.get(state.value, "over")
    return {"phase": phase, "text": state.value}


def interrupt_submitted(job, address):
    if submitted(job, address)["phase"] != "over":
        from ray.job_submission import JobSubmissionClient
        JobSubmissionClient(address).stop_job(job)


def main(address):
    """Answers requests until standard input ends."""
    os.setsid()  # signals of the terminal are for the command
    try:
        connect(address)
    except Refused as why:
        print(json.dumps({"error": str(why)}), flush=True)
        sys.exit(1)
    server = Server(address=address)
    print(json.dumps({"path": server.path, "version": ray.__version__}), flush=True)
    sys.stdin.read()
    shutil.rmtree(server.folder, ignore_errors=True)
    os._exit(0)  # what it has of Ray's goes with it


if __name__ == "__main__":
    main(sys.argv[1])
