"""Errors that need no traceback."""
import contextlib, importlib, sys


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


@contextlib.contextmanager
def making(module, extra):
    """Explains why an environment of a user's module cannot be made; extra is what has the packages that it needs."""
    try:
        yield
    except ModuleNotFoundError as e:
        if module and e.name and e.name.split(".")[0] == module.split(".")[0]:
            raise Plain(f"Python has no module {e.name!r}: it must lie in this folder, on PYTHONPATH, or be installed") from None
        raise Plain(f"Python's package {e.name} is missing: run {sys.executable} -m pip install {extra or e.name}") from None
    except ImportError as e:
        if e.name:
            raise
        raise Plain(str(e)) from None  # a sentence of the environment's own
    except TypeError as e:
        if "keyword argument" not in str(e):
            raise
        raise Plain(f"{str(e).split(' was raised from')[0]}: settings after ? that are none of the bridge's go to the constructor") from None


def wrapper(name, home):
    """A wrapper by its name in the module home, or by module:Name."""
    module, _, attribute = name.rpartition(":")
    try:
        found = getattr(importlib.import_module(module or home), attribute, None)
    except ModuleNotFoundError as e:
        raise Plain(f"wrapper {name}: Python has no module {e.name!r}") from None
    if found is None:
        raise Plain(f"{module or home} has no wrapper {attribute!r}")
    return found
