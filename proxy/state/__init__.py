"""What Transom remembers, behind one contract: `open_store(url)`.

Owns the choice by URL scheme; a backend is one file and one line here. It must not know tables.
"""

import time
from pathlib import Path

from proxy.state.base import Book, Clock, FrameStore, StateError, StateRefused, Store

__all__ = ["Book", "FrameStore", "StateError", "StateRefused", "Store", "open_store"]


def open_store(url: str, *, key_file: Path | None = None, clock: Clock = time.time) -> Store:
    """The state that `url` names: `memory:` or `sqlite://` and an absolute path.

    `key_file` (the value of `TRANSOM_STATE_KEY_FILE`) stands in for the key beside the database;
    either is written at a first start. `clock`: seconds since 1970. `StateRefused` says what is
    wrong with url, file, rights or key, and the way out.
    """
    # Here and not above, so that the verbs that only look at the configuration load no SQLite.
    if url == "memory:":
        from proxy.state.memory import MemoryStore

        return MemoryStore(clock=clock)
    scheme, _, path = url.partition("://")
    if scheme == "sqlite" and path.startswith("/") and not path.endswith("/"):
        from proxy.state.sqlite import SqliteStore

        return SqliteStore(Path(path), key_file=key_file, clock=clock)
    raise StateRefused(
        'the state url must be "memory:" or "sqlite://" followed by an absolute path,'
        ' as in "sqlite:///var/lib/transom/transom.db"'
    )
