"""The log of a node that runs inside a verb: caught, so that it does not stand between the lines.

Owns what is put back afterwards. It must not know what is logged.
"""

import io
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from proxy import logs


@contextmanager
def captured() -> Iterator[io.StringIO]:
    """The log for the length of the `with`. What it hooks into the process is put back: an error
    of the verb itself must be seen."""
    hooks = sys.excepthook, sys.unraisablehook, threading.excepthook
    showing = warnings.showwarning
    log = io.StringIO()
    logs.set_up(log, json=True)
    try:
        yield log
    finally:
        sys.excepthook, sys.unraisablehook, threading.excepthook = hooks
        if warnings.showwarning is not showing:  # else they were captured before
            logging.captureWarnings(False)
