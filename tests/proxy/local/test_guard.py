"""A model name is asked about before its first use, and what is not local never counts as such."""

import asyncio
import json

import pytest

from proxy.errors import Refused
from proxy.local import guard
from proxy.local.guard import FRESH, Guard, Unknown, check_name

LOCAL = {"details": {"format": "gguf", "parent_model": ""}, "model_info": {"a": 1}}


class Server:
    """Answers `/api/show` from `shown`, counts the questions, waits for `gate` if there is one."""

    def __init__(self, shown: object = LOCAL, status: int = 200) -> None:
        self.shown = shown
        self.status = status
        self.asked: list[str] = []
        self.gate: asyncio.Event | None = None

    async def ask(self, model: str) -> tuple[int, bytes]:
        self.asked.append(model)
        if self.gate is not None:
            await self.gate.wait()
        body = self.shown if isinstance(self.shown, bytes) else json.dumps(self.shown).encode()
        return self.status, body


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_name_is_asked_once_a_minute() -> None:
    """The answer counts for 60 s from the moment of asking, per server and per exact name."""
    clock, server = Clock(), Server()
    each = Guard(clock)
    for _ in range(3):
        assert await each.vouch("http://a", "qwen3:8b", server.ask) is None
    clock.now += FRESH - 0.001
    await each.vouch("http://a", "qwen3:8b", server.ask)
    assert server.asked == ["qwen3:8b"]
    clock.now += 0.001
    await each.vouch("http://a", "qwen3:8b", server.ask)
    await each.vouch("http://b", "qwen3:8b", server.ask)
    await each.vouch("http://a", "QWEN3:8b", server.ask)
    assert server.asked == ["qwen3:8b"] * 3 + ["QWEN3:8b"]


async def test_time_spent_asking_counts() -> None:
    """A slow answer is as old as its question."""
    clock, server = Clock(), Server()
    each = Guard(clock)

    async def slow(model: str) -> tuple[int, bytes]:
        clock.now += 59
        return await server.ask(model)

    await each.vouch("http://a", "m", slow)
    clock.now += 1
    await each.vouch("http://a", "m", server.ask)
    assert server.asked == ["m", "m"]


@pytest.mark.parametrize(
    "shown",
    [
        {"remote_host": "https://ollama.com"},
        {"remote_model": "big:120b"},
        {"remote_host": "https://ollama.com:443", "remote_model": "big"},
        {"remote_host": ["x"]},
        {"details": {"remote_host": "x"}},
        {"details": {"parent_model": "gpt-oss:120b-cloud"}},
        {"parent_model": "x:Cloud"},
        [],
        "text",
        None,
        b"",
        b"{",
        b"\xff",
        b"[" * 100_000,
    ],
    ids=lambda shown: repr(shown)[:40],
)
async def test_a_remote_model_is_refused_and_never_remembered(shown: object) -> None:
    """A remote host, a remote alias, or an answer that does not tell: asked anew, refused anew."""
    server = Server(shown)
    each = Guard(Clock())
    for _ in range(2):
        with pytest.raises(Refused) as refused:
            await each.vouch("http://a", "private", server.ask)
        assert refused.value.code == "home-not-local"
    assert server.asked == ["private", "private"]
    server.shown = LOCAL
    assert await each.vouch("http://a", "private", server.ask) is None


async def test_empty_remote_fields_mean_none() -> None:
    """Old and new servers differ in whether they write empty fields."""
    shown = {"remote_host": "", "remote_model": None, "details": None, "parent_model": 7}
    assert await Guard(Clock()).vouch("http://a", "m", Server(shown).ask) is None


@pytest.mark.parametrize(
    "name",
    [
        "gpt-oss:120b-cloud",
        "gpt-oss:cloud",
        "GPT-OSS:120B-CLOUD",
        "kimi:Cloud",
        "x: cloud",
        " x:cloud ",
        "x:cloud\u00a0",
        "x:1-cloud\n",
        "weights-cloud",
    ],
)
async def test_names_of_cloud_models_are_refused_unasked(name: str) -> None:
    """The suffix alone makes Ollama forward it, whatever is installed."""
    server = Server()
    with pytest.raises(Refused, match="home-not-local"):
        await Guard(Clock()).vouch("http://a", name, server.ask)
    assert server.asked == []


@pytest.mark.parametrize("name", ["", "qwen3:8b", "cloud", "cloud:latest", "x-cloud:8b", "xcloud"])
def test_other_names_are_for_the_server_to_judge(name: str) -> None:
    """`cloud` elsewhere in a name means nothing."""
    check_name(name)


