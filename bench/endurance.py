"""`python -m bench.endurance`: does a node stay up? Figures on stdout, some four minutes.

Streams beside each other, many more of them, large bodies one after the other, and clients that
leave: what each costs in time, memory, files and threads. Bars are those that the project set
itself; nothing here is a test.
"""

import asyncio
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench import bodies, client, figures
from bench.__main__ import GUARD, RELAY
from bench.processes import Server, server
from bench.upstream import EVENTS

MODES = ("direct", "baseline", "relay", "guard")
FEW, FEW_PACE, ROUNDS = 200, 0.020, 2
MANY, MANY_PACE = 1000, 0.100
BODIES, SIZE, STEP = 3000, 1_000_000, 50  # requests, bytes, requests between two looks
LEAVERS, AT_ONCE = 1000, 25
PHASES = ("head", "upload", "first byte", "mid-stream", "end")
SETTLE = 8.0  # seconds; connections to upstreams are kept for 4

Row = tuple[object, ...]


def main() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 16384), most))
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="transom-endurance-") as name:
        rows = asyncio.run(_measure(Path(name)))
    print(f"{figures.machine()}\n")
    print(figures.table(("what", "figure", "bar"), rows))
    print(f"{time.monotonic() - begun:.0f} s")


async def _measure(folder: Path) -> list[Row]:
    rows: list[Row] = []
    with ExitStack() as stack:
        few = _servers(stack, folder, FEW_PACE)
        rows.append(("idle, MB", f"{few['guard'].memory():.0f}", "≤ 80"))
        rows += await _few(few)
        rows += await _bodies(few["guard"], "same history, one new result", _grown(few["guard"]))
        rows += await _bodies(few["guard"], "all new", _new(few["guard"]))
        rows += await _leavers(few["guard"])
    with ExitStack() as stack:
        rows += await _many(_servers(stack, folder, MANY_PACE))
    return rows


def _servers(stack: ExitStack, folder: Path, pace: float) -> dict[str, Server]:
    home = Path(tempfile.mkdtemp(dir=folder))
    upstream = stack.enter_context(server("upstream", ["bench.upstream", str(pace)], home))
    commands = {"baseline": ["bench.baseline", upstream.url]}
    for name, config in (("relay", RELAY), ("guard", GUARD)):
        path = home / f"{name}.toml"
        path.write_text(config.format(url=upstream.url, folder=home))
        commands[name] = ["proxy", "serve", "-c", str(path)]
    running = {n: stack.enter_context(server(n, c, home)) for n, c in commands.items()}
    return {"direct": upstream, **running}


def _port(one: Server) -> str:
    return one.url.removeprefix("http://")


async def _streams(one: Server, count: int) -> list[tuple[float, float]]:
    """Seconds that each of `count` parallel streams took: the whole, and from its first byte."""
    asked = bodies.fresh(bodies.history(2_000, stream=True)[-1], _port(one))
    connections = await asyncio.gather(*(client.connect(one.url) for _ in range(count)))
    try:
        whole = await asyncio.gather(*(_timed(each, next(asked)) for each in connections))
    finally:
        for each in connections:
            each.transport.close()
    return whole


async def _timed(one: client.Connection, request: Sequence[bytes]) -> tuple[float, float]:
    whole = await one.ask(request)
    return whole, time.monotonic() - one.first


async def _few(servers: dict[str, Server]) -> list[Row]:
    whole: dict[str, list[float]] = {mode: [] for mode in MODES}
    after: dict[str, list[float]] = {mode: [] for mode in MODES}
    for turn in range(ROUNDS + 1):
        for mode in MODES if turn % 2 else reversed(MODES):
            _say(f"{FEW} streams, {mode}")
            took = await _streams(servers[mode], FEW)
            if turn:  # the first round is there to warm up
                whole[mode].append(statistics.median(one for one, _ in took))
                after[mode].append(statistics.median(one for _, one in took))
    title = f"{FEW} streams of {EVENTS} events at {FEW_PACE * 1000:.0f} ms"
    return [
        (
            f"{title}, {mode}{part}",
            f"{took[mode][-1]:.2f} s, {figures.ratio(took[mode], took['direct']):.3f} × direct",
            "≤ 1.05" if mode in ("relay", "guard") else "",
        )
        for part, took in (("", whole), (", from the first byte", after))
        for mode in MODES
    ]


async def _many(servers: dict[str, Server]) -> list[Row]:
    rows: list[Row] = []
    for mode in MODES:
        _say(f"{MANY} streams, {mode}")
        took = await _streams(servers[mode], MANY)
        peak = f", at most {servers[mode].memory('VmHWM'):.0f} MB" if mode != "direct" else ""
        figure = f"{len(took)} whole, {statistics.median(one for one, _ in took):.2f} s{peak}"
        rows.append((f"{MANY} streams at {MANY_PACE * 1000:.0f} ms, {mode}", figure, f"{MANY}"))
    return rows


def _grown(one: Server) -> Iterator[Sequence[bytes]]:
    return bodies.fresh(bodies.history(SIZE)[-1], _port(one))


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


async def _bodies(one: Server, name: str, asked: Iterator[Sequence[bytes]]) -> list[Row]:
    _say(f"{BODIES} bodies of {SIZE // 1_000_000} MB, {name}")
    connection = await client.connect(one.url)
    samples, begun = [], time.monotonic()
    for number in range(BODIES):
        await connection.ask(next(asked))
        if number % STEP == STEP - 1:
            samples.append(one.memory())
    spent = (time.monotonic() - begun) / BODIES * 1000
    connection.transport.close()
    later = samples[len(samples) * 2 // 3 :]  # when what is remembered has reached its bounds
    slope = figures.slope(later) / STEP * 1000
    title = f"{BODIES} bodies of {SIZE // 1_000_000} MB, {name}"
    return [
        (f"{title}, ms each", f"{spent:.1f}", ""),
        (f"{title}, MB at the end", f"{samples[-1]:.0f} (at most {max(samples):.0f})", "≤ 200"),
        (f"{title}, MB per 1000 in the last third", f"{slope:+.2f}", "≈ 0"),
    ]


async def _leavers(one: Server) -> list[Row]:
    # Always the same one: what is remembered of new ones would be counted, too.
    request = next(bodies.fresh(bodies.history(50_000, stream=True)[-1], _port(one)))
    rows: list[Row] = []
    for phase in PHASES:
        await asyncio.gather(*(_leave(one, request, phase) for _ in range(AT_ONCE)))
    await asyncio.sleep(SETTLE)
    for phase in PHASES:
        _say(f"{LEAVERS} clients that leave: {phase}")
        before = one.memory(), one.files(), one.threads()
        for _ in range(LEAVERS // AT_ONCE):
            await asyncio.gather(*(_leave(one, request, phase) for _ in range(AT_ONCE)))
        await asyncio.sleep(SETTLE)
        grown = one.memory() - before[0]
        files, threads = one.files() - before[1], one.threads() - before[2]
        figure = f"{grown:+.1f} MB, {files:+d} files, {threads:+d} threads"
        rows.append((f"{LEAVERS} clients that leave: {phase}", figure, "nothing"))
    return rows


async def _leave(one: Server, request: Sequence[bytes], phase: str) -> None:
    """Begin a request and drop the connection in the named phase."""
    host, _, port = _port(one).rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    raw = b"".join(request)
    parts = {"head": raw[:60], "upload": raw[:-1000]}
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


def _say(text: str) -> None:
    print(f"… {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
