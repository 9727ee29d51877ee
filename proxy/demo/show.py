"""What the demo prints: three excerpts and the list of checks.

Owns the words and the colours. It must not decide anything.
"""

from collections.abc import Iterator
from itertools import groupby

from proxy.demo.checks import Check, Show
from proxy.demo.evidence import results
from proxy.demo.files import NOTES, WALLET
from proxy.demo.play import Scene
from proxy.demo.reply import compact

_WIDTH = 96
_LOGGED = ("level", "event", "dialect", "notice", "kinds", "places")


def story(show: Show) -> Iterator[str]:
    """What was sent, what arrived and what was kept, line by line."""
    yield "Four SDKs talk through Transom to scripted vendors on 127.0.0.1, whole and streamed."
    yield ""
    yield from _notes(show)
    yield ""
    yield from _wallet(show)
    yield ""
    yield from _home(show)
    yield ""
    yield from _stays(show)
    yield ""


def verdict(checks: list[Check], seconds: float, *, colour: bool) -> Iterator[str]:
    """One line per check and one for all of them."""
    yield "Checked against the bytes recorded at the upstreams' sockets:"
    for check in checks:
        mark = _painted("FAILED" if check.problem else "ok", bad=bool(check.problem), on=colour)
        yield f"  {mark}  {check.promise}"
        if check.problem:
            yield f"          {_short(check.problem)}"
    failed = sum(bool(check.problem) for check in checks)
    yield ""
    said = (
        f"{failed} of {len(checks)} checks failed" if failed else f"All {len(checks)} checks hold"
    )
    yield f"{said} ({seconds:.1f} s)."


def _painted(word: str, *, bad: bool, on: bool) -> str:
    padded = f"{word:>6}"
    return f"\x1b[{31 if bad else 32}m{padded}\x1b[0m" if on else padded


def _notes(show: Show) -> Iterator[str]:
    scene = show.notes[0]
    yield f"1. {NOTES}: a file with an injected order and a forged end mark ({scene.name})"
    yield "   the agent sent as its tool's result:"
    yield from _quoted(scene.setup.files[NOTES])
    yield "   the upstream received:"
    arrived = results(scene.arrived[-1].body) if scene.arrived else []
    yield from _quoted(arrived[0] if arrived else "(nothing)")
    for agent, scenes in _by_agent(show.notes):
        counts = " and ".join(f"{len(scene.arrived)} requests {scene.way}" for scene in scenes)
        yield f"   {agent}: {counts}"
    kept = sum(len(results(s.sent[-1])) - len(results(s.arrived[-1].body)) for s in _cut(show))
    yield f"   with a second question the agents sent {kept} results of the first again: kept here"


def _cut(show: Show) -> list[Scene]:
    return [scene for scene in show.turns if scene.sent and scene.arrived]


def _wallet(show: Show) -> Iterator[str]:
    first = show.wallets[0]
    yield f"2. {first.file}: a file with a Nostr secret key ({first.name})"
    yield "   the agent sent as its tool's result:"
    yield "     | KEY=nsec1… (not printed)"
    opened = sum(scene.connections - 1 for scene in show.wallets)
    yield f"   the upstreams received: {opened} connections, nothing of these requests"
    yield "   what each agent was told, once:"
    yield f"     | {_words(first)}"
    for agent, scenes in _by_agent(show.wallets):
        raised = " and ".join(f"{type(scene.error).__name__} {scene.way}" for scene in scenes)
        yield f"   {agent}: {raised}"
    yield "   what the owner finds in the log:"
    blocked = [line for line in show.lines if line.get("event") == "egress_blocked"]
    for line in blocked[:1]:
        yield f"     | {compact({key: line.get(key) for key in _LOGGED}).decode()}"


def _home(show: Show) -> Iterator[str]:
    scene = show.scenes[-1]
    yield "3. a local model that answers with a redirect to another address"
    yield f"   that address saw {show.stage.elsewhere.accepted} connections; the agent was told:"
    yield f"     | {_words(scene)}"


def _stays(show: Show) -> Iterator[str]:
    yield f"4. {WALLET} once more, with a local model that answers what must not leave"
    away = sum(len(scene.arrived) for scene in show.stays)
    home = sum(len(scene.asked) for scene in show.stays)
    yield f"   the clouds received {away} requests without the key, home {home} with it; all agents"
    yield "   went on with their tools, and were told last:"
    yield from _quoted("\n".join(dict.fromkeys(_last(scene) for scene in show.stays)))


def _last(scene: Scene) -> str:
    return scene.answers[-1] if scene.answers else _words(scene)


def _by_agent(scenes: list[Scene]) -> Iterator[tuple[str, list[Scene]]]:
    return ((name, list(group)) for name, group in groupby(scenes, key=lambda s: s.agent))


def _words(scene: Scene) -> str:
    """The refusal's own words, without what the SDK puts round them and without the hint."""
    text = str(scene.error)
    return _short(text[max(text.find("["), 0) :].partition(" (")[0])


def _quoted(text: str) -> Iterator[str]:
    yield from (f"     | {_short(line)}" for line in text.splitlines() if line)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"
