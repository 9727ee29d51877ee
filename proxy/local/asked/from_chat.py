"""OpenAI Chat Completions → a model at home (wire.md 5.2).

Owns what becomes of messages, parts, calls and members. It must not know what a local server is
sent.
"""

from typing import Final

from proxy.local.asked import phrases
from proxy.local.asked.chat_parts import Parts
from proxy.local.asked.draft import Draft, Form, left_out
from proxy.local.asked.leaning import refuse_held
from proxy.local.asked.options import level, limited, sampling, stops
from proxy.local.asked.shapes import Members, arguments, joined, listed, members, plain, word
from proxy.local.asked.toolbox import Choice, Mode
from proxy.local.talk import Call, Talk

_READ: Final = frozenset(
    {"model", "messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens", "stop",
     "stream", "stream_options", "temperature", "top_p", "frequency_penalty", "presence_penalty",
     "seed", "reasoning_effort", "response_format", "parallel_tool_calls"}
)  # fmt: skip
_LEFT: Final = frozenset(
    {"audio", "function_call", "functions", "logit_bias", "logprobs", "metadata", "modalities",
     "moderation", "n", "prediction", "prompt_cache_key", "prompt_cache_options",
     "prompt_cache_retention", "safety_identifier", "service_tier", "store", "top_logprobs",
     "user", "verbosity", "web_search_options"}
)  # fmt: skip

_SAMPLING: Final = ("temperature", "top_p", "frequency_penalty", "presence_penalty", "seed")


def talk(body: Members) -> Talk:
    """See `proxy.local.asked.talk`."""
    draft = Draft()
    draft.leave(*left_out(body, _READ, _LEFT))
    if body.get("parallel_tool_calls") is False:
        draft.leave("parallel_tool_calls")
    _tools(body.get("tools"), draft)
    for message in map(members, listed(body.get("messages"))):
        _message(message, draft)
    return draft.done(
        model=word(body.get("model")),
        stream=body.get("stream") is True,
        choice=_choice(body.get("tool_choice"), draft),
        options={
            **limited(body, "max_completion_tokens", "max_tokens"),
            **sampling(body, _SAMPLING),
            **stops(body.get("stop")),
        },
        form=_form(members(body.get("response_format"))),
        think=level(body.get("reasoning_effort")),
    )


def _tools(given: object, draft: Draft) -> None:
    for tool in map(members, listed(given)):
        kind = word(tool.get("type")) or "function"
        inner = members(tool.get(kind))
        name, told = word(inner.get("name")), word(inner.get("description"))
        if kind == "function" and name:
            draft.tools.add(name, told, inner.get("parameters"))
        elif kind == "custom" and name:
            form = members(inner.get("format"))
            draft.tools.add_custom(name, told, form.get("grammar"))
        else:
            draft.tools.away.add(kind)
            draft.leave("tools")


def _choice(given: object, draft: Draft) -> Choice:
    """A word, or an object that names one tool or some."""
    choice = members(given)
    kind = word(given) or word(choice.get("type"))
    if kind in ("none", "auto"):
        return Choice("none" if kind == "none" else "auto")
    if kind == "required":
        return Choice("any")
    if kind in ("function", "custom"):
        return Choice("any", (("", word(members(choice.get(kind)).get("name"))),))
    if kind == "allowed_tools":
        allowed = members(choice.get(kind))
        tools = [members(tool) for tool in listed(allowed.get("tools"))]
        names = (word(members(tool.get(word(tool.get("type")))).get("name")) for tool in tools)
        mode: Mode = "any" if allowed.get("mode") == "required" else "auto"
        return Choice(mode, tuple(("", name) for name in names))
    draft.leave(*(["tool_choice"] if given is not None else []))
    return Choice()


def _form(given: Members) -> Form:
    match word(given.get("type")):
        case "json_object":
            return "json"
        case "json_schema":
            schema = plain(members(given.get("json_schema")).get("schema"))
            return schema if isinstance(schema, dict) else "json"
        case _:
            return None


def _message(message: Members, draft: Draft) -> None:
    parts = Parts(draft)
    parts.content(message.get("content"))
    match word(message.get("role")).lower():
        case "system" | "developer":
            draft.system(parts.text)
        case "user":
            draft.user(parts.text, parts.images)
        case "assistant":
            _assistant(message, parts, draft)
        case "tool" | "function" as role:
            name = word(message.get("name")) if role == "function" else ""
            call = word(message.get("tool_call_id"))
            draft.result(call, parts.text, parts.images, tool=name)
        case _:
            draft.leave("role")


def _assistant(message: Members, parts: Parts, draft: Draft) -> None:
    if message.get("audio"):
        refuse_held("audio")
    legacy = members(message.get("function_call"))
    listed_calls = listed(message.get("tool_calls"))
    made = [members(call) for call in listed_calls] + ([{"function": legacy}] if legacy else [])
    text, calls = joined(parts.text, word(message.get("refusal"))), list[Call]()
    for call in made:
        told, found = _call(call, draft)
        text = joined(text, told)
        calls.append(found)
    thinking = ""
    if listed(message.get("reasoning_details")):
        draft.leave("reasoning_details")
    else:
        thinking = word(message.get("reasoning")) or word(message.get("reasoning_content"))
    draft.assistant(text, calls, thinking)


def _call(made: Members, draft: Draft) -> tuple[str, Call]:
    """A call, and what the model is told of arguments that are none."""
    function, custom = members(made.get("function")), members(made.get("custom"))
    call = word(made.get("id"))
    if custom:
        given = {"input": word(custom.get("input"))}
        return "", draft.call(call, word(custom.get("name")), given)
    text = word(function.get("arguments"))
    found = arguments(text)
    told = phrases.unread(text) if found is None else ""
    return told, draft.call(call, word(function.get("name")), found or {})
