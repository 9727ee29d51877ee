"""A burst of requests is begun a few at a time, in order."""

import asyncio

from proxy.turns import LARGE, LOOKED, SHARE, Turns

FEW = SHARE // LOOKED


async def burst(turns: Turns, sizes: list[int], *, looked: bool = True) -> list[list[int]]:
    """Which of the requests began in which turn of the loop, when all came in the first one."""
    begun: list[list[int]] = [[]]

    async def one(number: int, size: int) -> None:
        if (turn := turns.begin(size, looked=looked)) is not None:
            await turn
        begun[-1].append(number)

    tasks = [asyncio.create_task(one(*each)) for each in enumerate(sizes)]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        begun.append([])
    return [turn for turn in begun if turn]


async def test_who_comes_alone_does_not_wait() -> None:
    """However large: also the next one, when the loop has turned."""
    turns = Turns()
    for _ in range(3):
        assert turns.begin(100 * LARGE) is None
        await asyncio.sleep(0)
        await asyncio.sleep(0)


async def test_a_burst_begins_in_order_a_few_at_a_time() -> None:
    """So that the loop turns between them; who comes later stands behind who waits."""
    began = await burst(Turns(), [0] * (3 * FEW))
    assert [number for turn in began for number in turn] == list(range(3 * FEW))
    assert [len(turn) for turn in began] == [FEW] * 3


async def test_more_begin_where_nobody_looks_into_them() -> None:
    """They are done sooner, and the loop has its turn as soon."""
    began = await burst(Turns(), [0] * (2 * SHARE), looked=False)
    assert [len(turn) for turn in began] == [SHARE] * 2


async def test_large_ones_count_for_more() -> None:
    """One large body fills a turn, and is never too large for one."""
    began = await burst(Turns(), [LARGE * FEW, 0, LARGE * 100, 0, 0])
    assert began == [[0], [1, 2], [3, 4]]


async def test_a_client_that_leaves_gives_its_turn_away() -> None:
    """Nobody waits for it, and it takes nobody's place."""
    turns = Turns()
    for _ in range(FEW):
        assert turns.begin(0) is None
    waiting = [turns.begin(0) for _ in range(FEW + 1)]
    gone = waiting[0]
    assert gone is not None
    gone.cancel()
    await asyncio.sleep(0)
    assert all(each is not None and each.done() for each in waiting)
    assert turns.begin(0) is not None, "the turn is full"
