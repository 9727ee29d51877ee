"""Catalogue of notices: code → words, hint, severity, status. The only words for the owner.

Owns what a refusal or a notice says and which outward face it has. It must not know a dialect,
which dresses these words, nor who shows them. Codes and statuses are part of the outward contract:
add, do not rename.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from policies.wording import FACT_LENGTH, one_line, summary

__all__ = ["FACT_LENGTH", "NOTICES", "TOLD", "Notice", "headers", "one_line", "summary", "words"]

Severity = Literal["info", "warning", "error"]

TOLD: Final = 200
"""Status of a notice that never ends a request: the model's own answer goes out beside it."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that Transom may say. `says` may hold `{facts}`; `facts` names each of them with
    the words that stand in while nothing is known. `status` is the HTTP status of the refusal,
    `TOLD` if the notice never refuses. `hint` is the way out."""

    code: str
    status: int
    severity: Severity
    says: str
    hint: str
    facts: Mapping[str, str] = field(default_factory=dict)


_ALL: Final = (
    Notice(
        "egress-blocked",
        400,
        "error",
        "Kept from the cloud: {kinds} at {places}.",
        "Take it out of the conversation or start a new one; then it can leave.",
        {"kinds": "a secret", "places": "a place named in the log"},
    ),
    Notice(
        "egress-ambiguous",
        400,
        "error",
        "Kept from the cloud, not readable for certain: {kinds} at {places}.",
        "Leave that part out, or use a local model.",
        {"kinds": "a part", "places": "a place named in the log"},
    ),
    Notice(
        "home-unavailable",
        503,
        "error",
        "The local model {upstream} does not answer: {reason}. Nothing was sent to a cloud.",
        "Start it (for Ollama: `ollama serve`) and try again.",
        {"upstream": "at home", "reason": "no connection"},
    ),
    Notice(
        "home-not-local",
        400,
        "error",
        "Refused: {reason}. Nothing was sent.",
        'Choose a model that runs on this node, or give this upstream `leg = "cloud"`.',
        {"reason": "what is called local does not run at home"},
    ),
    Notice(
        "home-context-too-small",
        400,
        "warning",
        "The conversation does not fit the local model {model}: with an answer it takes {needed}"
        " tokens, and there is room for {room}.",
        "Start a new conversation, or configure a local model with a larger context.",
        {"model": "at home", "needed": "too many", "room": "fewer"},
    ),
    Notice(
        "home-only",
        400,
        "warning",
        "This conversation holds answers that must stay at home, so it does not go to a cloud.",
        "Start a new conversation for the cloud.",
    ),
    Notice(
        "not-minimal",
        400,
        "warning",
        "Kept from the cloud: {reason}.",
        "Start a new conversation, or set `minimality.mode`.",
        {"reason": "the request could not be cut down to the current turn"},
    ),
    Notice(
        "read-loop",
        400,
        "warning",
        "Stopped, as tool calls went round in a circle: {what}.",
        "Say what you are looking for, or raise the limits under `[limits]`.",
        {"what": "the same again and again"},
    ),
    Notice(
        "turn-limit",
        400,
        "warning",
        "Stopped, as this turn went on for too long: {what}.",
        "Ask for the next step yourself, or raise the limits under `[limits]`.",
        {"what": "more than is allowed"},
    ),
    Notice(
        "read-loop-soft",
        TOLD,
        "info",
        "Tool calls may be going round in a circle: {what}.",
        "Look what it is doing; it is stopped at the hard limit under `[limits]`.",
        {"what": "the same again and again"},
    ),
    Notice(
        "turn-limit-soft",
        TOLD,
        "info",
        "A turn has gone on for long: {what}.",
        "Look what it is doing; it is stopped at the hard limit under `[limits]`.",
        {"what": "close to what is allowed"},
    ),
    Notice(
        "rate-soft",
        TOLD,
        "info",
        "This session sends requests faster than usual: {rate}.",
        "Look whether a loop is running; the hard limit is `limits.requests`.",
        {"rate": "above the soft limit"},
    ),
    Notice(
        "rate-hard",
        429,
        "warning",
        "This session sends too many requests: {rate}.",
        "Wait as long as retry-after says, or raise `limits.requests`.",
        {"rate": "above the hard limit"},
    ),
    Notice(
        "tool-refused",
        400,
        "warning",
        "The tool {tool} is not allowed here.",
        "Grant it to this session (`transom allow`), or leave it out.",
        {"tool": "that was asked for"},
    ),
    Notice(
        "refusals-untrusted",
        TOLD,
        "error",
        "{count} calls of tools were refused within ten minutes, with text of third parties there.",
        "Read what this session has read before you allow any of them: `transom sessions`.",
        {"count": "Several"},
    ),
    Notice(
        "refusals-repeated",
        TOLD,
        "info",
        "{count} calls of tools were refused within ten minutes, without text of third parties.",
        "If the agent should have these tools, open this in the configuration: `[[tool]]`.",
        {"count": "Several"},
    ),
    Notice(
        "turn-limit-repeated",
        TOLD,
        "warning",
        "{count} turns of this session reached `limits.max_turns` or `limits.result_bytes`.",
        "Look what it is doing, ask for smaller steps, or raise the limit.",
        {"count": "Several"},
    ),
    Notice(
        "memory-refused",
        400,
        "warning",
        "Not kept in memory: it comes from {source}.",
        "Say it yourself if it should be remembered.",
        {"source": "third-party text"},
    ),
    Notice(
        "cloud-while-home-up",
        TOLD,
        "info",
        "A cloud model was used although a local one is up and preferred: {why}.",
        'Choose a local model that can do this, or write `prefer = "cloud"`.',
        {"why": "it cannot answer this"},
    ),
    Notice(
        "unknown-endpoint",
        404,
        "warning",
        "There is no such endpoint here{near}.",
        "Check the base URL: Anthropic clients leave out /v1, OpenAI clients end in /v1.",
        {"near": ""},
    ),
    Notice(
        "endpoint-refused",
        400,
        "warning",
        "{endpoint} is closed: what goes through it is not screened.",
        'The owner can open it with `endpoints.open = ["{group}"]`.',
        {"endpoint": "This endpoint", "group": "…"},
    ),
    Notice(
        "body-too-large",
        413,
        "warning",
        "The request body is larger than {limit}.",
        "Send less, or raise `listen.max_body`.",
        {"limit": "allowed"},
    ),
    Notice(
        "body-invalid",
        400,
        "warning",
        "The request body cannot be read for certain: {reason}.",
        "Send one JSON object in UTF-8, without duplicate keys.",
        {"reason": "it is not valid"},
    ),
    Notice(
        "coding-unknown",
        400,
        "warning",
        "The Content-Encoding {coding} cannot be read.",
        "Send identity, gzip, deflate or zstd.",
        {"coding": "of the request"},
    ),
    Notice(
        "upstream-unreachable",
        503,
        "error",
        "The upstream {upstream} cannot be reached: {reason}.",
        "Check the network and its `base_url`; `transom check` reads the configuration.",
        {"upstream": "for this model", "reason": "no connection"},
    ),
    Notice(
        "upstream-timeout",
        504,
        "error",
        "The upstream {upstream} did not answer in time {phase}.",
        "Try again later, or raise the limit under `[timeouts]`.",
        {"upstream": "for this model", "phase": ""},
    ),
    Notice(
        "secrets-unreadable",
        400,
        "error",
        "`screen.secrets_dir` cannot be read, so nothing leaves for a cloud.",
        "Give Transom read access to it; it is read again within two seconds.",
    ),
    Notice(
        "secrets-file-skipped",
        TOLD,
        "warning",
        "A file under `screen.secrets_dir` is not looked for: {reason}.",
        "Put one secret per file there, long enough to be told from ordinary text.",
        {"reason": "it is too short, too large or not a regular file"},
    ),
    Notice(
        "config-invalid",
        TOLD,
        "error",
        "The configuration was not reloaded: {count}. The old one stays in force.",
        "Run `transom check` to see every problem with its line.",
        {"count": "it has problems"},
    ),
    Notice(
        "marker-leak",
        TOLD,
        "warning",
        "An answer repeats a frame's mark.",
        "Nothing is to be done; marks are drawn anew for each message.",
    ),
    Notice(
        "adopted",
        TOLD,
        "info",
        "Tool results that a model had already read elsewhere were adopted: {count}.",
        "Nothing is to be done: where its reasoning is bound to them they get frames next turn.",
        {"count": "some"},
    ),
    Notice(
        "unknown-part",
        TOLD,
        "info",
        "The request holds a part of an unknown kind at {places}; it was screened, not framed.",
        "Look for a newer Transom if the part carries tool results.",
        {"places": "a place named in the log"},
    ),
    Notice(
        "unframed-part",
        TOLD,
        "warning",
        "A tool result at {places} could not be framed and left as it came.",
        "Prefer tools that return text.",
        {"places": "a place named in the log"},
    ),
    Notice(
        "hidden-characters",
        TOLD,
        "warning",
        "Text holds characters that nobody sees: {kinds} at {places}. It was not changed.",
        "Look at the source with a tool that shows code points before you trust it.",
        {"kinds": "some", "places": "a place named in the log"},
    ),
    Notice(
        "forged-opening",
        TOLD,
        "info",
        "A tool result opens like a message of another part: {kinds} at {places}.",
        "Nothing is to be done; inside of a frame it is text like any other.",
        {"kinds": "some", "places": "a place named in the log"},
    ),
    Notice(
        "proof-failed",
        400,
        "error",
        "Kept from the cloud: what was about to leave {places} is not what was screened.",
        "This is a bug in Transom. Please report it with the request id; nothing was sent.",
        {"places": ""},
    ),
    Notice(
        "client-unknown",
        401,
        "warning",
        "No known client token came with this request.",
        "Send it as x-transom-token, or as the path prefix /t/<token>/ in the base URL.",
    ),
    Notice(
        "no-route",
        404,
        "warning",
        "No upstream here speaks {dialect}.",
        "Add an `[[upstream]]` with this dialect, or a `[[route]]` for the model.",
        {"dialect": "this dialect"},
    ),
    Notice(
        "door-refused",
        400,
        "warning",
        "Refused at the door: {reason}.",
        "Call the listener by its own name; see `listen.names` and `listen.origins`.",
        {"reason": "the request does not look like one of an agent"},
    ),
    Notice(
        "state-unavailable",
        503,
        "error",
        "Transom's own memory cannot be read or written, so nothing was sent.",
        "Check the disk and the file that `state.url` names.",
    ),
    Notice(
        "framing-failed",
        400,
        "error",
        "A tool result could not be framed, so nothing was sent.",
        "Try again; if it happens again, please report it with the request id.",
    ),
    Notice(
        "upgrade-refused",
        426,
        "info",
        "WebSocket is not spoken here.",
        "Use plain HTTPS requests; clients fall back to them by themselves.",
    ),
    Notice(
        "internal-error",
        500,
        "error",
        "Transom failed on this request, so it was ended.",
        "This is a bug in Transom. Please report it with the request id.",
    ),
)

NOTICES: Final[Mapping[str, Notice]] = MappingProxyType({notice.code: notice for notice in _ALL})


def words(code: str, facts: Mapping[str, str]) -> str:
    """One line for `code`: `[code] what happened (the way out)`.

    `facts` fill the notice's words by name. Unknown names are ignored, missing or empty ones have
    stand-ins. A fact is shown on one line, without control or bidi characters, cut at
    `FACT_LENGTH`; it must be safe to show. Unknown `code`: `KeyError`.
    """
    notice = NOTICES[code]
    known = {name: one_line(facts.get(name, "")) or empty for name, empty in notice.facts.items()}
    says, hint = notice.says.format_map(known), notice.hint.format_map(known)
    # A fact that is nothing leaves a blank behind.
    return " ".join(f"[{code}] {says} ({hint})".split()).replace(" .", ".")


def headers(code: str, *, retry_after: int = 60) -> dict[str, str]:
    """Headers of a refusal with `code`, lower-case. `retry_after`: seconds, used by `rate-hard`
    alone, at most 120 because clients ignore more."""
    if code == "rate-hard":
        return {"retry-after": str(max(1, min(retry_after, 120)))}
    return {"x-should-retry": "false"}
