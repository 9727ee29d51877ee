"""`python -m bench`: measure, print as it goes, write its chapter of `bench/RESULTS.md`. Some three
minutes.

`python -m bench relay --seconds 20` measures some of the ways for some time, and only prints.
"""

import asyncio
import statistics
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench import figures, growth, nginx, nodes, requests, results, streams
from bench.plan import CLIENTS, Plan, asked
from bench.processes import Server, server

STARTS = 5
START_BAR = 1.0  # seconds


@dataclass
class Processes:
    """Start and memory of each, in seconds and MB."""

    starts: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    idle: dict[str, float] = field(default_factory=dict)
    peak: dict[str, float] = field(default_factory=dict)


def main() -> None:
    given = asked()
    begun = time.monotonic()
    beside = ["direct", "baseline", *(["nginx"] if nginx.installed() else [])]
    if "nginx" not in beside:
        figures.say(nginx.SKIPPED)
    plan, processes = Plan.of(beside, given.ways, given.seconds), Processes()
    with tempfile.TemporaryDirectory(prefix="transom-bench-") as name, ExitStack() as stack:
        servers = _servers(stack, Path(name), plan, processes)
        whole = asyncio.run(requests.measure(servers, plan))
        streamed = asyncio.run(streams.measure(servers, plan))
        grown = asyncio.run(growth.measure(servers))
        processes.peak.update({way: one.memory("VmHWM") for way, one in servers.items()})
    text = _report(whole, streamed, grown, processes, plan, time.monotonic() - begun)
    if not given.ways and not given.seconds:
        results.publish("Requests and streams", text)
    print(text)


def _servers(stack: ExitStack, folder: Path, plan: Plan, processes: Processes) -> dict[str, Server]:
    upstream = stack.enter_context(server("direct", ["bench.upstream"], folder))
    commands = {"baseline": ["bench.baseline", upstream.url]}
    commands |= {
        way: nodes.serve(way, upstream.url, folder) for way in plan.ways if way in nodes.OURS
    }
    for turn in range(STARTS + 1):
        for way, command in commands.items():
            with server(way, command, folder) as once:
                if turn:  # the first start writes byte code, as an installation does
                    processes.starts[way].append(once.started)
    running = {way: stack.enter_context(server(way, commands[way], folder)) for way in commands}
    if "nginx" in plan.ways:
        running["nginx"] = stack.enter_context(nginx.running(upstream.url, folder))
        processes.starts["nginx"].append(running["nginx"].started)
    processes.idle.update({way: one.memory() for way, one in running.items()})
    return {"direct": upstream, **running}


def _start_table(processes: Processes, plan: Plan) -> str:
    rows = []
    for way in plan.ways[1:]:
        start = statistics.median(processes.starts[way])
        bar = figures.judged(start, at_most=START_BAR) if way in nodes.OURS else ""
        memory = f"{processes.idle[way]:.0f}", f"{processes.peak[way]:.0f}"
        rows.append((way, f"{start * 1000:.0f}", bar, *memory))
    head = ("process", "start ms", "bar, s", "RSS at start MB", "peak RSS MB")
    return figures.table(head, rows)


def _report(
    whole: requests.Requests,
    streamed: streams.Streams,
    grown: growth.Growth,
    processes: Processes,
    plan: Plan,
    seconds: float,
) -> str:
    return REPORT.format(
        origin=results.origin("make bench", seconds),
        slow=round(min(whole.calibration)),
        fast=round(max(whole.calibration)),
        nginx=NGINX if "nginx" in plan.ways else f"- {nginx.SKIPPED}.",
        requests=sum(map(len, whole.times.values())),
        latency=requests.latency_table(whole, plan),
        load=requests.load_table(whole, plan),
        streams=streams.sections(streamed, plan),
        growth=growth.section(grown),
        starts=_start_table(processes, plan),
        clients=CLIENTS,
    )


NGINX = """- **nginx**: one worker that passes on unbuffered (`bench/nginx.py`): what the machine
  can do in C. It opens no body."""

REPORT = """{origin}
BLAKE2b in the same run: {slow} to {fast} MB/s, which says how steady the machine was.

- **direct**: the client talks to the fake upstream.
- **baseline**: a bare aiohttp proxy (`bench/baseline.py`): bytes in, bytes out, nothing looked at.
{nginx}
- **relay**: Transom with a local upstream and frames off.
- **guard**: Transom with frames, ledger (SQLite) and screen on, a cloud upstream. The history is
  known; every request brings one new tool result, which is framed, written down and screened.

All ways take turns within each round; a ratio is the median over rounds of the ratio within one.
Bars are for the relay, against the baseline. {requests} requests one at a time.

### One request at a time

{latency}
### {clients} connections without a pause

{load}
{streams}
### A session that grows to 1 MB, turn by turn

Each turn brings four new results of 2 kB; all before it is known. The least of three rounds.

{growth}
### Start and memory

{starts}"""

if __name__ == "__main__":
    main()
