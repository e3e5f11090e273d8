"""The weft command."""
import os
import shutil
import sys
import sysconfig


class Error(Exception):
    """What the weft command said when it failed."""


def find():
    """Return the path of the weft command: WEFT's, that of this installation, or one on the path."""
    name = "weft" + (".exe" if sys.platform == "win32" else "")
    if os.environ.get("WEFT"):
        return os.environ["WEFT"]
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    try:
        folders.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    except AttributeError:  # before Python 3.10
        pass
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    found = shutil.which(name)
    if found:
        return found
    raise Error("the weft command was not found: install the wheel again, or name it in the variable WEFT")
