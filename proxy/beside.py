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
    first word than that. Raises what either of them raises, always behind the end of `writing`."""
    written = asyncio.ensure_future(_after(writing))
    answer, kept = None, False
    try:
        answer = await asking
    finally:
        try:
            # SECURITY: nobody hears an answer before what it rests on is kept.
            await written
            kept = True
        finally:
            if answer is not None and not kept:
                answer.close()
    return answer


async def _after(writing: Coroutine[None, None, None]) -> None:
    """`writing`, behind what is ready to run: the question leaves first."""
    await asyncio.sleep(0)
    await writing
