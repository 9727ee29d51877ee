"""`proxy.beside`: an answer waits for what is written beside it, and is given up without that."""

import asyncio
from dataclasses import dataclass, field

import pytest

from proxy.answer import Answer, made_here
from proxy.beside import beside
from proxy.errors import Refused


@dataclass
class Both:
    """What is written and who answers, each as long as its event is not set; what happened."""

    fails: str = ""
    silent: str = ""
    written: asyncio.Event = field(default_factory=asyncio.Event)
    said: asyncio.Event = field(default_factory=asyncio.Event)
    seen: list[str] = field(default_factory=list)

    async def write(self) -> None:
        self.seen.append("writing")
        await self.written.wait()
        self.seen.append("written")
        if self.fails:
            raise Refused(self.fails)

    async def ask(self) -> Answer:
        self.seen.append("asking")
        try:
            await self.said.wait()
        except asyncio.CancelledError:
            self.seen.append("given up")
            raise
        self.seen.append("said")
        if self.silent:
            raise Refused(self.silent)
        answer = made_here({"content-type": "text/plain"}, b"yes")
        return Answer(200, answer.headers, answer.chunks, close=lambda: self.seen.append("closed"))

    def run(self) -> asyncio.Task[Answer]:
        return asyncio.ensure_future(beside(self.write(), self.ask()))


async def test_both_go_on_side_by_side_and_an_answer_waits_for_what_is_written() -> None:
    """Asked first; not handed on before it is written, and then not closed."""
    both = Both()
    answering = both.run()
    await asyncio.sleep(0.01)
    both.said.set()
    await asyncio.sleep(0.01)
    assert (both.seen, answering.done()) == (["asking", "writing", "said"], False)
    both.written.set()
    assert (await answering).status == 200
    assert both.seen == ["asking", "writing", "said", "written"]


async def test_an_answer_without_what_it_rests_on_is_given_up() -> None:
    """The model need not go on, and the caller is told why."""
    both = Both(fails="state-unavailable")
    both.said.set()
    both.written.set()
    with pytest.raises(Refused, match="state-unavailable"):
        await both.run()
    assert both.seen[-1] == "closed"


async def test_what_cannot_be_written_ends_the_asking() -> None:
    """At once, though the model has not said a word; and it is asked no longer."""
    both = Both(fails="state-unavailable")
    answering = both.run()
    await asyncio.sleep(0.01)
    both.written.set()
    with pytest.raises(Refused, match="state-unavailable"):
        await asyncio.wait_for(answering, 1)
    assert both.seen == ["asking", "writing", "written", "given up"]
    assert answering.cancelling() == 0


async def test_a_failure_that_comes_with_the_answer_ends_nothing_else() -> None:
    """Whoever is told of it goes on to tell the client, and nobody ends that."""
    for late in (False, True):
        both = Both(fails="state-unavailable")

        async def told(both: Both = both) -> str:
            try:
                await beside(both.write(), both.ask())
            except Refused as no:
                await asyncio.sleep(0.01)
                return no.code
            return ""

        telling = asyncio.ensure_future(told())
        await asyncio.sleep(0.01)
        for each in (both.written, both.said) if late else (both.said, both.written):
            each.set()
        assert await telling == "state-unavailable"
        assert telling.cancelling() == 0
        assert both.seen[-1] in ("closed", "given up")


async def test_a_client_that_leaves_with_a_failure_has_left() -> None:
    """Both at once, in either order: nobody is asked any longer."""
    for first in (True, False):
        both = Both(fails="state-unavailable")
        answering = both.run()
        await asyncio.sleep(0.01)
        if first:
            answering.cancel()
        both.written.set()
        await asyncio.sleep(0)
        answering.cancel()
        with pytest.raises((Refused, asyncio.CancelledError)):
            await answering
        assert both.seen == ["asking", "writing", "given up", "written"] or (
            both.seen == ["asking", "writing", "written", "given up"]
        )


async def test_what_has_to_be_written_is_written_though_nobody_answers() -> None:
    """The reason comes behind the end of the writing."""
    both = Both(silent="home-unavailable")
    answering = both.run()
    both.said.set()
    await asyncio.sleep(0.01)
    assert not answering.done()
    both.written.set()
    with pytest.raises(Refused, match="home-unavailable"):
        await answering
    assert both.seen[-1] == "written"


async def test_a_client_that_leaves_ends_the_asking_and_not_the_writing() -> None:
    """Nobody waits for the model any more; what goes home has still to be written down."""
    both = Both()
    answering = both.run()
    await asyncio.sleep(0.01)
    answering.cancel()
    await asyncio.sleep(0.01)
    assert not answering.done()
    both.written.set()
    with pytest.raises(asyncio.CancelledError):
        await answering
    assert both.seen == ["asking", "writing", "given up", "written"]
