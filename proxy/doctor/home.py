"""Whether a model is there at home, and runs there.

Owns that question about Ollama servers, asked through the local door: of an address that is not at
home nothing is asked. It must not know what a model is used for.
"""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from policies.decision import Leg
from policies.notices import one_line
from proxy.answer import Answer
from proxy.config import Config, Timeouts, UpstreamSettings
from proxy.doctor import Check, State
from proxy.errors import Refused
from proxy.lazyjson import dump
from proxy.local.guard import Guard
from proxy.upstream import SHOW, Outbound

_TAGS: Final = "/api/tags"
_LARGEST: Final = 16 * 1024 * 1024
_MOST: Final = 100
_PATIENCE: Final = 10.0


@dataclass(frozen=True, slots=True)
class Home:
    """What was found about one upstream: the line, and a model that runs there, if there is one."""

    check: Check
    upstream: str
    model: str = ""


async def examine(config: Config) -> list[Home]:
    """One finding for each local upstream, in file order."""
    limits = Timeouts(min(config.timeouts.connect, _PATIENCE), _PATIENCE, _PATIENCE)
    async with Outbound(limits, tailnet=config.tailnet) as outbound:
        local = [upstream for upstream in config.upstreams if upstream.leg is Leg.LOCAL]
        return [await _Server(outbound, upstream).look() for upstream in local]


@dataclass(frozen=True, slots=True)
class _Server:
    outbound: Outbound
    upstream: UpstreamSettings

    async def look(self) -> Home:
        if "ollama" not in self.upstream.dialects:
            return self._home("skipped", "does not speak Ollama, so its models are not asked for")
        try:
            names = await self._names()
        except Refused as no:
            return self._home("wrong", f"its models cannot be listed: {no.code}; is it running?")
        except ValueError:
            return self._home("wrong", "does not answer as Ollama does")
        wanted = self.upstream.model
        if wanted:
            return await self._wanted(wanted, names)
        for name in names[:_MOST]:
            if not await self._elsewhere(name):
                return self._home("fine", f"{one_line(name)} is there and runs here", name)
        return self._home("wrong", "has no model that runs here; run: ollama pull NAME")

    async def _wanted(self, wanted: str, names: Iterable[str]) -> Home:
        if not {wanted, f"{wanted}:latest"} & set(names):
            return self._home("wrong", f"{wanted} is not there; run: ollama pull {wanted}")
        if problem := await self._elsewhere(wanted):
            return self._home("wrong", f"{wanted}: {problem}")
        return self._home("fine", f"{wanted} is there and runs here", wanted)

    async def _names(self) -> list[str]:
        listed = json.loads((await self._ask("GET", _TAGS, b""))[1])
        models = listed.get("models") if isinstance(listed, dict) else None
        if not isinstance(models, list):
            raise ValueError("no list of models")  # noqa: TRY004 (a fault of the data)
        names = [model.get("name") for model in models if isinstance(model, dict)]
        return [name for name in names if isinstance(name, str) and name]

    async def _elsewhere(self, model: str) -> str:
        """Why `model` does not count as local; empty if it does."""
        guard = Guard(asyncio.get_running_loop().time)

        async def ask(name: str) -> tuple[int, bytes]:
            return await self._ask("POST", SHOW, dump({"model": name}))

        try:
            unknown = await guard.vouch(self.upstream.base_url, model, ask)
        except Refused as no:
            return no.facts.get("reason", no.code)
        return "its server does not know it" if unknown else ""

    async def _ask(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        answer = await self.outbound.send_local(
            self.upstream,
            method=method,
            path=path,
            query="",
            headers=(("content-type", "application/json"),) if body else (),
            body=body,
            model="",
        )
        return answer.status, await _whole(answer)

    def _home(self, state: State, says: str, model: str = "") -> Home:
        return Home(Check(f"home {self.upstream.name}", state, says), self.upstream.name, model)


async def _whole(answer: Answer) -> bytes:
    read = bytearray()
    try:
        async for chunk in answer.chunks:
            read += chunk
            if len(read) > _LARGEST:
                raise ValueError("too long")
    finally:
        answer.close()
    return bytes(read)
