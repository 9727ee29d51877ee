"""A wrong clock is told from a right one by that of an upstream, to which nobody's key is shown."""

from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from policies.decision import Leg
from proxy.config import Config, UpstreamSettings
from proxy.demo.upstream import Fault, Recorded, Reply, Script, ScriptedUpstream
from proxy.doctor import Check
from proxy.doctor.clock import APART, MADE, examine

NOON = MADE + 12 * 3600.0


def telling(seconds: float) -> Script:
    """An upstream whose clock shows so many seconds since 1970."""
    date = format_datetime(datetime.fromtimestamp(seconds, UTC), usegmt=True)
    return lambda request: Reply(404, (("date", date),))


def cloud(url: str, name: str = "claude") -> UpstreamSettings:
    secret = "key-of-" + "the-node"
    return UpstreamSettings(name, Leg.CLOUD, url, ("anthropic",), "key", secret)


async def compared(script: Script, now: float = NOON) -> Check:
    async with ScriptedUpstream(script) as upstream:
        return await examine(Config(upstreams=(cloud(upstream.url),)), lambda: now)


async def test_a_clock_that_agrees() -> None:
    """Small differences are no fault."""
    fine = Check("clock", "fine", "agrees with that of claude")
    assert await compared(telling(NOON)) == fine
    assert await compared(telling(NOON - APART + 1)) == fine


@pytest.mark.parametrize(("shown", "words"), [(NOON - 3600, "ahead of"), (NOON + 3600, "behind")])
async def test_a_clock_that_is_an_hour_off(shown: float, words: str) -> None:
    """Which way and how far, so that the time zone comes to mind."""
    found = await compared(telling(shown))
    assert found == Check("clock", "wrong", f"is 3600 s {words} that of claude; set the time")


async def test_what_is_asked_costs_nothing_and_shows_nothing() -> None:
    """One HEAD, no body, and not the key that the upstream would otherwise get."""
    async with ScriptedUpstream(telling(NOON)) as upstream:
        await examine(Config(upstreams=(cloud(upstream.url),)), lambda: NOON)
        (asked,) = upstream.requests
        assert (asked.method, asked.target, asked.body) == ("HEAD", "/", b"")
        assert {name.lower() for name, _ in asked.headers} == {"host", "accept-encoding"}
        assert b"key-of-" not in b"".join(upstream.received)


def silent(request: Recorded) -> Reply | Fault:
    return Fault.RESET


@pytest.mark.parametrize(
    "script",
    [
        lambda request: Reply(200),
        lambda request: Reply(200, (("date", "yesterday"),)),
        silent,
    ],
    ids=["none", "unreadable", "reset"],
)
async def test_an_upstream_that_tells_no_time_is_passed_over(script: Script) -> None:
    """The next one is asked; without any, nothing is claimed."""
    assert (await compared(script)).state == "skipped"
    async with ScriptedUpstream(script) as mute, ScriptedUpstream(telling(NOON)) as other:
        home = replace(cloud(other.url, "home"), leg=Leg.LOCAL, auth="none", key=None)
        config = Config(upstreams=(home, cloud(mute.url), cloud(other.url, "second")))
        found = await examine(config, lambda: NOON)
    assert found == Check("clock", "fine", "agrees with that of second")
    assert len(other.requests) == 1


async def test_a_clock_before_this_version_needs_no_other() -> None:
    """A machine without a battery wakes up in 1970."""
    found = await compared(telling(NOON), now=0.0)
    assert found == Check("clock", "wrong", "stands before this version was made; set the time")


async def test_without_a_cloud_nothing_is_asked() -> None:
    """A node that only serves a local model leaves no trace outside."""
    assert (await examine(Config(upstreams=()), lambda: NOON)).state == "skipped"
