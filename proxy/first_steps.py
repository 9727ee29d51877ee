"""Writes the configuration that a new owner starts from, and makes the folders of a node.

Owns where the commented configuration comes from and how it is put down. It must not know a
setting.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from proxy.config.sources import state_folder, user_file
from proxy.problems import Invalid, Problem

EXAMPLE: Final = "config.example.toml"


class Occupied(Exception):
    """A file is there already; the message names it."""


def example() -> str:
    """The commented configuration: beside this module when installed, else at the top of the
    checkout."""
    here = Path(__file__).parent
    for candidate in (here / EXAMPLE, here.parent / EXAMPLE):
        if candidate.is_file():
            return candidate.read_text("utf-8")
    raise Invalid([Problem("", f"this installation lacks {EXAMPLE}", "install Transom again")])


def prepare(target: Path | None, environ: Mapping[str, str], *, force: bool) -> Path:
    """Write the commented configuration to `target`, by default the user's own file, and make the
    state folder; both for the owner alone. Raises `Occupied` unless `force`, and `Invalid` if it
    cannot be written."""
    path = target or user_file(environ)
    text = example().encode()
    try:
        for folder in (path.parent, state_folder(environ)):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(path, text, force)
    except FileExistsError:
        raise Occupied(f"{path} is there already") from None
    except OSError as error:
        raise Invalid(
            [Problem("", f"cannot be written: {error.strerror}", "", str(path))]
        ) from None
    return path


def _write(path: Path, text: bytes, force: bool) -> None:
    # What is there is replaced whole: a reload must never read half a configuration.
    part = path.with_name(f".{path.name}.{os.getpid()}") if force else path
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(text)
    if force:
        part.replace(path)
