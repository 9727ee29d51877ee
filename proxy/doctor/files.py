"""Who else may read or change the files of a node.

Owns the looks at modes and owners. It must not know what stands in the files.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from proxy.checkup import skipped
from proxy.config import Config
from proxy.config.sources import state_folder
from proxy.control import NAME
from proxy.doctor import Check
from proxy.problems import Invalid

READ: Final = 0o077
"""Bits that nobody but the owner may have on state."""

_WRITE: Final = 0o022
_OTHERS: Final = 0o007
_ENTER: Final = 0o001


def examine(config: Config, file: Path | None, environ: Mapping[str, str]) -> list[Check]:
    """Configuration, state folder with what lies in it, state key, secrets folder."""
    return [_configuration(file), _state(config, environ), _secrets(config)]


def _configuration(file: Path | None) -> Check:
    name = "configuration"
    if file is None:
        return Check(name, "fine", "none, the defaults hold")
    status = file.stat()
    if status.st_mode & _WRITE:
        return Check(name, "wrong", f"{file} can be changed by others; run: chmod go-w {file}")
    if status.st_uid not in (0, os.geteuid()):
        return Check(name, "wrong", f"{file} belongs to another user; run: chown $USER {file}")
    return Check(name, "fine", str(file))


def _state(config: Config, environ: Mapping[str, str]) -> Check:
    folder = state_folder(environ)
    ours = {folder: NAME}
    if config.state_url.startswith("sqlite://"):
        database = Path(config.state_url.removeprefix("sqlite://"))
        ours = {folder: "transom."} if database.parent == folder else ours
        ours.setdefault(database.parent, database.name)
    for path in ours:
        if (closed := _closed(path)) is not None:
            words = f"{path} cannot be written: {closed} is closed to this user"
            return Check("state", "wrong", words)
    there = {path: name for path, name in ours.items() if path.is_dir()}
    if not there:
        return Check("state", "skipped", f"{folder} is made at the first start")
    try:
        open_ones = [path for path in _ours(there, environ) if path.lstat().st_mode & READ]
    except OSError as error:
        return Check("state", "wrong", f"cannot be looked at: {error.strerror}; whose is it?")
    if open_ones:
        first, more = open_ones[0], len(open_ones) - 1
        also = f" and {more} more" if more else ""
        return Check(
            "state", "wrong", f"{first}{also} can be read by others; run: chmod go= {first}"
        )
    return Check("state", "fine", f"for its owner alone: {', '.join(map(str, there))}")


def _closed(path: Path) -> Path | None:
    """The folder `path`, or the nearest above it that is there, if no file can be made in it."""
    for folder in (path, *path.parents):
        try:
            folder.stat()
        except OSError:
            continue
        return None if os.access(folder, os.W_OK | os.X_OK) else folder
    return None


def _ours(folders: Mapping[Path, str], environ: Mapping[str, str]) -> list[Path]:
    """The folders, what in them begins as files of a node do, and a state key that lies elsewhere.
    A log that the owner put there is the owner's business."""
    paths = [
        path
        for folder, name in folders.items()
        for path in (folder, *(each for each in sorted(folder.iterdir()) if _is(each, name)))
    ]
    key = environ.get("TRANSOM_STATE_KEY_FILE")
    if key and Path(key).exists():
        paths.append(Path(key))
    return paths


def _is(path: Path, name: str) -> bool:
    return path.name.startswith(name) and not path.is_symlink()


def _secrets(config: Config) -> Check:
    name = "secrets"
    if not config.secrets_dir:
        return Check(
            name, "skipped", "no screen.secrets_dir; only the built-in kinds are looked for"
        )
    try:
        warnings = skipped(config)
    except Invalid as invalid:
        return Check(name, "wrong", str(invalid))
    root = Path(config.secrets_dir)
    shown = [path for path in _reached(root) if path.stat().st_mode & _OTHERS]
    if shown:
        says = f"{shown[0]} is open to every user; run: chmod -R o= {root}"
        return Check(name, "wrong", says)
    return Check(name, "fine", "; ".join([f"{root} can be read", *warnings]))


def _reached(root: Path) -> list[Path]:
    """What another user can come to: nothing below a folder that is closed to them."""
    way = root.resolve()
    if any(not folder.stat().st_mode & _ENTER for folder in (way, *way.parents)):
        return []
    return [path for path in sorted(root.rglob("*")) if path.is_file()]
