"""`Talk` → a request of Ollama's `/api/chat`, for the model that is there.

Owns what a model can be given, and how large its context is made. It must not know the caller's
dialect, nor how the request travels. Sources: Ollama's `api/types.go`, `server/routes.go`.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from proxy.errors import Refused
from proxy.local.asked import phrases
from proxy.local.asked.shapes import Members, count, joined, listed, members, word
from proxy.local.estimate import tokens, written
from proxy.local.talk import Call, Said, Talk, Tool

ANSWER: Final = 8_192
"""Room for the answer, in tokens, where the caller asks for more or does not say."""

LEAST: Final = 512
"""The least room for an answer."""

_SMALLEST: Final = 4_096

_LEVELS: Final = ("low", "medium", "high", "max")
"""How much to think, from little to much."""


class Model(Struct, frozen=True):
    """What `/api/show` tells of a model. `context`: tokens, 0 where it does not say. `thinking`:
    what it takes for `think`: yes and no, or how much; empty for a model that cannot."""

    capabilities: frozenset[str]
    context: int
    thinking: tuple[bool | str, ...] = ()


def told(body: bytes) -> Model:
    """An answer of `/api/show`. What is not there, or of a wrong shape, counts as absent."""
    try:
        shown = members(msgspec.json.decode(body))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        shown = {}
    capabilities = frozenset(filter(None, map(word, listed(shown.get("capabilities")))))
    context = _context(members(shown.get("model_info")))
    return Model(capabilities, context, _thinking(shown, capabilities))


def _thinking(shown: Members, capabilities: frozenset[str]) -> tuple[bool | str, ...]:
    """New servers list it; of older ones it is known. A level for a model that has none is a 400
    there."""
    values = listed(members(shown.get("thinking")).get("values"))
    if values:
        return tuple(value for value in values if isinstance(value, (bool, str)))
    if "thinking" not in capabilities:
        return ()
    family = word(members(shown.get("details")).get("family"))
    return _LEVELS[:3] if family == "gptoss" else (True, False)


def _context(info: Members) -> int:
    """Of the model itself, where more of its parts have one."""
    own = f"{word(info.get('general.architecture'))}.context_length"
    lengths = {
        key: count(value) or 0 for key, value in info.items() if key.endswith(".context_length")
    }
    return lengths.get(own, max(lengths.values(), default=0))


def chat(
    talk: Talk,
    *,
    model: str,
    told: Model,
    ceiling: int,
    size: int | None = None,
    keep_alive: str | int | None = None,
) -> bytes:
    """The body that asks `model`; the server streams. `ceiling`: most tokens of context that the
    owner allows; `size`: what `tokens` says of the talk, if it was asked; `keep_alive` as Ollama
    takes it, None: the server's own.

    Raises `Refused("home-context-too-small")` where talk and answer do not fit."""
    whole, talk = talk, _able(talk, told)
    if size is None or talk.messages is not whole.messages or talk.tools is not whole.tools:
        size = tokens(talk)
    size, room = _sized(talk, size, model, told, ceiling)
    body: dict[str, object] = {
        "model": model,
        "messages": [_message(said) for said in talk.messages],
        "stream": True,
        # SECURITY: left to itself the server drops the oldest messages and says nothing.
        "truncate": False,
        "shift": False,
        "options": {**talk.options, "num_ctx": size, "num_predict": room},
    }
    if talk.tools:
        body["tools"] = [_tool(tool) for tool in talk.tools]
    if talk.form is not None:
        body["format"] = talk.form
    if talk.think is not None:
        body["think"] = talk.think
    if keep_alive is not None:
        body["keep_alive"] = keep_alive
    return written(body)


def _able(talk: Talk, told: Model) -> Talk:
    """What of the talk this model can be given; the rest would be a 400."""
    tools = "tools" in told.capabilities
    blind = "vision" not in told.capabilities and any(said.images for said in talk.messages)
    seen = tuple(map(_unseen, talk.messages)) if blind else talk.messages
    return msgspec.structs.replace(
        talk,
        messages=seen,
        tools=talk.tools if tools else (),
        think=_think(talk.think, told),
    )


def _unseen(said: Said) -> Said:
    if not said.images:
        return said
    text = joined(said.text, *[phrases.PICTURE] * len(said.images))
    return msgspec.structs.replace(said, text=text, images=())


def _think(asked: bool | str | None, told: Model) -> bool | str | None:
    """What comes nearest to what is asked; None, the model's own way, where nothing does."""
    if asked is None or asked in told.thinking:
        return asked
    levels = [level for level in _LEVELS if level in told.thinking]
    if not levels:
        return True if asked and True in told.thinking else None
    if isinstance(asked, bool):
        return None if asked else levels[0]
    most = _LEVELS.index(asked)
    return [levels[0], *(level for level in levels if _LEVELS.index(level) <= most)][-1]


def _sized(talk: Talk, needed: int, model: str, told: Model, ceiling: int) -> tuple[int, int]:
    """`num_ctx` and `num_predict`. `needed`: tokens of the talk."""
    most = min(told.context or ceiling, ceiling)
    asked = talk.options.get("num_predict")
    wanted = int(asked) if isinstance(asked, (int, float)) and asked > 0 else ANSWER
    least = needed + min(wanted, LEAST)
    if least > most:
        raise Refused(
            "home-context-too-small", model=model, needed=f"about {least}", room=str(most)
        )
    wished = talk.options.get("num_ctx")
    context = int(wished) if isinstance(wished, (int, float)) else 0
    size = min(_step(max(needed + min(wanted, ANSWER), context)), most)
    return size, min(wanted, size - needed)


def _step(least: int) -> int:
    """The next power of two, or one and a half of one: a model is loaded anew whenever this
    changes, so it should not change with every turn."""
    size = _SMALLEST
    while size < least:
        half = size + size // 2
        size = half if half >= least else size * 2
    return size


def _message(said: Said) -> dict[str, object]:
    found: dict[str, object] = {"role": said.role, "content": said.text}
    if said.thinking:
        found["thinking"] = said.thinking
    if said.images:
        found["images"] = said.images
    if said.calls:
        found["tool_calls"] = [_call(at, call) for at, call in enumerate(said.calls)]
    if said.tool:
        found["tool_name"] = said.tool
    if said.answers:
        found["tool_call_id"] = said.answers
    return found


def _call(at: int, call: Call) -> Mapping[str, object]:
    function = {"index": at, "name": call.name, "arguments": call.arguments}
    return {**({"id": call.id} if call.id else {}), "function": function}


def _tool(tool: Tool) -> Mapping[str, object]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}
