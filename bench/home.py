"""`python -m bench.home`: how much later does the first word come that is answered at home, than if
the local model had been asked itself? About a minute; writes its chapter of `bench/RESULTS.md`.

A conversation that a cloud has answered so far gets a result with a secret in it: it is blocked and
answered by a fake model (`bench.model`) that takes 200 ms to its first word; the same question, as
that model is asked it, goes to it directly. Both take turns, each round with a conversation of its
own. Both ways home are measured: through a translation, and straight.
"""

import asyncio
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from bench import bodies, client, figures, model, results
from bench.awake import awake
from bench.processes import Server, server
from proxy.demo.files import nsec
from proxy.lazyjson import read
from proxy.local.asked import talk
from proxy.local.ollama import Model, chat
from proxy.local.straight import straight

SIZES = (2_000, 50_000, 200_000)
ROUNDS = 24
BAR = 1.05
WAYS = {"translated": "ollama", "straight": "anthropic"}
"""Which dialect the server of each way home is said to speak."""

_CONTEXT = 131_072
_CONFIG = """version = 1
[listen]
port = 0
[state]
url = "sqlite://{folder}/{way}.db"
[limits]
enabled = false
[fallback]
upstream = "home"
max_context = {context}
[[upstream]]
name = "cloud"
leg = "cloud"
base_url = "{url}"
dialects = ["anthropic"]
auth = "none"
[[upstream]]
name = "home"
leg = "local"
base_url = "{url}"
dialects = ["{speaks}"]
model = "bench"
auth = "none"
"""

Times = dict[tuple[str, int, str], list[float]]
"""Way, size, `direct` or `home` → seconds to the first byte, which comes with the first word; `cpu`
→ seconds of CPU that the whole answer from home takes the node."""


def main() -> None:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="transom-home-") as folder, awake():
        found = asyncio.run(measured(Path(folder)))
    origin = results.origin("python -m bench.home", time.monotonic() - begun)
    text = REPORT.format(origin=origin, table=table(found), first=f"{model.FIRST * 1000:.0f}")
    results.publish("Home", text)
    print(text)


async def measured(folder: Path, sizes: Sequence[int] = SIZES, rounds: int = ROUNDS) -> Times:
    """Each way and size, both askers in turn within each round."""
    found: Times = defaultdict(list)
    with ExitStack() as stack:
        asked = stack.enter_context(server("model", ["bench.model"], folder))
        nodes = {way: stack.enter_context(_node(way, asked.url, folder)) for way in WAYS}
        for way, node in nodes.items():
            for size in sizes:
                figures.say(f"{way}, {size // 1000} kB")
                await _compared(found, (way, size), node, asked, rounds)
    return found


def _node(way: str, url: str, folder: Path) -> AbstractContextManager[Server]:
    path = folder / f"{way}.toml"
    path.write_text(
        _CONFIG.format(way=way, speaks=WAYS[way], url=url, folder=folder, context=_CONTEXT)
    )
    return server(way, ["proxy", "serve", "-c", str(path)], folder)


async def _compared(
    found: Times, key: tuple[str, int], node: Server, asked: Server, rounds: int
) -> None:
    way, size = key
    through = await client.connect(node.url)
    straight_on = await client.connect(asked.url)
    for turn in range(rounds + 1):
        before, body = question(size, f" {way} {turn}")
        await through.ask(bodies.whole(before, "127.0.0.1"))
        direct, path = question_at_home(way, body)
        ways = [
            ("home", through, bodies.whole(body, "127.0.0.1")),
            ("direct", straight_on, bodies.whole(direct, "127.0.0.1", path)),
        ]
        for name, connection, request in ways[:: 1 if turn % 2 else -1]:
            begun, cpu = time.monotonic(), node.cpu()
            await connection.ask(request)
            if turn:  # the first round warms up
                found[way, size, name].append(connection.first - begun)
            if turn and name == "home":
                found[way, size, "cpu"].append(node.cpu() - cpu)
    through.transport.close()
    straight_on.transport.close()


def question(size: int, name: str) -> tuple[bytes, bytes]:
    """A request of about `size` bytes that may leave, and the same with a secret in its last
    result."""
    body = bodies.history(size, stream=True, name=name)[-1]
    at = body.rindex(b'"}]}],"stream"')
    return body, b"%b %b%b" % (body[:at], nsec().encode(), body[at:])


def question_at_home(way: str, body: bytes) -> tuple[bytes, str]:
    """The same for the model at home, and its path."""
    if way == "straight":
        return straight("anthropic_messages", read(body), "bench"), "/v1/messages"
    told = Model(frozenset({"completion", "tools"}), _CONTEXT)
    said = talk("anthropic_messages", body)
    return chat(said, model="bench", told=told, ceiling=_CONTEXT), "/api/chat"


def table(found: Times) -> str:
    """A row per way and size."""
    rows = []
    for way, size in dict.fromkeys((way, size) for way, size, _ in found):
        direct, home, cpu = (found[way, size, name] for name in ("direct", "home", "cpu"))
        ratio = figures.ratio(home, direct)
        rows.append(
            (
                f"{way}, {size // 1000} kB",
                f"{statistics.median(direct) * 1000:.1f}",
                f"{statistics.median(home) * 1000:.1f}",
                f"{statistics.median(cpu) * 1000:.1f}",
                f"{ratio:.3f}",
                figures.judged(ratio, at_most=BAR),
            )
        )
    head = ("way home, body", "direct ms", "home ms", "CPU ms", "home : direct", "bar")
    return figures.table(head, rows)


REPORT = """\
{origin}
Time to the first word of a request that was blocked and is answered at home, against the same
question asked of the local model itself, which takes {first} ms to its first word. What stands
before the last result is known, as the cloud has answered it. *translated*: Anthropic's API to
Ollama's own and back; *straight*: a server that speaks the dialect. *CPU*: what the whole answer
takes the node; by what *home* takes beyond *direct* and that, it has waited for its turn. Beside
both, memory is kept in use (`bench/awake.py`): a host that looks for idle memory would be measured.

{table}
"""


if __name__ == "__main__":
    main()
