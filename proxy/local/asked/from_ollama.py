"""Ollama's own `/api/chat` → a model at home, for clients that asked for one elsewhere.

Owns which members pass. It must not know how a context is sized.
"""

from typing import Final

from proxy.local.asked.draft import Draft, Form, left_out
from proxy.local.asked.options import level, sampling, stops
from proxy.local.asked.shapes import Members, listed, members, picture, plain, word
from proxy.local.asked.toolbox import Choice
from proxy.local.talk import Call, Talk

_READ: Final = frozenset({"model", "messages", "stream", "format", "tools", "options", "think"})
_LEFT: Final = frozenset({"keep_alive", "logprobs", "top_logprobs", "truncate", "shift"})

_OPTIONS: Final = (
    "num_ctx", "num_predict", "temperature", "top_k", "top_p", "min_p", "typical_p", "seed",
    "repeat_last_n", "repeat_penalty", "presence_penalty", "frequency_penalty",
)  # fmt: skip
"""What is about the answer; what is about the machine is the owner's."""


def talk(body: Members) -> Talk:
    """See `proxy.local.asked.talk`."""
    draft = Draft()
    draft.leave(*left_out(body, _READ, _LEFT))
    for tool in map(members, listed(body.get("tools"))):
        function = members(tool.get("function"))
        if name := word(function.get("name")):
            draft.tools.add(name, word(function.get("description")), function.get("parameters"))
        else:
            draft.leave("tools")
    for message in map(members, listed(body.get("messages"))):
        _message(message, draft)
    options = members(body.get("options"))
    draft.leave(*("options" for key in options if key not in (*_OPTIONS, "stop")))
    return draft.done(
        model=word(body.get("model")),
        stream=body.get("stream") is not False,
        choice=Choice(),
        options={**sampling(options, _OPTIONS), **stops(options.get("stop"))},
        form=_form(body.get("format")),
        think=_think(body.get("think")),
    )


def _form(given: object) -> Form:
    if given == "json":
        return "json"
    schema = plain(given)
    return schema if isinstance(schema, dict) else None


def _think(given: object) -> bool | str | None:
    return given if isinstance(given, bool) else level(given)


def _message(message: Members, draft: Draft) -> None:
    text, images = word(message.get("content")), _images(message, draft)
    match word(message.get("role")).lower():
        case "system":
            draft.system(text)
        case "user":
            draft.user(text, images)
        case "assistant":
            calls = [_call(members(call), draft) for call in listed(message.get("tool_calls"))]
            draft.assistant(text, calls, word(message.get("thinking")))
        case "tool":
            tool = word(message.get("tool_name")) or word(message.get("name"))
            draft.result(word(message.get("tool_call_id")), text, images, tool=tool)
        case _:
            draft.leave("role")


def _call(made: Members, draft: Draft) -> Call:
    function = members(made.get("function"))
    given = members(plain(function.get("arguments")))
    return draft.call(word(made.get("id")), word(function.get("name")), given)


def _images(message: Members, draft: Draft) -> list[str]:
    """Bare base64; their media types are not told."""
    found = [picture("image/png", word(image)) for image in listed(message.get("images"))]
    kept = [image for image in found if image is not None]
    if len(kept) < len(found):
        draft.leave("images")
    return kept
