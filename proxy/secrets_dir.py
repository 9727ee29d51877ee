"""The owner's secret files: read in a thread, followed, and compiled into the screen in force.

Owns which files are read and when. It must not know what becomes of their contents, and never
names a file outside its own directory. A directory that was configured and cannot be read leaves
no screen at all, so that nothing leaves for a cloud.
"""

import asyncio
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from policies.screening import Screen, looked_for
from proxy.errors import Refused

INTERVAL = 1.0
"""Seconds between two looks at the directory; a change counts within two."""
LARGEST = 1 << 20
"""Bytes of the largest file that is read; larger ones are skipped and counted."""
MOST = 1000
"""Files at most. More make the directory unreadable: half a corpus would be a false promise."""

Build = Callable[[Mapping[str, bytes]], Screen]
"""From the contents of the files, by name."""

Entry = tuple[str, int, int, int, int]
"""Path, times of writing and of change in ns, size and inode of a file."""


class _Unreadable(Exception):
    """The directory, or a file in it, cannot be read."""


@dataclass(frozen=True, slots=True)
class _Listing:
    signature: tuple[Entry, ...]
    skipped: tuple[str, ...]


class SecretsDir:
    """Follows the directory `path`; `""` stands for none, which leaves the rules alone.

    `skipped` names the files that are not looked for, relative to the directory: too large, too
    short, or leading outside. `tell` hears how many there are, once for each change.
    """

    def __init__(
        self,
        path: str,
        *,
        interval: float = INTERVAL,
        build: Build = Screen.build,
        tell: Callable[[int], None] | None = None,
    ) -> None:
        self._root = Path(path) if path else None
        self._interval = interval
        self._build = build
        self._screen: Screen | None = None
        self._signature: tuple[Entry, ...] | None = None
        self._task: asyncio.Task[None] | None = None
        self._tell = tell
        self._told: tuple[str, ...] = ()
        self._short: tuple[str, ...] = ()
        self.skipped: tuple[str, ...] = ()

    async def start(self) -> None:
        """Read everything once, then keep following. An unreadable directory does not raise."""
        await self._look_and_tell()
        if self._root is not None:
            self._task = asyncio.create_task(self._follow(), name="secrets directory")

    async def close(self) -> None:
        """Stop following. The last screen stays in force for requests under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def current(self) -> Screen:
        """The screen in force. Raises `Refused("secrets-unreadable")` when there is none."""
        # SECURITY: a follower that died would leave an old corpus in force for ever.
        stalled = self._task is not None and self._task.done()
        if self._screen is None or stalled:
            raise Refused("secrets-unreadable")
        return self._screen

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            await self._look_and_tell()

    async def _look_and_tell(self) -> None:
        await asyncio.to_thread(self._look)
        if self.skipped != self._told:
            self._told = self.skipped
            if self._tell is not None and self.skipped:
                self._tell(len(self.skipped))

    def _look(self) -> None:
        """Compare the directory with what was read last; read it again where they differ."""
        try:
            listing = _listing(self._root) if self._root is not None else _Listing((), ())
            if listing.signature != self._signature or self._screen is None:
                files = _contents(self._root, listing)
                self._screen = self._build(files)
                self._signature = listing.signature
                self._short = tuple(name for name, text in files.items() if not looked_for(text))
            self.skipped = (*listing.skipped, *self._short)
        except (OSError, _Unreadable):
            # SECURITY: what cannot be read cannot be kept from leaving; no screen is in force.
            self._screen = self._signature = None


def _listing(root: Path) -> _Listing:
    """All regular files below `root`; a link counts as the file that it leads to."""
    top = root.resolve(strict=True)
    if not top.is_dir():
        raise _Unreadable
    entries: list[Entry] = []
    skipped: list[str] = []
    for folder, folders, names in os.walk(top, onerror=_stop):
        folders.sort()
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in sorted(names) + links:
            path = Path(folder, name)
            relative = str(path.relative_to(top))
            if not Path(os.path.realpath(path)).is_relative_to(top):
                skipped.append(relative)
            elif name not in links:
                entry = _entry(relative, path)
                (skipped.append(relative) if entry is None else entries.append(entry))
        if len(entries) > MOST:
            raise _Unreadable
    return _Listing(tuple(entries), tuple(skipped))


def _entry(relative: str, path: Path) -> Entry | None:
    """None for what is no file, or too large. A link that leads nowhere is no file."""
    if path.is_symlink() and not path.exists():
        return None
    state = path.stat()
    if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST:
        return None
    return relative, state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino


def _stop(error: OSError) -> None:
    raise error


def _contents(root: Path | None, listing: _Listing) -> dict[str, bytes]:
    if root is None:
        return {}
    files: dict[str, bytes] = {}
    for relative, *_ in listing.signature:
        with (root / relative).open("rb") as file:
            # One byte more than allowed shows a file that grew since it was listed.
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise _Unreadable
        files[relative] = content
    return files
