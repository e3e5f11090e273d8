"""Errors that need no traceback."""
import importlib, sys


class Plain(Exception):
    """Something that a sentence explains."""


def installed(package, module):
    """A module, or a sentence that says what to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as e:
        if e.name != module.split(".")[0]:
            raise
        raise Plain(f"{package} is not installed for {sys.executable}: run {sys.executable} -m pip install {package}") from None
