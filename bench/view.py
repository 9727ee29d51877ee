"""`python -m bench.view`: what reading and rewriting a known history costs, in times that a hash
of it takes. Some 10 seconds, no socket.

The body is 500 kB of 200 messages as Claude Code sends them, written compactly and as `json.dumps`
writes. *warm*: a node has seen all of it but one message; *cold*: none of it. Each round hashes the
same body (BLAKE2b-256) beside the work; a ratio is the median over rounds. Times are of the
processor, so that neighbours on the machine count as little as they can.
"""

import asyncio
import hashlib
import inspect
import json
import statistics
import time
from collections.abc import Callable, Iterator
from http import client, cookiejar, server
from itertools import count
from typing import Any

from bench import figures
from policies.decision import Leg
from policies.screening import Screen
from policies.settings import Limits, Policies
from proxy.clean import CleanMarks
from proxy.dialects.anthropic_messages import AnthropicMessages
from proxy.lazyjson import read
from proxy.ledger import Ledger
from proxy.outgoing import Request, Workshop
from proxy.server import settle
from proxy.state import open_store

MESSAGES, SIZE, ROUNDS = 200, 500_000, 40
COMPACT = (",", ":")
PLAIN = (", ", ": ")
BARS = {"view, warm": 2.5, "view, cold": 12.0}

Json = dict[str, Any]


def conversation(messages: int, size: int) -> Json:
    """A body in Claude Code's shape: system in three blocks, tools, a result after every call."""
    text = _source()
    share = 2 * (size - 40_000) // messages
    found: list[Json] = [{"role": "user", "content": [_text(f"{name} is so.") for name in "abc"]}]
    for number in range(1, messages, 2):
        start = number * 977 % (len(text) - share)
        call = f"toolu_{number:024d}"
        used = {
            "type": "tool_use",
            "id": call,
            "name": "Read",
            "input": {"file_path": f"/a/{number}"},
        }
        result = {
            "tool_use_id": call,
            "type": "tool_result",
            "content": text[start : start + share - 500],
            "is_error": False,
        }
        found.append({"role": "assistant", "content": [_text("I look at one more file."), used]})
        found.append({"role": "user", "content": [result]})
    found = found[:messages]
    tools = [
        {"name": f"Tool{n}", "description": text[:1500], "input_schema": {"type": "object"}}
        for n in range(12)
    ]
    system = [_text("x-anthropic-billing-header: v;"), _text("You are."), _text(text[:9000])]
    return {"model": "m", "messages": found, "system": system, "tools": tools, "max_tokens": 9}


def turns(body: Json, separators: tuple[str, str]) -> Iterator[bytes]:
    """Endless bodies that differ in the text of their last result, and nowhere else."""
    last = body["messages"][-1]["content"][0]
    for number in count():
        last["content" if "content" in last else "text"] = f"new {number:012d} " + "word " * 300
        yield json.dumps(body, separators=separators).encode()


def main() -> None:
    """Measure and print."""
    print(figures.machine())
    settle()
    for name, separators in (("compact", COMPACT), ("json.dumps", PLAIN)):
        times = asyncio.run(_measure(separators))
        print(f"\n{name}: a hash takes {statistics.median(times['hash']) * 1000:.2f} ms")
        rows = []
        for what, taken in times.items():
            ratio = figures.ratio(taken, times["hash"])
            bar = BARS.get(what)
            rows.append(
                (
                    what,
                    f"{statistics.median(taken) * 1000:.2f}",
                    f"{ratio:.2f}",
                    "" if bar is None else f"{bar} {'met' if ratio <= bar else 'missed'}",
                )
            )
        print(figures.table(("what", "p50 ms", ": hash", "bar"), rows))


async def _measure(separators: tuple[str, str]) -> dict[str, list[float]]:
    whole = conversation(MESSAGES + 1, SIZE)
    dialect = AnthropicMessages()
    store = open_store("memory:")
    screen = Screen.build()
    # One turn of a hundred rounds that only read; its rounds are counted, and end nothing.
    most = 2 * MESSAGES
    far = Limits(max_turns=most, read_only=(most, most))
    shop = Workshop(Policies(limits=far), Ledger(store, store.key), CleanMarks(), lambda: screen)
    watch = _Watch()
    for length in range(3, MESSAGES, 2):
        grown = {**whole, "messages": whole["messages"][:length]}
        await _prepare(shop, dialect, json.dumps(grown, separators=separators).encode())
    made = turns(whole, separators)
    await _prepare(shop, dialect, next(made))
    for _ in range(ROUNDS):
        _views(next(made), dialect, watch)
        body = next(made)
        begun = time.process_time()
        await _prepare(shop, dialect, body)
        watch.keep("read to proof, warm", begun)
    await store.close()
    return watch.times


def _views(body: bytes, dialect: AnthropicMessages, watch: "_Watch") -> None:
    watch.time("hash", lambda: hashlib.blake2b(body, digest_size=32).digest())
    document = watch.time("read", lambda: read(body, judge=False))
    watch.time("view, warm", lambda: dialect.view(document))
    cold, fresh = AnthropicMessages(), read(body, judge=False)
    watch.time("view, cold", lambda: cold.view(fresh))


async def _prepare(shop: Workshop, dialect: AnthropicMessages, body: bytes) -> None:
    document = read(body, judge=False)
    out = await shop.prepare(Request(body, dialect, Leg.CLOUD, "bench"), document)
    assert out.cleared is not None


class _Watch:
    """Times by name, in seconds, one per round."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}

    def time(self, name: str, work: Callable[[], Any]) -> Any:
        begun = time.process_time()
        made = work()
        self.keep(name, begun)
        return made

    def keep(self, name: str, begun: float) -> None:
        self.times.setdefault(name, []).append(time.process_time() - begun)


def _source() -> str:
    return "\n".join(inspect.getsource(module) for module in (client, cookiejar, server))


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


if __name__ == "__main__":
    main()