async def test_an_unknown_model_is_answered_in_the_servers_words() -> None:
    """404 and other errors come back as they are, and are not remembered."""
    server = Server({"error": "model 'x' not found"}, 404)
    each = Guard(Clock())
    said = await each.vouch("http://a", "x", server.ask)
    assert said == Unknown(404, b'{"error": "model \'x\' not found"}')
    server.shown, server.status = LOCAL, 200
    assert await each.vouch("http://a", "x", server.ask) is None
    server.status = 204
    with pytest.raises(Refused, match="home-not-local"):
        await each.vouch("http://a", "y", server.ask)


async def test_askers_at_the_same_time_share_one_question() -> None:
    """Twenty requests for a new model ask once, and one that leaves takes nothing away."""
    server = Server()
    server.gate = asyncio.Event()
    each = Guard(Clock())
    waiting = [asyncio.create_task(each.vouch("http://a", "m", server.ask)) for _ in range(20)]
    await asyncio.sleep(0.01)
    waiting[0].cancel()
    server.gate.set()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(answers[0], asyncio.CancelledError)
    assert answers[1:] == [None] * 19
    assert server.asked == ["m"]


async def test_a_failed_question_fails_all_who_asked_and_nothing_else() -> None:
    """The next one asks again; a failure that nobody waits for any more is no noise."""
    gate = asyncio.Event()

    async def down(model: str) -> tuple[int, bytes]:
        await gate.wait()
        raise Refused("home-unavailable", upstream="home")

    each = Guard(Clock())
    waiting = [asyncio.create_task(each.vouch("http://a", "m", down)) for _ in range(2)]
    await asyncio.sleep(0.01)
    gate.set()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert [str(answer) for answer in answers] == ["home-unavailable"] * 2
    gate.clear()
    left = asyncio.create_task(each.vouch("http://a", "m", down))
    await asyncio.sleep(0.01)
    left.cancel()
    gate.set()
    await asyncio.sleep(0.01)
    assert await each.vouch("http://a", "m", Server().ask) is None


async def test_closing_ends_what_is_asked() -> None:
    """No question outlives the door that asked it."""
    server = Server()
    server.gate = asyncio.Event()
    each = Guard(Clock())
    task = asyncio.create_task(each.vouch("http://a", "m", server.ask))
    await asyncio.sleep(0.01)
    each.close()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_memory_of_names_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that makes up names costs no memory for ever."""
    monkeypatch.setattr(guard, "_NAMES", 3)
    server, each = Server(), Guard(Clock())
    for name in ("a", "b", "c", "d", "d", "b", "a"):
        await each.vouch("http://a", name, server.ask)
    assert server.asked == ["a", "b", "c", "d", "a"]


@pytest.mark.parametrize(
    ("status", "body", "found"),
    [
        (200, b'{"version":"0.9.0"}', True),
        (200, b'{"version":9}', False),
        (200, b'{"error":"unexpected endpoint"}', False),
        (200, b'["0.9.0"]', False),
        (200, b"[" * 100_000, False),
        (404, b'{"version":"0.9.0"}', False),
    ],
)
async def test_a_server_is_asked_once_a_minute_what_it_is(
    status: int, body: bytes, found: bool
) -> None:
    """Only who answers like an Ollama is one; both answers are remembered as long."""
    clock, asked = Clock(), []

    async def ask(model: str) -> tuple[int, bytes]:
        asked.append(model)
        return status, body

    each = Guard(clock)
    assert await each.is_ollama("http://a", ask) is found
    assert await each.is_ollama("http://a", ask) is found
    assert len(asked) == 1
    clock.now += FRESH
    await each.is_ollama("http://a", ask)
    await each.is_ollama("http://b", ask)
    assert len(asked) == 3


async def test_what_could_not_be_asked_is_asked_again() -> None:
    """A server that is down is no kind of server yet."""

    async def down(model: str) -> tuple[int, bytes]:
        raise Refused("home-unavailable", upstream="home")

    each = Guard(Clock())
    for _ in range(2):
        with pytest.raises(Refused, match="home-unavailable"):
            await each.is_ollama("http://a", down)
    each.close()


async def test_what_turned_out_wrong_is_asked_again() -> None:
    """At once, whatever was told before; and what was never asked may be forgotten, too."""
    server, each = Server(), Guard(Clock())
    each.forget("http://a", "m")
    await each.vouch("http://a", "m", server.ask)
    each.forget("http://a", "m")
    server.shown = {"remote_host": "https://ollama.com"}
    with pytest.raises(Refused):
        await each.vouch("http://a", "m", server.ask)
    assert server.asked == ["m", "m"]
