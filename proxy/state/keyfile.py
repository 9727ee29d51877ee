"""The state key: 32 random bytes in a file that only its owner can read.

Owns creating and reading it. It must not know what the key is used for.
"""

import contextlib
import os
import secrets
import stat
from pathlib import Path

from proxy.state.base import KEY_BYTES, StateRefused


def load_key(path: Path, *, create: bool) -> bytes:
    """The key in `path`. With `create` a missing file is written first, whole or not at all; of two
    processes that start together one writes and both read the same. `StateRefused`: missing,
    readable for others, not exactly 32 bytes, or not readable at all."""
    if create:
        _create(path)
    try:
        # Not blocking, or a pipe in the key's place would hold the start for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise StateRefused(
            f"the state key {path} is missing beside an existing database;"
            " put it back, or move the database away to start anew"
        ) from None
    except OSError as error:
        raise StateRefused(f"the state key {path} cannot be read: {error.strerror}") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise StateRefused(f"the state key {path} is not a file; name a file of 32 bytes")
        # SECURITY: whoever reads the key can tell which texts this node has seen.
        if mode & 0o077:
            raise StateRefused(
                f"the state key {path} is open to group or world; run: chmod 600 {path}"
            )
        key = os.read(descriptor, KEY_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(key) != KEY_BYTES:
        raise StateRefused(f"the state key {path} is not {KEY_BYTES} bytes long; restore the file")
    return key


def _create(path: Path) -> None:
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
                file.flush()
                os.fsync(descriptor)
            # A link appears whole, and not at all where another process was first.
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink()
    except OSError as error:
        raise StateRefused(
            f"the state key {path} cannot be written: {error.strerror};"
            " the folder must be writable for the user that runs Transom"
        ) from None
