"""The stage of the demo: scripted vendors, a folder for state, and the configuration between them.

Owns who listens where. It must not know what is played nor what is checked.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from policies.decision import Leg
from proxy.config import Config, Listen, RouteSettings, UpstreamSettings
from proxy.config.profiles import mode_of
from proxy.demo.agents import NAMES
from proxy.demo.upstream import Fault, Recorded, Reply, Script, ScriptedUpstream
from proxy.demo.vendors import vendor

HOME_MODEL = "home:1b"
MODELS = dict(zip(NAMES, ("claude-opus-5-5", "gpt-6.2", "gpt-6.2", "demo:1b"), strict=True))
"""Agent → the model that is shown the whole history, so that a history is resent at all."""
TURN_MODELS = dict(
    zip(NAMES, ("claude-haiku-5-5", "gpt-6.2-mini", "gpt-6.2-mini", "demo:2b"), strict=True)
)
"""Agent → the model that is shown what the default profile shows."""


@dataclass(frozen=True, slots=True)
class Stage:
    """`cloud`: agent → the vendor it ends up at. `home` is a local upstream that answers every
    chat with a redirect to `elsewhere`; `hearth` one that answers what must not leave."""

    cloud: dict[str, ScriptedUpstream]
    home: ScriptedUpstream
    elsewhere: ScriptedUpstream
    hearth: ScriptedUpstream
    state: Path

    @property
    def everyone(self) -> list[ScriptedUpstream]:
        """Every upstream that no secret may come to, once."""
        return [*dict.fromkeys(self.cloud.values()), self.home, self.elsewhere]

    def config(self, *, answers: bool = False) -> Config:
        """What Transom is told: three vendors in the cloud and one model at home, which `answers`
        what must not leave or does not. In the default profile; some models are shown the whole
        history."""
        home = ("home", Leg.LOCAL, self.hearth.url if answers else self.home.url, ("ollama",))
        anthropic, chat, _, ollama = (self.cloud[name].url for name in NAMES)
        return Config(
            listen=Listen(port=0),
            state_url=f"sqlite://{self.state / 'transom.db'}",
            upstreams=(
                UpstreamSettings("claude", Leg.CLOUD, anthropic, ("anthropic",), "caller"),
                UpstreamSettings("openai", Leg.CLOUD, chat, ("openai",), "caller"),
                UpstreamSettings("ollama", Leg.CLOUD, ollama, ("ollama",), "caller"),
                UpstreamSettings(*home, "none", None, HOME_MODEL if answers else ""),
            ),
            routes=(
                RouteSettings(HOME_MODEL, "", "", "home"),
                *(
                    RouteSettings(model, "", "", name, mode_of("relay"))
                    for model, name in zip(
                        dict.fromkeys(MODELS.values()), ("claude", "openai", "ollama"), strict=True
                    )
                ),
            ),
        )


@asynccontextmanager
async def built(state: Path) -> AsyncIterator[Stage]:
    """The stage, listening, for the length of the `async with`."""
    async with AsyncExitStack() as stack:

        async def listening(upstream: ScriptedUpstream) -> ScriptedUpstream:
            return await stack.enter_async_context(upstream)

        claude, openai, ollama, home, elsewhere, hearth = [
            await listening(ScriptedUpstream(_one_request_per_connection)) for _ in range(6)
        ]
        home.script = _redirecting(elsewhere)
        cloud = dict(zip(NAMES, (claude, openai, openai, ollama), strict=True))
        yield Stage(cloud, home, elsewhere, hearth, state)


def _one_request_per_connection(request: Recorded) -> Reply:
    # So that the number of connections tells how many requests were begun.
    reply = vendor(request)
    return replace(reply, headers=(*reply.headers, ("connection", "close")))


def _redirecting(elsewhere: ScriptedUpstream) -> Script:
    def script(request: Recorded) -> Reply | Fault:
        if request.path != "/api/chat":
            return _one_request_per_connection(request)
        return Reply(307, (("location", f"{elsewhere.url}{request.target}"),))

    return script
