"""`python -m bench.endurance`: does a node stay up? Some twelve minutes; writes its chapter of
`bench/RESULTS.md`.

Streams beside each other, many more of them, large bodies one after the other, and clients that
leave, never read or send a byte a second: what each costs in time, memory, files and threads. Bars
are those that the project set itself; nothing here is a test.
"""

import asyncio
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench import bodies, client, figures, nodes, results, rude, streams
from bench.processes import Server, server
from bench.requests import fresh
from bench.rude import SETTLE

MODES = ("direct", "baseline", *nodes.OURS)
EVENTS = 100
FEW, FEW_PACE, ROUNDS = 200, 20, 4  # streams, milliseconds between events, rounds
MANY, MANY_PACE = 1000, 100
FILL = 20_000  # small requests, after which all that is remembered has reached its bounds
BODIES, SIZE, STEP = 3000, 1_000_000, 50  # requests, bytes, requests between two looks
LEAVERS, AT_ONCE = 1000, 25
PHASES = ("connect", "head", "upload", "first byte", "mid-stream", "end")

Row = tuple[object, ...]


def main() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 16384), most))
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="transom-endurance-") as name:
        rows = asyncio.run(_measure(Path(name)))
    origin = results.origin("python -m bench.endurance", time.monotonic() - begun)
    text = f"{origin}\n{figures.table(('what', 'figure', 'bar'), rows)}"
    results.publish("Endurance", text)
    print(text)


async def _measure(folder: Path) -> list[Row]:
    with ExitStack() as stack:
        servers = _servers(stack, folder)
        guard = servers["guard"]
        rows: list[Row] = [("idle, MB", f"{guard.memory():.0f}", "≤ 80")]
        rows += await _few(servers)
        rows += await _fill(guard)
        rows += await _bodies(guard, "same history, one new result", _grown(guard))
        rows += await _bodies(guard, "all new", _new(guard))
        rows += await _leavers(guard)
        rows += await rude.never_reading(guard)
        rows += await rude.one_byte_a_second(guard)
        rows += await rude.resets(folder)
    with ExitStack() as stack:
        rows += await _many(_servers(stack, folder))
    return rows


def _servers(stack: ExitStack, folder: Path) -> dict[str, Server]:
    home = Path(tempfile.mkdtemp(dir=folder))
    upstream = stack.enter_context(server("upstream", ["bench.upstream"], home))
    commands = {"baseline": ["bench.baseline", upstream.url]}
    commands |= {way: nodes.serve(way, upstream.url, home) for way in nodes.OURS}
    running = {n: stack.enter_context(server(n, c, home)) for n, c in commands.items()}
    return {"direct": upstream, **running}


def _port(one: Server) -> str:
    return one.url.removeprefix("http://")


def _asked(servers: dict[str, Server], pace: int) -> dict[str, Iterator[Sequence[bytes]]]:
    """New requests for streams, by mode."""
    body = bodies.history(2_000, stream=True)[-1]
    return {mode: fresh(servers[mode], body, f"{EVENTS} {pace}") for mode in MODES}


async def _streams(one: Server, count: int, asked: Iterator[Sequence[bytes]]) -> client.Streams:
    await streams.connected(one, count)
    return await client.streams(one.url, partial(next, asked), count)


async def _few(servers: dict[str, Server]) -> list[Row]:
    whole: dict[str, list[float]] = {mode: [] for mode in MODES}
    after: dict[str, list[float]] = {mode: [] for mode in MODES}
    late: dict[str, list[float]] = {mode: [] for mode in MODES}
    asked = _asked(servers, FEW_PACE)
    for turn in range(ROUNDS + 1):
        for mode in MODES if turn % 2 else reversed(MODES):
            figures.say(f"{FEW} streams, {mode}")
            took = await _streams(servers[mode], FEW, asked[mode])
            if turn:  # the first round is there to warm up
                whole[mode].append(statistics.median(took.whole))
                after[mode].append(statistics.median(took.after))
                late[mode] += took.delays
    title = f"{FEW} streams of {EVENTS} events at {FEW_PACE} ms"
    return [
        *(
            (
                f"{title}, {mode}{part}",
                f"{took[mode][-1]:.2f} s, {figures.ratio(took[mode], took['direct']):.3f} × direct",
                "≤ 1.05" if mode in nodes.OURS else "",
            )
            for part, took in (("", whole), (", from the first byte", after))
            for mode in MODES
        ),
        *_delays(title, late),
    ]


def _delays(title: str, late: dict[str, list[float]]) -> list[Row]:
    """How long events were on their way from the upstream to the client, all of them alike."""
    rows: list[Row] = []
    for mode, took in late.items():
        usual, worst = statistics.median(took) * 1000, figures.quantile(took, 0.99) * 1000
        rows.append((f"{title}, {mode}, each", f"p50 {usual:.1f} ms, p99 {worst:.1f} ms", ""))
    return rows


