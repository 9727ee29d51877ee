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

from policies.screening import Screen
from proxy.app import running
from proxy.demo import agents
from proxy.demo.checks import Check, Show, judge
from proxy.demo.log import captured
from proxy.demo.play import play, stay
from proxy.demo.sabotage import broken
from proxy.demo.show import story, verdict
from proxy.demo.stage import built
from proxy.saying import say
from proxy.secrets_dir import Build


def run(sabotage: str | None, screen: Build) -> int:
    """See `proxy.demo.main`. `screen` as for `running`."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="transom-demo-") as folder, broken(sabotage):
        show, checks = asyncio.run(perform(Path(folder), screen))
        say("\n".join(story(show)))
    seconds = time.monotonic() - began
    say("\n".join(verdict(checks, seconds, colour=_coloured())))
    return 1 if any(check.problem for check in checks) else 0


async def perform(folder: Path, screen: Build = Screen.build) -> tuple[Show, list[Check]]:
    """Play everything with state under `folder`; the show, judged while the node still runs."""
    agents.read()  # while another process compiles what `screen` waits for
    with captured() as log:
        return await _performed(folder, screen, log)


async def _performed(folder: Path, screen: Build, log: io.StringIO) -> tuple[Show, list[Check]]:
    async with built(folder) as stage, running(stage.config(), screen=screen) as node:
        scenes = await play(stage, node.url)
        await asyncio.sleep(0)  # a connection that was begun is accepted before it is counted
        await node.reload(stage.config(answers=True))
        stays = await stay(stage, node.url)
        await asyncio.sleep(0)
        show = Show(scenes, stays, stage, log.getvalue())
        return show, judge(show)


def _coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
