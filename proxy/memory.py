"""A memory with a bound: least recently used out first. In memory only.

It must not know what it holds. Large bodies are read in threads, so several use one at once.
"""

from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Memory(Generic[K, V]):
    """What was put in under a key, while there is room. `limit` is in the unit of the costs."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._lock = Lock()
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """What is kept under `key`, which becomes the most recently used."""
        entry = self._kept.get(key)
        if entry is None:
            return None
        try:
            self._kept.move_to_end(key)
        except KeyError:  # another thread has just put it out
            return entry[0]
        return entry[0]

    def put(self, key: K, value: V, cost: int) -> None:
        """Keep `value`; the first one under a key stays, and what alone exceeds the bound goes."""
        with self._lock:
            self._put(key, value, cost)

    def put_all(self, entries: Iterable[tuple[K, V, int]]) -> None:
        """`put` for many at once: each a key, a value and its cost."""
        with self._lock:
            for key, value, cost in entries:
                self._put(key, value, cost)

    def renew(self, key: K, value: V, cost: int) -> None:
        """Keep `value` in the place of what was under `key`."""
        with self._lock:
            _, freed = self._kept.pop(key, (None, 0))
            self._used -= freed
            self._put(key, value, cost)

    def _put(self, key: K, value: V, cost: int) -> None:
        if cost > self._limit or key in self._kept:
            return
        self._kept[key] = value, cost
        self._used += cost
        while self._used > self._limit:
            _, (_, freed) = self._kept.popitem(last=False)
            self._used -= freed

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def used(self) -> int:
        """The costs of all that is kept."""
        return self._used
