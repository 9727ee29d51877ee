"""An answer that is asked for while something about it is written down.

Owns that it is handed on only when that is written, and given up where it cannot be. It must not
know who answers nor what is written.
"""

import asyncio
from collections.abc import Coroutine

from proxy.answer import Answer


async def beside(
    writing: Coroutine[None, None, None], asking: Coroutine[None, None, Answer]
) -> Answer:
    """The answer that `asking` gives, once `writing` has ended as well: a model takes longer to its
    first word than that. Where `writing` fails nobody is asked any longer. Raises what either of
    them raises, always behind the end of `writing`."""
    written = asyncio.ensure_future(_after(writing))
    answer, kept = None, False
    try:
        answer = await _until(written, asking)
    finally:
        try:
            # SECURITY: nobody hears an answer before what it rests on is kept.
            await written
            kept = True
        finally:
            if answer is not None and not kept:
                answer.close()
    assert answer is not None  # what ends the asking is raised again
    return answer


async def _after(writing: Coroutine[None, None, None]) -> None:
    """`writing`, behind what is ready to run: the question leaves first."""
    await asyncio.sleep(0)
    await writing


async def _until(
    written: asyncio.Future[None], asking: Coroutine[None, None, Answer]
) -> Answer | None:
    """What `asking` gives; None where it was ended because `written` has failed. No task of its
    own, which would let the question leave behind the first page."""
    task, waits, ended = asyncio.current_task(), True, False

    def failed(done: asyncio.Future[None]) -> None:
        nonlocal ended
        if waits and task is not None and not done.cancelled() and done.exception() is not None:
            ended = True
            task.cancel()

    written.add_done_callback(failed)
    try:
        return await asking
    except asyncio.CancelledError:
        # The client may have left as well.
        if not ended or task is None or task.cancelling() > 1:
            raise
        return None
    finally:
        waits = False
        if ended and task is not None:
            task.uncancel()
