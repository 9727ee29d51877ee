"""What a verb says: data on standard output, words on standard error.

Owns what becomes of it where it cannot be written. It must not know a verb.
"""

import errno
import os
import sys
from typing import Final

import click

UNSAID: Final = 4
"""Exit code: the data could not be written."""

UNHEARD: Final = 141
"""Exit code where nobody reads on: what a shell says of a tool that SIGPIPE has ended."""


class Unsaid(Exception):
    """Data cannot be written to standard output. No `OSError`: nobody on the way takes it for a
    file of his own."""

    def __init__(self, problem: OSError) -> None:
        super().__init__(problem.strerror)
        self.heard = problem.errno != errno.EPIPE


def say(data: str) -> None:
    """Write `data` and an end of line to standard output, as they are. Raises `Unsaid`."""
    if sys.stdout is None:  # the verb was started without one
        raise Unsaid(OSError(errno.EBADF, os.strerror(errno.EBADF)))
    try:
        click.echo(data, color=True)
    except OSError as problem:
        raise Unsaid(problem) from None


def tell(words: str) -> None:
    """Write `words` and an end of line to standard error. Where they cannot be written they are
    lost: whoever left nobody to hear them still has the exit code."""
    try:
        click.echo(words, err=True)
    except OSError:
        _let_go(sys.stderr.fileno())


def given_up(unsaid: Unsaid) -> int:
    """The exit code of a verb that could not say all; in one line why, unless nobody reads on."""
    if sys.stdout is not None:
        _let_go(sys.stdout.fileno())
    if not unsaid.heard:
        return UNHEARD
    tell(f"error: standard output cannot be written: {unsaid}")
    return UNSAID


def _let_go(number: int) -> None:
    """What still waits to be written goes nowhere, or Python would fail on it once more as the
    process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
