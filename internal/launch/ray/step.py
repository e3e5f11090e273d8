"""Runs a process through a driver as if it were this one: step SOCKET REQUEST PROGRAM ARGS..."""
import json
import os
import socket
import sys
import threading

driver = socket.socket(socket.AF_UNIX)
driver.connect(sys.argv[1])
request = dict(json.loads(sys.argv[2]), verb="run", args=sys.argv[4:])
driver.sendall((json.dumps(request) + "\n").encode())


def asked():
    while os.read(0, 4096):
        pass
    driver.shutdown(socket.SHUT_WR)


threading.Thread(target=asked, daemon=True).start()
code = 1
for line in driver.makefile():
    event = json.loads(line)
    code = event.get("exit", code)
    for kind, to in (("out", 1), ("err", 2), ("error", 2)):
        if kind in event:
            os.write(to, event[kind].encode())
    if "exit" in event:
        break
os._exit(code if 0 <= code < 256 else 1)
