"""What fails on the way, and which way it fails: the table of the design, on both legs.

Each row breaks one thing in a node that runs and sends it a clean request, on either leg.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from policies.decision import Leg
from policies.prove import ProofFailed
from policies.screening import Screen
from proxy import outgoing
from proxy.config import Config
from proxy.state.base import StateError
from proxy.state.memory import MemoryStore
from tests.scenes.bodies import BODIES, PATHS
from tests.scenes.hearth import at_home
from tests.scenes.staging import Stage, staged

PATH = PATHS["anthropic_messages"]
NAMED = {"x-claude-code-session-id": "one"}
GOES = ""

Breaking = Callable[[pytest.MonkeyPatch, Stage], None]


def now(owner: Any, *names: str, error: Exception) -> Breaking:
    """These raise when they are called."""

    def fails(*_: object, **__: object) -> None:
        raise error

    def apply(breaker: pytest.MonkeyPatch, stage: Stage) -> None:
        for name in names:
            breaker.setattr(owner, name, fails)

    return apply


def store(*names: str) -> Breaking:
    """These raise when they are awaited."""

    async def fails(*_: object, **__: object) -> None:
        raise StateError("no")

    def apply(breaker: pytest.MonkeyPatch, stage: Stage) -> None:
        for name in names:
            breaker.setattr(MemoryStore, name, fails)

    return apply


def nonces(breaker: pytest.MonkeyPatch, stage: Stage) -> None:
    """The operating system has no random bytes."""

    def fails(count: int) -> str:
        raise OSError("no")

    breaker.setattr(outgoing.secrets, "token_hex", fails)


def nothing(breaker: pytest.MonkeyPatch, stage: Stage) -> None:
    """The request itself is the trouble."""


def clean() -> dict[str, Any]:
    return BODIES["anthropic_messages"]("nothing special")


def earlier() -> dict[str, Any]:
    """A turn before this one, of which a result does not leave."""
    return BODIES["anthropic_messages"]("nothing special", after=True)


@dataclass(frozen=True)
class Row:
    """`cloud` and `home`: the notice of the refusal, empty where the request goes on."""

    breaks: Breaking
    cloud: str
    home: str
    body: Callable[[], Any] = clean
    path: str = PATH
    change: Callable[[Config], Config] = lambda config: config


def secrets_missing(config: Config) -> Config:
    return replace(config, secrets_dir="/nowhere/at/all")


def short(config: Config) -> Config:
    cut = replace(config.policies.minimality, max_outbound_chars=1)
    return replace(config, policies=replace(config.policies, minimality=cut))


ROWS = {
    "door": Row(nothing, "unknown-endpoint", "unknown-endpoint", path="/v1/nothing"),
    "parse": Row(nothing, "body-invalid", "body-invalid", lambda: b'{"model":'),
    "duplicate keys": Row(nothing, "body-invalid", "body-invalid", lambda: b'{"a":1,"a":2}'),
    "screen": Row(
        now(Screen, "suspects", "findings", error=RuntimeError()), "egress-ambiguous", GOES
    ),
    "deadline": Row(
        now(Screen, "suspects", "findings", error=TimeoutError()), "egress-ambiguous", GOES
    ),
    "secrets directory": Row(nothing, "secrets-unreadable", GOES, change=secrets_missing),
    "proof": Row(now(outgoing, "prove", error=ProofFailed("model")), "proof-failed", GOES),
    "nonces": Row(nonces, "framing-failed", "framing-failed"),
    "ledger": Row(store("read", "claim"), "state-unavailable", GOES),
    "minimality": Row(nothing, "not-minimal", GOES, change=short),
    "limiter": Row(store("take"), "state-unavailable", GOES),
    "audit": Row(store("record"), "state-unavailable", GOES, earlier),
    "counters and events": Row(store("record"), GOES, GOES),
}


@pytest.mark.parametrize("leg", Leg)
@pytest.mark.parametrize("name", ROWS)
async def test_what_fails_fails_this_way(
    name: str, leg: Leg, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused with its notice and nothing sent; or answered."""
    row = ROWS[name]
    async with staged(leg=leg, change=row.change) as stage:
        row.breaks(monkeypatch, stage)
        answer = await stage.post(row.path, row.body(), NAMED)
        notice = row.cloud if leg is Leg.CLOUD else row.home
        if notice == GOES:
            assert answer.status == 200, answer.body
            assert stage.upstream.requests
        else:
            assert answer.headers["x-transom-notice"] == notice
            assert not stage.upstream.requests
        await stage.node.parts.owner.recorder.flush()
        if name == "counters and events":
            assert "events-not-recorded" in {line.get("problem") for line in stage.lines}
        monkeypatch.undo()


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.cloud])
async def test_a_cloud_behind_home_fails_no_other_way(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Home was asked first and cannot: what a cloud must not get it does not get then either."""
    row = ROWS[name]
    asked_first = at_home(prefer="local", change=row.change, capabilities=["completion"])
    async with asked_first as stage:
        row.breaks(monkeypatch, stage)
        await stage.post(row.path, row.body(), NAMED)
        assert stage.upstream.accepted == 0
        monkeypatch.undo()


async def test_marks_of_what_stays_at_home_that_cannot_be_read_keep_it_home(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Home answers in place of the cloud."""
    async with at_home() as stage:
        store("marks", "marked")(monkeypatch, stage)
        answer = await stage.post(PATH, clean(), NAMED)
        assert (answer.status, answer.headers["x-transom-notice"]) == (200, "home-only")
        assert stage.upstream.accepted == 0
        monkeypatch.undo()
