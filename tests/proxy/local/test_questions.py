"""One question for all who ask it at once, and an end to it when nobody waits any more."""

import asyncio

import pytest

from proxy.local.questions import Questions


class Far:
    """Somebody who answers when the gate opens."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.asked = self.ended = 0

    async def answer(self) -> int:
        self.asked += 1
        try:
            await self.gate.wait()
        finally:
            self.ended += 1
        return self.asked


async def asking(questions: Questions[int], far: Far, count: int) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(questions.ask("k", far.answer)) for _ in range(count)]
    await asyncio.sleep(0.01)
    return tasks


async def test_who_asks_at_the_same_time_shares_the_answer() -> None:
    """One is sent; who comes later sends another."""
    questions, far = Questions[int](), Far()
    tasks = await asking(questions, far, 20)
    far.gate.set()
    assert await asyncio.gather(*tasks) == [1] * 20
    assert await questions.ask("k", far.answer) == 2


async def test_other_questions_are_other_questions() -> None:
    """The key is what makes two of them one."""
    questions, far = Questions[int](), Far()
    tasks = [asyncio.create_task(questions.ask(key, far.answer)) for key in ("a", "b")]
    await asyncio.sleep(0.01)
    far.gate.set()
    await asyncio.gather(*tasks)
    assert far.asked == 2


async def test_a_question_ends_with_its_last_asker() -> None:
    """One that leaves takes nothing away; when all have left nothing is asked any more, and who
    comes next asks anew and is answered."""
    questions, far = Questions[int](), Far()
    first, second = await asking(questions, far, 2)
    first.cancel()
    await asyncio.sleep(0.01)
    assert far.ended == 0
    second.cancel()
    (late,) = await asking(questions, far, 1)
    assert (far.asked, far.ended) == (2, 1)
    far.gate.set()
    assert await late == 2
    assert await questions.ask("k", far.answer) == 3


async def test_a_failure_is_everybodys() -> None:
    """And nobody's noise when all have left."""

    async def fails() -> int:
        await asyncio.sleep(0.01)
        raise ValueError("no")

    questions = Questions[int]()
    tasks = [asyncio.create_task(questions.ask("k", fails)) for _ in range(3)]
    for each in await asyncio.gather(*tasks, return_exceptions=True):
        assert isinstance(each, ValueError)
    with pytest.raises(ValueError, match="no"):
        await questions.ask("k", fails)


async def test_closing_ends_what_is_asked() -> None:
    """Whoever still waits hears that it is over."""
    questions, far = Questions[int](), Far()
    (task,) = await asking(questions, far, 1)
    questions.close()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert far.ended == 1
