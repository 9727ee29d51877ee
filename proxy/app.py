"""The composition root: the only place that builds the parts of a node and joins them.

Owns construction, exchange on reload, and the order in which things end. It must not decide
anything about a request.
"""

import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from policies.conversation import Conversation
from policies.screening import Screen
from proxy import logs
from proxy.apart import Apart
from proxy.clean import CleanMarks
from proxy.config import Config
from proxy.dialects import ALL
from proxy.door import Admitted, Door
from proxy.errand import House
from proxy.errors import Refused
from proxy.gateway import Gateway
from proxy.home_only import HomeOnly
from proxy.ledger import Ledger
from proxy.local.home import Home
from proxy.outgoing import Workshop
from proxy.owner import Owner
from proxy.refusals import refusal
from proxy.relayed import Relayed
from proxy.secrets_dir import Build, SecretsDir
from proxy.server import Listener
from proxy.sessions import labelled
from proxy.state import Store, open_store
from proxy.stay import Hearth
from proxy.sweeper import Sweeper
from proxy.turns import Turns
from proxy.upstream import Outbound

_FIXED = ("host", "port")


@dataclass(slots=True)
class Parts:
    """What a node is made of, as long as it lives. Only `secrets` changes, on reload."""

    listener: Listener
    store: Store
    outbound: Outbound
    secrets: SecretsDir
    ledger: Ledger
    clean: CleanMarks
    relayed: Relayed
    apart: Apart
    owner: Owner
    hearth: Hearth
    turns: Turns
    screen: Build

    def house(self, config: Config) -> House:
        """What requests are served with under `config`."""

        def session(admitted: Admitted, conversation: Conversation | None) -> str:
            return labelled(self.store.key, admitted.client, admitted.session, conversation)

        return House(
            config,
            Door.of(config, self.listener.port),
            Workshop(
                config.policies, self.ledger, self.clean, self.secrets.current, apart=self.apart
            ),
            self.outbound,
            self.relayed,
            self.owner,
            session,
            self.hearth,
            self.turns,
        )


@dataclass(slots=True)
class Node:
    """A node that serves. `began`: the configuration that it was started with."""

    parts: Parts
    gateway: Gateway
    began: Config

    @property
    def url(self) -> str:
        """What clients set as their base URL, `/v1` aside."""
        return self.parts.listener.url

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self.gateway.house.config

    async def reload(self, config: Config) -> tuple[str, ...]:
        """Serve by `config` from the next request on; requests in flight keep what they began with.
        Returns the settings that wait for a restart."""
        old = self.config
        if config.secrets_dir != old.secrets_dir:
            stale, build = self.parts.secrets, self.parts.screen
            fresh = SecretsDir(config.secrets_dir, build=build, tell=_skipped)
            await fresh.start()
            self.parts.secrets = fresh
            await stale.close()
        self.parts.outbound.reload(config.timeouts, tailnet=config.tailnet)
        self.parts.ledger.keep = config.ledger_keep
        self.gateway.house = self.parts.house(config)
        began = self.began
        waits = [f"listen.{name}" for name in _FIXED if _differ(began.listen, config.listen, name)]
        return (*waits, *(["state.url"] if began.state_url != config.state_url else []))


@asynccontextmanager
async def running(
    config: Config, *, key_file: Path | None = None, screen: Build = Screen.build
) -> AsyncIterator[Node]:
    """A node that accepts requests until the block ends. `screen` is built before it does. Raises
    `CannotListen`, `StateRefused`."""
    async with AsyncExitStack() as stack:
        listener = Listener.bind(config.listen.host, config.listen.port)
        stack.push_async_callback(listener.stop, 0.0)
        store = open_store(config.state_url, key_file=key_file)
        stack.push_async_callback(store.close)
        outbound = Outbound(config.timeouts, tailnet=config.tailnet)
        await stack.enter_async_context(outbound)
        secrets_dir = SecretsDir(config.secrets_dir, build=screen, tell=_skipped)
        await secrets_dir.start()
        ledger = Ledger(store, store.key, keep=config.ledger_keep)
        sweeper = Sweeper(store, lambda: ledger.keep)
        sweeper.start()
        stack.push_async_callback(sweeper.close)
        owner = Owner(store, store.key)
        owner.recorder.start()
        stack.push_async_callback(owner.recorder.close)
        apart = Apart()
        stack.callback(apart.close)
        home = Home(outbound, apart)
        stack.push_async_callback(home.close)
        hearth = Hearth(home, HomeOnly(store, store.key, apart))
        parts = Parts(
            listener,
            store,
            outbound,
            secrets_dir,
            ledger,
            CleanMarks(),
            Relayed(),
            apart,
            owner,
            hearth,
            Turns(),
            screen,
        )
        stack.push_async_callback(_close_secrets, parts)
        gateway = Gateway(parts.house(config), new_id=_request_id, clock=time.monotonic)
        await listener.start(gateway.handle, dress=_dress, note=_note)
        stack.push_async_callback(listener.stop, 0.0)
        yield Node(parts, gateway, config)


async def _close_secrets(parts: Parts) -> None:
    await parts.secrets.close()


def _skipped(count: int) -> None:
    """Files below the secrets folder are not looked for. Their names are the owner's alone."""
    logs.get().warning("notice", notice="secrets-file-skipped", times=count)


def _differ(old: object, new: object, name: str) -> bool:
    return bool(getattr(old, name) != getattr(new, name))


def _request_id() -> str:
    return f"req_{os.urandom(12).hex()}"


def _dress(no: Refused, dialect: str) -> web.StreamResponse:
    """An answer to what never became a request."""
    logs.get().warning("notice", notice=no.code)
    return refusal(no, ALL[dialect], _request_id())


def _note(kind: str) -> None:
    """Something ended a connection that no handler saw."""
    logs.get().warning("notice", error=[kind])
