"""OpenAI Responses → a model at home (wire.md 5.2).

Owns which of the request's members mean something there, and its tools. It must not know what a
local server is sent.
"""

from typing import Final

from proxy.local.asked.draft import Draft, Form, left_out
from proxy.local.asked.leaning import refuse_held
from proxy.local.asked.options import level, limited, sampling
from proxy.local.asked.responses_input import read_item
from proxy.local.asked.responses_tools import add_tools
from proxy.local.asked.shapes import Members, listed, members, plain, word
from proxy.local.asked.toolbox import Choice, Mode
from proxy.local.talk import Talk

_READ: Final = frozenset(
    {"model", "input", "instructions", "tools", "tool_choice", "max_output_tokens", "stream",
     "temperature", "top_p", "reasoning", "text", "parallel_tool_calls", "type",
     "previous_response_id", "conversation", "prompt"}
)  # fmt: skip
_LEFT: Final = frozenset(
    {"access_programs", "background", "background_options", "client_metadata",
     "context_management", "generate", "image", "include", "max_tool_calls", "metadata",
     "moderation", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
     "safety_identifier", "service_tier", "store", "stream_options", "top_logprobs", "truncation",
     "user"}
)  # fmt: skip
_HELD: Final = ("previous_response_id", "conversation", "prompt")


def talk(body: Members) -> Talk:
    """See `proxy.local.asked.talk`."""
    for key in _HELD:
        if body.get(key):
            refuse_held(key)
    draft = Draft()
    draft.leave(*left_out(body, _READ, _LEFT))
    if body.get("parallel_tool_calls") is False:
        draft.leave("parallel_tool_calls")
    add_tools(body.get("tools"), draft)
    draft.system(word(body.get("instructions")))
    given = body.get("input")
    if isinstance(given, str):
        draft.user(given)
    items = [members(item) for item in listed(given)]
    for item in items:
        add_tools(item.get("tools") if word(item.get("type")) in _WITH_TOOLS else None, draft)
    for item in items:
        read_item(item, draft)
    text, reasoning = members(body.get("text")), members(body.get("reasoning"))
    for item in items:  # of those that turn the effort up or down the last one holds
        reasoning = {**reasoning, **members(item.get("reasoning"))}
    draft.leave(*(["text.verbosity"] if "verbosity" in text else []))
    return draft.done(
        model=word(body.get("model")),
        stream=body.get("stream") is True,
        choice=_choice(body.get("tool_choice"), draft),
        options={**limited(body, "max_output_tokens"), **sampling(body, ("temperature", "top_p"))},
        form=_form(members(text.get("format"))),
        think=level(reasoning.get("effort")),
    )


_WITH_TOOLS: Final = ("additional_tools", "tool_search_output")
"""Items that declare tools: those of the harness, and those that a search has loaded."""


def _choice(given: object, draft: Draft) -> Choice:
    """A word, or an object that names one tool or some; what names a type is a server's tool."""
    choice = members(given)
    kind = word(given) or word(choice.get("type"))
    match kind:
        case "none":
            return Choice("none")
        case "auto":
            return Choice()
        case "required":
            return Choice("any")
        case "allowed_tools":
            tools = [members(tool) for tool in listed(choice.get("tools"))]
            mode: Mode = "any" if choice.get("mode") == "required" else "auto"
            return Choice(mode, tuple(map(_one, tools)))
        case "":
            draft.leave(*(["tool_choice"] if given is not None else []))
            return Choice()
        case _:
            return Choice("any", (_one(choice),))


def _one(tool: Members) -> tuple[str, str]:
    return word(tool.get("namespace")), word(tool.get("name")) or word(tool.get("type"))


def _form(given: Members) -> Form:
    match word(given.get("type")):
        case "json_object":
            return "json"
        case "json_schema":
            schema = plain(given.get("schema"))
            return schema if isinstance(schema, dict) else "json"
        case _:
            return None
