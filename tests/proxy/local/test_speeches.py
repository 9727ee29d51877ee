"""What a local server says, asked with the first word that is wanted."""

from collections.abc import AsyncIterator

import pytest

from proxy.answer import Answer
from proxy.errors import Refused
from proxy.local.speeches import Speeches
from proxy.local.spoken import Lost
from proxy.local.talk import Called, Ended, Named, Text
from tests.scenes.hearth import lines

NAMES = {"read": Named("read")}


class Server:
    """Answers with some chunks, and knows whether it was asked and given up."""

    def __init__(self, *chunks: bytes, refuses: str = "") -> None:
        self.chunks, self.refuses = chunks, refuses
        self.asked = self.closed = self.doubts = 0
        self.lost: list[Lost] = []
        self.speeches = Speeches(self.ask, NAMES, self.lost.extend, "home", self._doubt)

    async def ask(self) -> Answer:
        self.asked += 1
        if self.refuses:
            raise Refused(self.refuses, reason="no")
        return Answer(200, (), self._each(), close=self._close)

    async def _each(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk

    def _doubt(self) -> None:
        self.doubts += 1

    def _close(self) -> None:
        self.closed += 1


async def test_it_is_asked_once_and_heard_to_its_end() -> None:
    """Whatever way the bytes are cut; nothing is asked before the first word is wanted."""
    raw = b"".join(lines({"content": "Hello"}, {"content": " there"}))
    server = Server(*(raw[at : at + 7] for at in range(0, len(raw), 7)))
    assert server.asked == 0
    said = [each async for some in server.speeches for each in some]
    assert said == [Text("Hello"), Text(" there"), Ended("stop", 7, 5)]
    assert server.asked == 1


async def test_calls_that_nobody_could_carry_out_are_counted() -> None:
    """They become text."""
    called = [{"function": {"name": name, "arguments": {}}} for name in ("read", "rm")]
    server = Server(*lines({"content": "", "tool_calls": called}))
    said = [each async for some in server.speeches for each in some]
    assert said[0] == Called("read", {})
    assert isinstance(said[1], Text)
    assert server.lost == [Lost("rm", False)]


@pytest.mark.parametrize(
    ("server", "code"),
    [
        (Server(refuses="home-not-local"), "home-not-local"),
        (Server(b'{"error":"x"}\n'), "home-unavailable"),
        (Server(lines({"content": "half"})[0]), "home-unavailable"),
    ],
)
async def test_every_failure_names_the_server(server: Server, code: str) -> None:
    """Before the answer, in it, and where its end is missing."""
    with pytest.raises(Refused) as caught:
        async for _ in server.speeches:
            pass
    assert (caught.value.code, caught.value.facts["upstream"]) == (code, "home")


async def test_it_can_be_given_up_at_any_time() -> None:
    """Before it was asked, and in the middle."""
    server = Server(*lines({"content": "a"}, {"content": "b"}))
    server.speeches.close()
    assert server.closed == 0
    await anext(server.speeches)
    server.speeches.close()
    assert server.closed == 1


async def test_nothing_is_waited_for_behind_the_end() -> None:
    """A server that has said its last word and stays may do so, or break off."""
    server = Server(*lines({"content": "Hello"}), b'{"error":"too late"}\n')
    said = [each async for some in server.speeches for each in some]
    assert said == [Text("Hello"), Ended("stop", 7, 5)]


async def test_a_model_that_turns_out_to_run_elsewhere_is_doubted() -> None:
    """At once, and nothing of its line is heard; other failures are no reason to."""
    away = b'{"remote_host":"https://ollama.com","message":{"content":"Hello"},"done":false}\n'
    for line, doubts in ((away, 1), (b'{"error":"x"}\n', 0)):
        server = Server(line)
        with pytest.raises(Refused):
            await anext(server.speeches)
        assert server.doubts == doubts