async def _many(servers: dict[str, Server]) -> list[Row]:
    rows: list[Row] = []
    asked = _asked(servers, MANY_PACE)
    for mode in MODES:
        figures.say(f"{MANY} streams, {mode}")
        took = await _streams(servers[mode], MANY, asked[mode])
        peak = f", at most {servers[mode].memory('VmHWM'):.0f} MB" if mode != "direct" else ""
        figure = f"{len(took.whole)} whole, {statistics.median(took.whole):.2f} s{peak}"
        rows.append((f"{MANY} streams at {MANY_PACE} ms, {mode}", figure, f"{MANY}"))
    return rows


def _grown(one: Server) -> Iterator[Sequence[bytes]]:
    return fresh(one, bodies.history(SIZE)[-1])


def _new(one: Server) -> Iterator[Sequence[bytes]]:
    """Texts that nobody has seen: every line has the number of its request."""
    number = 0
    while True:
        line = f"{number}: a plain line of text, and no secret in it.\\n"
        text = line * (SIZE // len(line))
        body = f'{{"model":"bench","messages":[{{"role":"user","content":"{text}"}}]}}'.encode()
        head = f"POST /v1/messages HTTP/1.1\r\nhost: {_port(one)}\r\ncontent-length: {len(body)}"
        yield f"{head}\r\ncontent-type: application/json\r\n\r\n".encode(), body
        number += 1


async def _fill(one: Server) -> list[Row]:
    """New results one after the other, until no memory of what was is left to grow."""
    figures.say(f"{FILL} small requests, each with a new result")
    asked = fresh(one, bodies.history(2_000)[-1])
    connection = await client.connect(one.url)
    for _ in range(FILL):
        await connection.ask(next(asked))
    connection.transport.close()
    return [(f"{FILL} small requests, each with a new result, MB", f"{one.memory():.0f}", "≤ 200")]


async def _bodies(one: Server, name: str, asked: Iterator[Sequence[bytes]]) -> list[Row]:
    figures.say(f"{BODIES} bodies of {SIZE // 1_000_000} MB, {name}")
    connection = await client.connect(one.url)
    samples, begun = [], time.monotonic()
    for number in range(BODIES):
        await connection.ask(next(asked))
        if number % STEP == STEP - 1:
            samples.append(one.memory())
    spent = (time.monotonic() - begun) / BODIES * 1000
    connection.transport.close()
    later = samples[len(samples) * 2 // 3 :]  # when large buffers have been through all sizes
    slope = figures.slope(later) / STEP * 1000
    title = f"{BODIES} bodies of {SIZE // 1_000_000} MB, {name}"
    return [
        (f"{title}, ms each", f"{spent:.1f}", ""),
        (f"{title}, MB at the end", f"{samples[-1]:.0f} (at most {max(samples):.0f})", "≤ 200"),
        (f"{title}, MB per 1000 in the last third", f"{slope:+.2f}", "≈ 0"),
    ]


async def _leavers(one: Server) -> list[Row]:
    # Always the same one: what is remembered of new ones would be counted, too.
    request = next(fresh(one, bodies.history(50_000, stream=True)[-1]))
    rows: list[Row] = []
    for phase in PHASES:
        figures.say(f"{LEAVERS} clients that leave: {phase}")
        await _all_leave(one, request, phase)  # memory that is used again
        before = rude.now(one)
        await _all_leave(one, request, phase)
        title = f"{LEAVERS} clients that leave: {phase}"
        rows.append((title, rude.grown(one, before), "nothing"))
    return rows


async def _all_leave(one: Server, request: Sequence[bytes], phase: str) -> None:
    for _ in range(LEAVERS // AT_ONCE):
        await asyncio.gather(*(_leave(one, request, phase) for _ in range(AT_ONCE)))
    await asyncio.sleep(SETTLE)


async def _leave(one: Server, request: Sequence[bytes], phase: str) -> None:
    """Begin a request and drop the connection in the named phase."""
    host, _, port = _port(one).rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    raw = b"".join(request)
    parts = {"connect": b"", "head": raw[:60], "upload": raw[:-1000]}
    try:
        writer.write(parts.get(phase, raw))
        await writer.drain()
        match phase:
            case "first byte":
                await asyncio.sleep(0.005)
            case "mid-stream":
                await reader.readuntil(b"text_delta")
            case "end":
                await reader.readuntil(b"message_stop")
            case _:
                pass
    finally:
        writer.transport.abort()


if __name__ == "__main__":
    main()
