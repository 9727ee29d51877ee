"""Anthropic Messages → a model at home (wire.md 5.2).

Owns which of the request's members mean something there, and its tools. It must not know what a
local server is sent.
"""

from typing import Final

from proxy.local.asked.anthropic_blocks import Blocks, texts
from proxy.local.asked.draft import Draft, Form, left_out
from proxy.local.asked.leaning import refuse_held
from proxy.local.asked.options import level, limited, sampling, stops
from proxy.local.asked.shapes import Members, joined, listed, members, plain, word
from proxy.local.asked.toolbox import Choice
from proxy.local.talk import Talk

_READ: Final = frozenset(
    {"model", "messages", "system", "tools", "tool_choice", "max_tokens", "stop_sequences",
     "stream", "temperature", "top_p", "top_k", "thinking", "output_config", "output_format"}
)  # fmt: skip
_LEFT: Final = frozenset(
    {"metadata", "service_tier", "container", "context_management", "mcp_servers", "cache_control",
     "inference_geo", "speed", "fallbacks", "fallback_credit_token", "diagnostics", "thread",
     "compaction", "billing_policy", "user_profile_id", "workspace_id", "betas"}
)  # fmt: skip

_ATTRIBUTION: Final = "x-anthropic-billing-header:"
"""How the text begins that Claude Code puts first, for the vendor alone (wire.md 1.1.3)."""

_PLACEHOLDER: Final = "DeferredToolPlaceholder"


def talk(body: Members) -> Talk:
    """See `proxy.local.asked.talk`."""
    if word(members(body.get("thread")).get("type")) == "continue":
        refuse_held("thread")
    draft = Draft()
    draft.leave(*left_out(body, _READ, _LEFT))
    draft.system(_system(body.get("system"), draft))
    declared = [members(tool) for tool in listed(body.get("tools"))]
    for tool in declared:
        draft.names.here(word(tool.get("name")))
    blocks = Blocks(draft)
    for message in listed(body.get("messages")):
        blocks.message(members(message))
    _tools(declared, blocks, draft)
    config = members(body.get("output_config"))
    return draft.done(
        model=word(body.get("model")),
        stream=body.get("stream") is True,
        choice=_choice(body.get("tool_choice"), draft),
        options={
            **limited(body, "max_tokens"),
            **sampling(body, ("temperature", "top_p", "top_k")),
            **stops(body.get("stop_sequences")),
        },
        form=_form(members(config.get("format") or body.get("output_format"))),
        think=_think(members(body.get("thinking")), blocks.effort or word(config.get("effort"))),
    )


def _system(given: object, draft: Draft) -> str:
    said = [given] if isinstance(given, str) else texts(given, draft)
    return joined(*(text for text in said if not text.startswith(_ATTRIBUTION)))


def _tools(declared: list[Members], blocks: Blocks, draft: Draft) -> None:
    """Those of the client; a deferred one only once it was loaded, none that was withdrawn."""
    for tool in [*declared, *blocks.added]:
        name, kind = word(tool.get("name")), word(tool.get("type"))
        deferred = tool.get("defer_loading") is True and name not in blocks.loaded
        if (kind not in ("", "custom") and "input_schema" not in tool) or not name:
            draft.tools.away.add(name)
            draft.leave("tools")
        elif deferred or name in blocks.gone or name == _PLACEHOLDER:
            draft.leave("tools")
        else:
            draft.tools.add(name, word(tool.get("description")), tool.get("input_schema"))


def _choice(given: object, draft: Draft) -> Choice:
    choice = members(given)
    if choice.get("disable_parallel_tool_use") is True:
        draft.leave("disable_parallel_tool_use")
    match word(choice.get("type")):
        case "none":
            return Choice("none")
        case "any":
            return Choice("any")
        case "tool":
            return Choice("any", (("", word(choice.get("name"))),))
        case "auto":
            return Choice()
        case _:
            draft.leave(*(["tool_choice"] if given is not None else []))
            return Choice()


def _form(given: Members) -> Form:
    schema = plain(given.get("schema"))
    return schema if isinstance(schema, dict) else None


def _think(thinking: Members, effort: str) -> bool | str:
    """Thinking is off here unless it is asked for; an effort may be given with it."""
    if word(thinking.get("type")) not in ("enabled", "adaptive"):
        return False
    asked = level(effort)
    return True if asked is None or asked is False else asked
