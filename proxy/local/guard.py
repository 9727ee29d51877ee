"""Is it really local: Ollama runs models of its cloud under names of this machine.

Owns the question that is asked about a model name before its first use, and for how long the answer
counts. It must not know how the question is sent. Source: Ollama's `internal/modelref`,
`server/routes.go`: a name with the tag `cloud` or a tag ending in `-cloud` is forwarded, and so is
a model whose configuration names a remote host; `/api/show` tells it as `remote_host`.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from proxy.errors import Refused

FRESH: Final = 60.0
"""Seconds for which the answer about a name counts, from the moment it was asked for."""

_NAMES: Final = 1024
_REMOTE: Final = ("remote_host", "remote_model")
_PARENT: Final = "parent_model"

Ask = Callable[[str], Awaitable[tuple[int, bytes]]]
"""Asks `/api/show` about a model: status and body of its answer. Raises `Refused`."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The local server does not run this model; `status` and `body` are its own words."""

    status: int
    body: bytes = field(repr=False)


class Guard:
    """What is known about names, per server. `clock`: seconds, monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._asking: dict[tuple[str, str], _Question] = {}

    async def vouch(self, server: str, model: str, ask: Ask) -> Unknown | None:
        """None when `model` runs on `server` itself. Askers at the same time share one question.

        Raises `Refused("home-not-local")` for a model that runs elsewhere, or where that cannot be
        told. What is not local is asked again each time, so that a change counts at once.
        """
        check_name(model)
        key = (server, model)
        asked = self._asked.get(key)
        if asked is not None and self._clock() - asked < FRESH:
            return None
        question = self._asking.get(key)
        if question is None:
            question = _Question(asyncio.create_task(self._ask(key, ask)))
            self._asking[key] = question
            question.task.add_done_callback(partial(self._over, key, question))
        question.askers += 1
        try:
            # A client that leaves must not take the question away from the others.
            return await asyncio.shield(question.task)
        finally:
            question.askers -= 1
            if not question.askers and not question.task.done():
                # Nobody waits for the answer any more; who comes now asks anew.
                question.task.cancel()
                self._forget(key, question)

    def close(self) -> None:
        """No more answers are waited for."""
        for question in self._asking.values():
            question.task.cancel()

    async def _ask(self, key: tuple[str, str], ask: Ask) -> Unknown | None:
        began = self._clock()
        status, body = await ask(key[1])
        if status >= 400:
            return Unknown(status, body)
        _check(status, body)
        self._asked[key] = began
        self._asked.move_to_end(key)
        while len(self._asked) > _NAMES:
            self._asked.popitem(last=False)
        return None

    def _over(
        self, key: tuple[str, str], question: "_Question", task: asyncio.Task[Unknown | None]
    ) -> None:
        self._forget(key, question)
        if not task.cancelled():
            task.exception()  # looked at, for when every asker has left

    def _forget(self, key: tuple[str, str], question: "_Question") -> None:
        if self._asking.get(key) is question:
            del self._asking[key]


@dataclass(slots=True)
class _Question:
    """One question under way, and how many wait for its answer."""

    task: asyncio.Task[Unknown | None]
    askers: int = 0


def check_name(model: str) -> None:
    """Raises `Refused("home-not-local")` if the very name asks for a model of the cloud."""
    # SECURITY: upstream cuts blanks round name and tag and compares without case; no less here.
    plain = "".join(model.split()).casefold()
    if plain.endswith((":cloud", "-cloud")):
        raise Refused("home-not-local", reason="this is the name of a cloud model")


def _check(status: int, body: bytes) -> None:
    """Raises `Refused("home-not-local")` unless `body` describes a model that runs there."""
    try:
        shown = json.loads(body)
    except (ValueError, RecursionError):
        shown = None
    if status != 200 or not isinstance(shown, dict):
        raise Refused("home-not-local", reason="it cannot be told where this model runs")
    details = shown.get("details")
    known = [shown, details] if isinstance(details, dict) else [shown]
    # SECURITY: any value counts; a field that is there and empty is how Ollama says "none".
    if any(part.get(name) for part in known for name in _REMOTE):
        raise Refused("home-not-local", reason="this model runs on a remote host")
    for part in known:
        parent = part.get(_PARENT)
        if isinstance(parent, str):
            check_name(parent)
