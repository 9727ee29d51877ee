"""What the demo holds itself to, checked against the bytes at the upstreams' sockets.

Owns the checks. It must not print, and a problem that it states never quotes the key.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from proxy.demo import hearth
from proxy.demo.evidence import Framed, framed, history, marks, neutral, results, traces
from proxy.demo.files import NOTES, ORDER, WALLET
from proxy.demo.play import Scene
from proxy.demo.stage import Stage
from proxy.demo.vendors.plan import JSON, is_object

KIND = "nostr_key"
"""What the screen calls the key."""

ROUNDS = 4
"""Requests of a scene with the notes: two questions of two rounds each."""


@dataclass(frozen=True, slots=True)
class Show:
    """All that is judged: the scenes as played, those that `stays` at home, the stage as left, the
    log as written."""

    scenes: list[Scene]
    stays: list[Scene]
    stage: Stage
    log: str

    @property
    def notes(self) -> list[Scene]:
        """The scenes in which nothing had to be kept back."""
        return [scene for scene in self.scenes if scene.file == NOTES and not scene.cut]

    @property
    def turns(self) -> list[Scene]:
        """The scenes of which a model is shown the current turn."""
        return [scene for scene in self.scenes if scene.cut]

    @property
    def wallets(self) -> list[Scene]:
        """The scenes with the key."""
        return [scene for scene in self.scenes if scene.file == WALLET]

    @property
    def lines(self) -> list[JSON]:
        """The log, line by line; what is no JSON object counts as an empty one."""
        return [_object(line) for line in self.log.splitlines()]


@dataclass(frozen=True, slots=True)
class Check:
    """One promise; `problem` is empty where it was kept."""

    promise: str
    problem: str


def judge(show: Show) -> list[Check]:
    """Every promise with the first problem found."""
    return [Check(promise, next(find(show), "")) for promise, find in _PROMISES]


def _object(line: str) -> JSON:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if is_object(value) else {}


def _answered(show: Show) -> Iterator[str]:
    for scene in (*show.notes, *show.turns):
        if scene.error or len(scene.answers) != 2:
            yield f"{scene.name}: {_told(scene)}"
        elif len(scene.arrived) != ROUNDS or len(scene.sent) != ROUNDS:
            yield f"{scene.name}: {len(scene.arrived)} requests arrived, {ROUNDS} expected"


def _told(scene: Scene) -> str:
    if scene.error:
        return f"{type(scene.error).__name__}: {scene.error}"
    return f"{len(scene.answers) or 'no'} answers"


def _in_one_frame(show: Show) -> Iterator[str]:
    for scene in show.notes:
        wanted = neutral(scene.setup.files[NOTES])
        for number, request in enumerate(scene.arrived):
            found = [framed(result) for result in results(request.body)]
            count = len(results(scene.sent[number]))
            if len(found) != count or any(f is None or f.content != wanted for f in found):
                yield f"{scene.name}, request {number + 1}: a result does not stand in one frame"
            if marks(request.body) != (count, count):
                yield f"{scene.name}, request {number + 1}: marks {marks(request.body)}"
            if any(f is None or f.announced != f.nonce for f in found):
                yield f"{scene.name}, request {number + 1}: a frame is not announced"


def _order_stays_inside(show: Show) -> Iterator[str]:
    for scene in show.notes:
        for number, request in enumerate(scene.arrived):
            text = request.body.decode(errors="replace")
            if text.count(ORDER) != sum(ORDER in f.content for f in _frames(request.body)):
                yield f"{scene.name}, request {number + 1}: the order stands outside a frame"


def _frames(body: bytes) -> list[Framed]:
    return [frame for result in results(body) if (frame := framed(result))]


def _fresh(show: Show) -> Iterator[str]:
    seen: set[str] = set()
    for scene in show.notes:
        last = [f.nonce for f in _frames(scene.arrived[-1].body)] if scene.arrived else []
        if len(set(last)) != 2 or seen & set(last):
            yield f"{scene.name}: a nonce was used for two messages"
        seen |= set(last)


def _same_when_resent(show: Show) -> Iterator[str]:
    for scene in show.notes:
        told = [history(request.body) for request in scene.arrived]
        for number in range(1, len(told)):
            if told[number][: len(told[number - 1])] != told[number - 1]:
                yield f"{scene.name}, request {number + 1}: the history reads differently"


def _nothing_else_changed(show: Show) -> Iterator[str]:
    for scene in show.notes:
        for number, (request, sent) in enumerate(zip(scene.arrived, scene.sent, strict=False)):
            came, left = history(sent), history(request.body)
            rest = [bare for message in left if (bare := _bare(message)) in map(_bare, came)]
            added = [m for m in left if _bare(m) not in map(_bare, came)]
            if rest != [_bare(m) for m in came] or any(m.get("role") != "system" for m in added):
                yield f"{scene.name}, request {number + 1}: roles, order or other text changed"


def _turn_alone(show: Show) -> Iterator[str]:
    for scene in show.turns:
        for number, request in enumerate(scene.arrived):
            found = [framed(result) for result in results(request.body)]
            # Two rounds for each question: the second one has what the file says.
            if len(found) != number % 2 or any(f is None for f in found):
                yield f"{scene.name}, request {number + 1}: {len(found)} results"
            if request.body.decode(errors="replace").count(ORDER) != len(found):
                yield f"{scene.name}, request {number + 1}: the order of another question"
        last = repr(history(scene.arrived[-1].body)) if scene.arrived else ""
        if any(
            repr(said)[1:-1] not in last
            for said in (f"Sum up {NOTES}, please.", *scene.answers[:1])
        ):
            yield f"{scene.name}: what was said before did not arrive"


def _bare(message: JSON) -> JSON:
    """The message with the text of tool results left out."""
    if message.get("role") == "tool":
        return {**message, "content": ""}
    if message.get("type") == "function_call_output":
        return {**message, "output": ""}
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [_hollow(block) for block in content]}


def _hollow(block: object) -> object:
    if is_object(block) and block.get("type") == "tool_result":
        return {**block, "content": ""}
    return block


def _never_at_a_socket(show: Show) -> Iterator[str]:
    for scene in show.wallets:
        if not traces(b"".join(scene.sent)):
            yield f"{scene.name}: the agent never sent the key, so nothing was shown"
    for upstream in show.stage.everyone:
        for raw in upstream.received:
            yield from (f"the key arrived as {form}" for form in traces(raw))


def _not_a_byte(show: Show) -> Iterator[str]:
    for scene in show.wallets:
        if (len(scene.arrived), scene.connections) != (1, 1):
            yield f"{scene.name}: {scene.connections} connections, 1 expected (the first round)"
    for scene in show.scenes:
        if scene.connections != len(scene.arrived):
            yield f"{scene.name}: a connection was opened for nothing"
    for upstream in show.stage.cloud.values():
        if upstream.accepted != len(upstream.requests):
            yield "a connection was opened for a request that was refused"


def _own_error_once(show: Show) -> Iterator[str]:
    for scene in show.wallets:
        if not scene.typed:
            yield f"{scene.name}: {_told(scene)} instead of the SDK's own refusal"
        elif "[egress-blocked]" not in str(scene.error) or KIND not in str(scene.error):
            yield f"{scene.name}: the refusal does not say what was found"
        elif len(scene.sent) != 2:
            yield f"{scene.name}: {len(scene.sent) - 1} attempts instead of one"


def _logged(show: Show) -> Iterator[str]:
    blocked = [line for line in show.lines if line.get("event") == "egress_blocked"]
    if len(blocked) != len(show.wallets):
        yield f"{len(blocked)} egress_blocked lines for {len(show.wallets)} refused requests"
    for line in blocked:
        if line.get("level") != "error" or line.get("kinds") != [KIND] or not line.get("places"):
            yield "an egress_blocked line is not at error level with kind and place"


def _nowhere_on_the_node(show: Show) -> Iterator[str]:
    yield from (f"the log holds the key as {form}" for form in traces(show.log.encode()))
    files = [path for path in show.stage.state.rglob("*") if path.is_file()]
    if not files:
        yield "there are no state files to look into"
    for path in files:
        yield from (f"{path.name} holds the key as {form}" for form in _traces_in(path))
    for scene in show.wallets:
        yield from (f"the refusal holds the key as {f}" for f in traces(str(scene.error).encode()))


def _traces_in(path: Path) -> list[str]:
    return traces(path.read_bytes())


def _no_redirect(show: Show) -> Iterator[str]:
    scene = show.scenes[-1]
    if show.stage.elsewhere.accepted:
        yield "the redirect was followed: the other address was contacted"
    if not scene.typed or "/api/chat" not in {request.path for request in scene.arrived}:
        yield f"the local model's redirect: {_told(scene)}"


def _answered_at_home(show: Show) -> Iterator[str]:
    for scene in show.stays:
        if scene.error or len(scene.answers) != 2:
            yield f"{scene.name}: {_told(scene)}"
        yield from hearth.problems(scene)
    diverted = [line for line in show.lines if line.get("event") == "egress_diverted"]
    told = sum(line.get("kinds") == [KIND] for line in diverted)
    if (told, len(diverted)) != (len(show.stays), len(show.stays) * len(hearth.READ)):
        yield f"{told} of {len(diverted)} egress_diverted lines name the key"


_PROMISES: Iterable[tuple[str, Callable[[Show], Iterator[str]]]] = (
    ("every SDK ran its tool loop to the end, whole and streamed", _answered),
    ("every tool result arrived in exactly one announced frame, its text complete", _in_one_frame),
    ("the injected order stands inside a frame and nowhere else", _order_stays_inside),
    ("every message has a nonce of its own", _fresh),
    ("a resent history reads the same as the first time", _same_when_resent),
    ("roles, order and all other text arrived as they were sent", _nothing_else_changed),
    ("what tools found for an earlier question stayed here, what was said left", _turn_alone),
    (
        "the key never came to a cloud: raw, hex, base64, percent, escaped",
        _never_at_a_socket,
    ),
    ("no connection was opened for a refused request", _not_a_byte),
    ("each SDK raised its own error, once, without a retry", _own_error_once),
    ("each refusal is one error line with kind and place", _logged),
    ("neither log, state nor refusal holds the key", _nowhere_on_the_node),
    ("a redirect of the local model was not followed", _no_redirect),
    ("a model at home answered instead, tools and all; the cloud never heard", _answered_at_home),
)
