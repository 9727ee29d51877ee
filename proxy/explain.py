"""`transom explain`: what would leave for a body, and why. Sends nothing and keeps nothing.

Owns the offline run of a request's story. It must not know a policy, it calls what the gateway
calls; nor how it is told (`proxy.explained`).
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from policies.decide import looks_inside
from policies.decision import Leg, Refusal
from policies.notices import summary, words
from proxy import around
from proxy.clean import CleanMarks
from proxy.config import Config
from proxy.dialects import ALL
from proxy.endpoints import match
from proxy.errors import Refused
from proxy.explained import Told, cut_of, view_of
from proxy.instead import ENDPOINTS, instead
from proxy.ledger import Ledger
from proxy.outgoing import Outgoing, Request, Workshop, look, open_body
from proxy.refusals import said
from proxy.routes import Chosen, choose
from proxy.saying import say, tell
from proxy.secrets_dir import SecretsDir
from proxy.state import FrameStore, StateRefused, open_store
from proxy.state.base import Claim, NoteClaim, Rows

FINE, NOT_FINE, WRONG = 0, 1, 2
_ZEROES = b"0" * 32


def explain(config: Config, *, path: str, upstream: str | None, body: bytes, as_json: bool) -> int:
    """Tell what would leave if `body` were posted to `path`. `upstream`: by name, else by route.

    Exit code: 0 it would go, 1 it would be refused, 2 there is no such upstream or state.
    """
    if upstream and upstream not in (known := [each.name for each in config.upstreams]):
        tell(f"error: there is no such upstream\n\nhint: one of {', '.join(known)}")
        return WRONG
    try:
        told = asyncio.run(_tell(config, path, upstream, body))
    except StateRefused as trouble:
        tell(f"error: {trouble}")
        return WRONG
    say(told.as_json() if as_json else told.as_text())
    return FINE if told.goes else NOT_FINE


class _Untouched:
    """A store that is read and never written: who claimed first has won, and whoever claims now
    wins what is left, and nobody will know of it."""

    def __init__(self, store: FrameStore) -> None:
        self._store = store

    @property
    def key(self) -> bytes:
        return self._store.key

    async def read(
        self, frames: Sequence[bytes], notes: Sequence[bytes] = (), *, refresh: float = 0.0
    ) -> Rows:
        return await self._store.read(frames, notes)

    async def claim(self, frames: Iterable[Claim], notes: Iterable[NoteClaim] = ()) -> Rows:
        asked, told = dict(frames), dict(notes)
        known = await self._store.read([*asked], [*told])
        return Rows({**asked, **known.frames}, {**told, **known.notes})

    async def expire(self, keep: float) -> int:
        return 0

    async def close(self) -> None:
        await self._store.close()


class _Nonces:
    """Draws nonces and remembers them, so that they can be shown as zeroes."""

    def __init__(self) -> None:
        self.drawn: list[str] = []

    def draw(self) -> str:
        self.drawn.append(secrets.token_hex(16))
        return self.drawn[-1]

    def hidden(self, body: bytes) -> bytes:
        """`body` with every nonce that was drawn here as zeroes."""
        for nonce in self.drawn:
            body = body.replace(nonce.encode(), _ZEROES)
        return body


async def _tell(config: Config, path: str, name: str | None, body: bytes) -> Told:
    told, where = Told(), ""
    no: Refused | Refusal | None = None
    try:
        matched = match("POST", path, {}, config.endpoints_open)
        dialect = ALL[matched.endpoint.dialect]
        document, model = open_body(dialect, body)
        chosen = _chosen(config, name, matched.endpoint.family, model)
        told.leg, where = chosen.upstream.leg, matched.endpoint.path
        if chosen.home_first and told.leg is Leg.CLOUD and where in ENDPOINTS:
            told.asks(config.home, "first")
        async with _screens(config) as screens, _state(config) as store:
            try:
                seen = look(dialect, document)
                told.view = view_of(seen, config.policies, screens.current())
            except Refused:
                # What nobody would look into leaves as it came, however it reads.
                if looks_inside(told.leg, config.policies):
                    raise
            nonces = _Nonces()
            workshop = Workshop(
                config.policies,
                Ledger(store, store.key),
                CleanMarks(),
                screens.current,
                nonces.draw,
            )
            beside = around.pieces((), matched.path, matched.query)
            asked = Request(
                body,
                dialect,
                told.leg,
                around=beside,
                bounded=matched.endpoint.bounded,
                minimality=chosen.minimality,
                route=chosen.route,
            )
            outgoing = await workshop.prepare(asked, document)
            if (cut := outgoing.decision.cut) is not None and cut.window.mode != "off":
                told.cut = cut_of(cut, screens.current())
            _conclude(told, outgoing, nonces, body)
            no = outgoing.decision.refusal
    except Refused as refused:
        told.refused(refused.code, said(refused))
        no = refused
    if no is not None and told.leg is not None and told.home is None:
        held = bool(no.facts.get("held"))
        told.asks(instead(config, no.code, leg=told.leg, path=where, held=held), "instead")
    return told


def _conclude(told: Told, outgoing: Outgoing, nonces: _Nonces, body: bytes) -> None:
    decision = outgoing.decision
    told.frames, told.adopted = len(decision.frames), decision.adopted
    told.noted = decision.noted
    if (no := decision.refusal) is not None:
        facts = {**summary(no.findings), **no.facts}
        told.blocked(no.code, words(no.code, facts), no.findings)
    elif (final := decision.final) is not None:
        told.blocked(final.code, words(final.code, final.facts), ())
    elif outgoing.body is not None:
        told.sent(nonces.hidden(outgoing.body), body, decision.observed)


def _chosen(config: Config, name: str | None, family: str, model: str) -> Chosen:
    if name is None:
        return choose(config, family=family, model=model, client="")
    upstream = next(each for each in config.upstreams if each.name == name)
    return Chosen(upstream, config.policies.minimality)


@asynccontextmanager
async def _screens(config: Config) -> AsyncIterator[SecretsDir]:
    screens = SecretsDir(config.secrets_dir)
    await screens.start()
    try:
        yield screens
    finally:
        await screens.close()


@asynccontextmanager
async def _state(config: Config) -> AsyncIterator[FrameStore]:
    """What a node on this machine remembers, to be read; an empty memory where there is none."""
    there = await asyncio.to_thread(Path(config.state_url.removeprefix("sqlite://")).exists)
    key_file = os.environ.get("TRANSOM_STATE_KEY_FILE")
    url = config.state_url if there else "memory:"
    store = open_store(url, key_file=Path(key_file) if key_file and there else None)
    try:
        yield _Untouched(store)
    finally:
        await store.close()
