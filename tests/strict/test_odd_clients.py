"""Clients that do less usual things, and upstreams that still accept every request."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.strict.anthropic import Claude
from tests.strict.claude_code import ClaudeCode
from tests.strict.house import housed
from tests.strict.pairs import all_framed, fine
from tests.strict.plot import material


@dataclass
class Reader(ClaudeCode):
    """A chat without tools to which documents are attached."""

    def body(self) -> dict[str, Any]:
        body = super().body()
        del body["tools"]
        return body

    def attach(self, number: int) -> None:
        """A document of plain text in the newest prompt."""
        source = {"type": "text", "media_type": "text/plain", "data": material(number)}
        prompt = self.history[-2]["content"]
        prompt.insert(0, {"type": "document", "source": source, "title": f"Note {number}"})


async def test_document_attached_to_a_chat_that_began_without_is_accepted(tmp_path: Path) -> None:
    """What stands before thinking does not change when, later, there is a first thing to frame."""
    upstream = Claude()
    async with housed(upstream, tmp_path) as house:
        session = Reader(house.through)
        for turn in range(5):
            session.ask(f"Question {turn}")
            if turn in (2, 3):
                session.attach(turn)
            assert not await session.step()
            await house.open()
        fine(house, upstream)
        sources = [
            block["source"]["data"]
            for message in house.newest["messages"]
            for block in message["content"]
            if isinstance(block, dict) and block.get("type") == "document"
        ]
        assert len(sources) == 2
        assert all("[[TRANSOM_DATA nonce=" in one for one in sources)


async def test_interrupted_loop_is_accepted(tmp_path: Path) -> None:
    """The user speaks while calls are open: results and words in one message, and later the words
    in a message of their own."""
    upstream = Claude()
    async with housed(upstream, tmp_path) as house:
        session = ClaudeCode(house.through)
        await session.turn("Question 0", 2, 1)
        session.ask("Question 1", 2, 2, 1)
        assert await session.step()
        results = session.history[-1]["content"]
        words = {"type": "text", "text": "[Request interrupted by user]"}
        results.append(words)
        assert await session.step()
        results.remove(words)
        place = session.history.index({"role": "user", "content": results})
        session.history.insert(place + 1, {"role": "user", "content": [words]})
        assert await session.step()
        assert not await session.step()
        await session.turn("Question 2", 1)
        fine(house, upstream)
        all_framed(house)


async def test_equal_requests_at_once_and_again_are_the_same_bytes(tmp_path: Path) -> None:
    """A request that is posted six times, before an answer and after it, arrives as one."""
    upstream = Claude()
    async with housed(upstream, tmp_path) as house:
        session = ClaudeCode(house.through)
        session.ask("Question", 3, 1)
        assert await session.step()
        body, headers = session.body(), session.headers()
        for _ in range(6):
            await house.through(session.path, body, headers)
        assert len({one.body for one in house.upstream.requests[-6:]}) == 1
        while await session.step():
            pass
        await house.through(session.path, body, headers)
        assert house.upstream.requests[-1].body == house.upstream.requests[1].body
        fine(house, upstream)
