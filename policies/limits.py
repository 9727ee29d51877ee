"""Whether a turn has gone on for too long, or in a circle: soft, hard, beyond (DESIGN 3.7).

Owns the bounds' meaning, which tools write, and the words of a verdict. It must not know a dialect,
nor what is done about a verdict. Pure functions of the conversation: every count comes from the
body, so it is the same after a restart, in another process, and when the same body comes again.

A verdict is about the newest round alone. The round that reaches a soft bound is told of once; the
one that reaches a hard bound is answered without tools; one behind it is not answered by a model.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from fnmatch import translate
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Final

from policies.conversation import Conversation
from policies.loops import Rounds, polls, reads, repeats, rounds_of, same_result
from policies.settings import Limits

READ_LOOP: Final = "read-loop"
TURN_LIMIT: Final = "turn-limit"

SOFT_SHARE: Final = 0.8
"""Part of `max_turns` at which it is told of."""

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_VERBS: Final = (
    "write", "edit", "create", "update", "delete", "remove", "insert", "send", "move", "rename",
    "upload", "execute", "apply", "install", "commit",
)  # fmt: skip
_TOOLS: Final = (
    # Claude Code, opencode, pi
    "multiedit", "todowrite", "bash", "kill_shell", "patch",
    # Codex
    "shell", "shell_command", "local_shell", "exec_command", "container_exec",
    # Gemini CLI, qwen-code
    "replace", "run_shell_command", "save_memory",
    # Cline, Roo, Kilo, goose, OpenHands, editors
    "replace_in_file", "search_and_replace", "developer__shell", "developer__text_editor",
    "text_editor", "str_replace_*", "terminal", "run_terminal_cmd", "run_in_terminal", "computer",
)  # fmt: skip
WRITES: Final = (
    *_TOOLS,
    *(shape for verb in _VERBS for shape in (verb, f"{verb}_*", f"*_{verb}", f"*_{verb}_*")),
)
"""Globs over tools that change something, in snake case: those of the common agents by name, and
whatever has such a verb in its name."""


class Level(IntEnum):
    """How far a turn has gone."""

    SOFT = 1
    HARD = 2
    BEYOND = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """The worst of what is to be said about the newest round. `code`: notice; `kind`: which bound;
    `facts`: for the notice's words; `at`: first message of the round's results."""

    level: Level
    code: str
    kind: str
    at: int
    facts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class _Bound:
    """`count`: of the first so many rounds. `says`: words with the count. `loop`: it is none where
    all tools of the round are exempt. `rounds`: rounds are counted, so that there are no more than
    the turn has."""

    kind: str
    code: str
    soft: int
    hard: int
    count: Callable[[Rounds, int], int]
    says: str
    loop: bool = True
    rounds: bool = True


_COMPACTS: Final = "compaction_trigger"
"""The last item where a summary is asked for, which takes the place of the history: no round goes
on there, and words of ours would be lost with all before them."""


def judge(conversation: Conversation, limits: Limits) -> Verdict | None:
    """What is to be said about the newest round of the current turn; None: nothing."""
    if not limits.enabled or not conversation.runs or not conversation.runs[-1].answers_call:
        return None
    if conversation.messages[-1].role == _COMPACTS:
        return None
    rounds = rounds_of(conversation)
    newest = len(rounds)
    worst: Verdict | None = None
    for bound in _bounds(limits, newest):
        count = bound.count(rounds, newest)
        if count < bound.soft or (bound.loop and _is_exempt(rounds, limits)):
            continue
        before = bound.count(rounds, newest - 1)
        level = _level(bound, before, count)
        if level is not None and (worst is None or level > worst.level):
            facts = {"what": bound.says.format(count), "kind": bound.kind, "count": str(count)}
            worst = Verdict(level, bound.code, bound.kind, rounds.runs[-1].start, facts)
    return worst


def _is_exempt(rounds: Rounds, limits: Limits) -> bool:
    """Whether all tools of the newest round may be called again and again."""
    tools = rounds.tools(len(rounds) - 1)
    return bool(tools) and all(exempt(tool, limits.exempt) for tool in tools)


def _level(bound: _Bound, before: int, count: int) -> Level | None:
    if count >= bound.hard:
        return Level.BEYOND if before >= bound.hard else Level.HARD
    return Level.SOFT if before < bound.soft else None


@lru_cache(maxsize=1024)
def _bounds(limits: Limits, newest: int) -> tuple[_Bound, ...]:
    """The bounds that `newest` rounds can reach; of two that are passed as far, the first one is
    told of."""
    bounds = _all_bounds(limits)
    return tuple([bound for bound in bounds if not bound.rounds or newest >= bound.soft])


@lru_cache(maxsize=16)
def _all_bounds(limits: Limits) -> tuple[_Bound, ...]:
    soft = max(1, int(limits.max_turns * SOFT_SHARE))
    only_read = partial(_reads, limits)
    return (
        _Bound(
            "same-result",
            READ_LOOP,
            *limits.same_result,
            same_result,
            "the same call {} times with the same result",
        ),
        _Bound("cycle", READ_LOOP, *limits.cycle, repeats, "the same calls went round {} times"),
        _Bound("polling", READ_LOOP, *limits.polling, polls, "the same call {} times"),
        _Bound("read-only", READ_LOOP, *limits.read_only, only_read, "{} rounds that only read"),
        _Bound(
            "max-turns",
            TURN_LIMIT,
            soft,
            limits.max_turns,
            _rounds,
            "{} rounds in one turn",
            loop=False,
        ),
        _Bound(
            "result-bytes",
            TURN_LIMIT,
            *limits.result_bytes,
            Rounds.size,
            "{} bytes of results",
            loop=False,
            rounds=False,
        ),
    )


def _rounds(rounds: Rounds, count: int) -> int:
    return count


def _reads(limits: Limits, rounds: Rounds, count: int) -> int:
    def kind(tool: str) -> bool | None:
        return None if exempt(tool, limits.exempt) else writes(tool, limits.tools)

    return reads(rounds, count, kind, (limits.exempt, limits.tools))


@lru_cache(maxsize=4096)
def writes(tool: str, rules: tuple[tuple[str, bool], ...]) -> bool:
    """Whether `tool` changes something: by the first of `rules` that matches, else by `WRITES`."""
    for glob, answer in rules:
        if _matches(tool, (glob,)):
            return answer
    return _matches(_HUMP.sub("_", tool).replace("-", "_").replace(".", "_"), WRITES)


@lru_cache(maxsize=4096)
def exempt(tool: str, globs: tuple[str, ...]) -> bool:
    """Whether `tool` may be called again and again."""
    return bool(globs) and _matches(tool, globs)


def _matches(tool: str, globs: tuple[str, ...]) -> bool:
    return _pattern(globs).match(tool.lower()) is not None


@lru_cache(maxsize=256)
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(glob.lower()) for glob in globs))
