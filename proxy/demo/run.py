"""One performance of the demo: build the stage, start Transom in this process, play, judge, print.

Owns the joining of the parts. It must not know what a check looks at.
"""

import asyncio
import io
import os
import sys
import tempfile
import time
from pathlib import Path

from proxy.app import running
from proxy.demo.checks import Check, Show, judge
from proxy.demo.log import captured
from proxy.demo.play import play, stay
from proxy.demo.sabotage import broken
from proxy.demo.show import story, verdict
from proxy.demo.stage import built


def run(sabotage: str | None) -> int:
    """See `proxy.demo.main`."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="transom-demo-") as folder, broken(sabotage):
        show, checks = asyncio.run(perform(Path(folder)))
        _print(*story(show))
    seconds = time.monotonic() - began
    _print(*verdict(checks, seconds, colour=_coloured()))
    return 1 if any(check.problem for check in checks) else 0


async def perform(folder: Path) -> tuple[Show, list[Check]]:
    """Play everything with state under `folder`; the show, judged while the node still runs."""
    with captured() as log:
        return await _performed(folder, log)


async def _performed(folder: Path, log: io.StringIO) -> tuple[Show, list[Check]]:
    async with built(folder) as stage, running(stage.config()) as node:
        scenes = await play(stage, node.url)
        await asyncio.sleep(0)  # a connection that was begun is accepted before it is counted
        await node.reload(stage.config(answers=True))
        stays = await stay(stage, node.url)
        await asyncio.sleep(0)
        show = Show(scenes, stays, stage, log.getvalue())
        return show, judge(show)


def _print(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def _coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
