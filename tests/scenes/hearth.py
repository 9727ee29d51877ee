"""A stage with a home: a node between a raw client, a scripted cloud and a scripted Ollama."""

import io
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from policies.decision import Leg
from proxy import logs
from proxy.app import running
from proxy.config import Config, Fallback, Listen, UpstreamSettings
from proxy.demo.upstream import Fault, Recorded, Reply, Script, ScriptedUpstream
from proxy.demo.vendors import ollama_chat
from tests.scenes.staging import FAMILIES, Stage, echo

MODEL = "home:1b"
SAID = "The answer from home is forty-two, and it is long enough."


@dataclass
class Home(Stage):
    """`upstream` is the cloud; `home` is where a local model answers."""

    home: ScriptedUpstream

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The bodies of all requests that ran a model at home."""
        return [json.loads(each.body) for each in self.home.requests if each.path == "/api/chat"]


def lines(*messages: dict[str, Any], last: dict[str, Any] | None = None) -> tuple[bytes, ...]:
    """An answer of `/api/chat`, one line per message, and the line that ends it."""
    base = {"model": MODEL, "created_at": "2026-01-01T00:00:00Z"}
    said = [{**base, "message": {"role": "assistant", **each}, "done": False} for each in messages]
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 5}
    whole = {**base, "message": {"role": "assistant", "content": ""}, **end, **(last or {})}
    return tuple(json.dumps(each).encode() + b"\n" for each in (*said, whole))


def says(*messages: dict[str, Any], last: dict[str, Any] | None = None) -> Reply:
    """The same as a stream."""
    return Reply.stream(lines(*messages, last=last), "application/x-ndjson")


def words(text: str = SAID) -> Reply:
    """`text`, a word at a time."""
    return says(*({"content": word} for word in text.replace(" ", " \0").split("\0")))


def calls(*names: str) -> Reply:
    """Calls of these tools, all at once."""
    called = [{"function": {"name": name, "arguments": {"path": "a"}}} for name in names]
    return says({"content": "", "tool_calls": called})


def ollama(answer: Reply | Fault | Callable[[Recorded], Reply | Fault], **shown: Any) -> Script:
    """An Ollama that runs `MODEL`, with `shown` beside what `/api/show` tells of it."""

    def script(recorded: Recorded) -> Reply | Fault:
        if recorded.path == "/api/show":
            told = json.loads(
                b"".join(s for s in ollama_chat.show(recorded).chunks if isinstance(s, bytes))
            )
            return Reply.of({**told, **shown})
        if recorded.path == "/api/version":
            return ollama_chat.version(recorded)
        return answer(recorded) if callable(answer) else answer

    return script


@asynccontextmanager
async def at_home(
    answer: Reply | Fault | Callable[[Recorded], Reply | Fault] | None = None,
    *,
    script: Script | None = None,
    speaks: Sequence[str] = ("ollama",),
    cloud: Script = echo,
    change: Callable[[Config], Config] = lambda config: config,
    explain: Any = "header",
    prefer: Any = "cloud",
    **shown: Any,
) -> AsyncIterator[Home]:
    """A node whose requests all go to the cloud, but for what must stay at home."""
    log = io.StringIO()
    logs.set_up(log, json=True)
    reply = words() if answer is None else answer
    async with (
        ScriptedUpstream(cloud) as away,
        ScriptedUpstream(script or ollama(reply, **shown)) as home,
    ):
        config = Config(
            listen=Listen(port=0),
            upstreams=(
                UpstreamSettings("away", Leg.CLOUD, away.url, FAMILIES, "caller"),
                UpstreamSettings("home", Leg.LOCAL, home.url, tuple(speaks), "none", None, MODEL),
            ),
            fallback=Fallback("home", prefer, explain),
        )
        async with running(change(config)) as node:
            yield Home(node, away, log, home)
