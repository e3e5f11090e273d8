"""Weft for Python: start runs, read their metrics, act with what they trained.

The work is done by the weft command that this package installs. The module needs nothing but the
standard library; Run.metrics needs pandas.
"""
from weft.command import Error, find
from weft.policy import Policy
from weft.runs import Run, Training, start, train

__all__ = ["Error", "Policy", "Run", "Training", "find", "start", "train"]
