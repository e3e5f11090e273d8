"""A Ray cluster on this machine, for tests: a head that runs no work, and nodes n1, n2 and n3 with
two CPUs each, all of them in folders below the one that it is given. It prints its address, carries
out the commands that it reads, a line each, and ends with its input.

  kill NODE     kills a node: its raylet, and with that its actors
  revive NODE   starts a node in its place
  drain NODE    tells the cluster that a node is about to leave
  signal NODE N sends a signal to the workers of weft's on a node
  nodes         prints the names and the ids of nodes
  metrics NODE  prints what a node has for Prometheus
  left          prints the actors and placement groups of weft's that there are
"""
import json
import os
import sys
import tempfile
import time
import urllib.request

import ray
from ray._private.utils import get_ray_address_file
from ray.cluster_utils import Cluster
from ray.core.generated import autoscaler_pb2

NAMES = ["n1", "n2", "n3"]

# What Ray prints is no answer.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def at(name):
    """Returns the arguments of a node. Nodes that shared a folder would take each other's packages away,
    also one that is started in the place of another."""
    return dict(object_store_memory=80 << 20, include_dashboard=False, temp_dir=tempfile.mkdtemp(prefix=name, dir=sys.argv[1]))


def below(pid):
    """Returns the processes that descend from one."""
    try:
        children = [int(x) for task in os.listdir(f"/proc/{pid}/task") for x in open(f"/proc/{pid}/task/{task}/children").read().split()]
    except OSError:
        return []  # it has ended
    return children + [x for child in children for x in below(child)]


def works(pid):
    """Returns whether a process is a worker of weft's."""
    try:
        words = open(f"/proc/{pid}/cmdline").read().split("\0")
    except OSError:
        return False
    return words[0].endswith("/weft") and words[1:2] == ["worker"]


def say(what):
    print(json.dumps(what), file=answers, flush=True)


# The head writes its address there, and does not make the folder.
os.makedirs(os.path.dirname(get_ray_address_file(None)), exist_ok=True)
cluster = Cluster(initialize_head=True, head_node_args=dict(num_cpus=0, **at("head")))
add = lambda name: cluster.add_node(num_cpus=2, wait=False, **at(name))
nodes = {name: add(name) for name in NAMES}
cluster.wait_for_nodes()
ray.init(address=cluster.address, namespace="weft", log_to_driver=False, logging_level="ERROR")
say(cluster.address)
for line in sys.stdin:
    verb, name, number = (line.split() + ["", ""])[:3]
    if verb == "kill":
        cluster.remove_node(nodes.pop(name), allow_graceful=False)
    elif verb == "revive":
        nodes[name] = add(name)
        cluster.wait_for_nodes()
    elif verb == "drain":
        client = ray._raylet.GcsClient(address=cluster.address)
        deadline = (time.time_ns() // 1_000_000) + 60_000
        ok, why = client.drain_node(nodes[name].node_id, autoscaler_pb2.DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION"), "test", deadline)
        if not ok:
            say({"error": why})
            continue
    elif verb == "signal":
        for raylet in nodes[name].all_processes["raylet"]:
            for pid in filter(works, below(raylet.process.pid)):
                os.kill(pid, int(number))
    elif verb == "metrics":
        port = next(n["MetricsExportPort"] for n in ray.nodes() if n["NodeID"] == nodes[name].node_id)
        say({"text": urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()})
        continue
    elif verb == "nodes":
        say({node.node_id[:8]: name for name, node in nodes.items()})
        continue
    elif verb == "left":
        actors = [a["ActorClassName"] + " " + a["State"] for a in ray._private.state.actors().values() if a["State"] != "DEAD"]
        groups = [g for g in ray.util.placement_group_table().values() if g["state"] != "REMOVED"]
        say({"actors": actors, "groups": len(groups)})
        continue
    say({})
ray.shutdown()
cluster.shutdown()
