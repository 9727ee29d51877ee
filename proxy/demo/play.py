"""What is played: every agent with every file, whole and streamed, and once with a model that is
shown the current turn; a redirect at home; then every agent with a model at home that answers.

Owns the scenes and what each left behind. It must not know what the evidence means.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from proxy.demo.agents import NAMES, Agent, Setup, opened
from proxy.demo.files import NOTES, WALLET, folder
from proxy.demo.stage import HOME_MODEL, MODELS, TURN_MODELS, Stage
from proxy.demo.upstream import Recorded, ScriptedUpstream


@dataclass(slots=True)
class Scene:
    """One agent, one file, and what came of it.

    `answers` of the model; `error` that the SDK raised, `typed` if it is the SDK's own error for a
    refusal; `sent`: bodies as the SDK sent them, each attempt one; `arrived`: requests that the
    upstream read; `connections`: how many it accepted meanwhile; `asked`: requests that a model at
    home read. `cut`: of earlier questions the
    model is shown what was said, and no more.
    """

    agent: str
    stream: bool
    file: str
    setup: Setup
    answers: list[str] = field(default_factory=list)
    error: Exception | None = None
    typed: bool = False
    arrived: list[Recorded] = field(default_factory=list)
    connections: int = 0
    asked: list[Recorded] = field(default_factory=list)
    cut: bool = False

    @property
    def sent(self) -> list[bytes]:
        """Bodies as the SDK sent them."""
        return self.setup.sent

    @property
    def way(self) -> str:
        """How answers were asked for."""
        return "streamed" if self.stream else "whole"

    @property
    def name(self) -> str:
        """What the scene is called in print."""
        return f"{self.agent}, {self.way}"


async def play(stage: Stage, url: str) -> list[Scene]:
    """Play all scenes through the node at `url`, one after the other."""
    scenes = [
        await _scene(stage, url, name, stream=stream, file=file)
        for file in (NOTES, WALLET)
        for name in NAMES
        for stream in (False, True)
    ]
    scenes += [await _scene(stage, url, name, stream=False, file=NOTES, cut=True) for name in NAMES]
    return [*scenes, await _redirect(stage, url)]


async def stay(stage: Stage, url: str) -> list[Scene]:
    """Play the scenes with the wallet through a node whose home answers: the first question meets
    the key, the second one goes on where it was answered, with more to read."""
    scenes = []
    for name in NAMES:
        setup = Setup(url, MODELS[name], True, folder(f"Notes of {name}, at home"))
        scene = Scene(name, True, WALLET, setup)
        asked = len(stage.hearth.requests)
        async with opened(name, setup) as agent:
            with _watched(scene, stage.cloud[name]):
                more = f"Read {WALLET} and {NOTES} once more."
                await _ask(scene, agent, f"Sum up {WALLET} for me.", more)
        chats = (each for each in stage.hearth.requests[asked:] if each.path == "/api/chat")
        scene.asked = [*chats]
        scenes.append(scene)
    return scenes


async def _scene(
    stage: Stage, url: str, name: str, *, stream: bool, file: str, cut: bool = False
) -> Scene:
    title = f"Notes of {name}, {'streamed' if stream else 'whole'}{', cut' if cut else ''}"
    setup = Setup(url, (TURN_MODELS if cut else MODELS)[name], stream, folder(title))
    scene = Scene(name, stream, file, setup, cut=cut)
    async with opened(name, setup) as agent:
        with _watched(scene, stage.cloud[name]):
            # The second question resends all of the first one's history. In other words where it
            # is cut: a conversation is known by its first words, and keeps what it began with.
            please = ", please" if cut else ""
            await _ask(scene, agent, f"Sum up {file}{please}.", f"Read {file} once more.")
    return scene


async def _redirect(stage: Stage, url: str) -> Scene:
    setup = Setup(url, HOME_MODEL, False, {})
    scene = Scene("ollama", False, "", setup)
    async with opened("ollama", setup) as agent:
        with _watched(scene, stage.home):
            await _ask(scene, agent, "How are you?")
    return scene


async def _ask(scene: Scene, agent: Agent, *questions: str) -> None:
    try:
        for question in questions:
            scene.answers.append(await agent.ask(question))
    except agent.failures as error:
        scene.error = error
        scene.typed = isinstance(error, agent.refusal)


@contextmanager
def _watched(scene: Scene, upstream: ScriptedUpstream) -> Iterator[None]:
    requests, accepted = len(upstream.requests), upstream.accepted
    yield
    scene.arrived = upstream.requests[requests:]
    scene.connections = upstream.accepted - accepted
