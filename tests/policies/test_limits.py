"""Bounds on a turn: soft once, hard once, beyond ever after; and honest work raises nothing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from policies.limits import Level, Verdict, exempt, judge, writes
from policies.settings import Limits
from tests.policies.test_loops import letters, seen
from tests.scenes.turns import TURNS, Rounds, one

DEFAULT = Limits()
S, H, B = Level.SOFT, Level.HARD, Level.BEYOND


def said(rounds: Rounds, limits: Limits = DEFAULT, dialect: str = "openai_chat") -> Verdict | None:
    return judge(seen(dialect, rounds), limits)


def story(rounds: Rounds, limits: Limits = DEFAULT, dialect: str = "openai_chat") -> Any:
    """Every verdict as the turn grows: number of rounds → level and bound."""
    found = {}
    for count in range(len(rounds) + 1):
        if (verdict := said(rounds[:count], limits, dialect)) is not None:
            found[count] = verdict.level, verdict.kind
    return found


def edits(count: int) -> Rounds:
    return [one("write_file", number, "ok") for number in range(count)]


@pytest.mark.parametrize("dialect", TURNS)
def test_the_same_call_with_the_same_result(dialect: str) -> None:
    """Told at the fifth, without tools at the eighth, no model from the ninth on."""
    told = story(letters("a" * 11), dialect=dialect)
    same = "same-result"
    assert told == {5: (S, same), 8: (H, same), 9: (B, same), 10: (B, same), 11: (B, same)}


@pytest.mark.parametrize("dialect", TURNS)
def test_a_circle(dialect: str) -> None:
    """Told when it went round three times, ended after five."""
    told = story(letters("abc" * 6), dialect=dialect)
    assert told[9] == (S, "cycle")
    assert told[15] == (H, "cycle")
    assert told[16] == (B, "cycle")
    assert set(told) == {9, 15, 16, 17, 18}


def test_polling() -> None:
    """The same call with a new result each time may go on for much longer."""
    told = story([one("run_tests", "all", f"run {number}") for number in range(82)])
    assert {count: each for count, each in told.items() if each[1] == "polling"} == {
        40: (S, "polling"),
        80: (H, "polling"),
        81: (B, "polling"),
        82: (B, "polling"),
    }


def test_polling_in_a_circle() -> None:
    """Waiting between two looks does not hide that it is the same look."""
    waits = [(one("write_file", "wait", "ok"), one("read_file", "log", str(n))) for n in range(41)]
    told = story([each for pair in waits for each in pair])
    assert told[80] == (S, "polling")
    assert min(told) == 80


def test_rounds_that_only_read() -> None:
    """Each another file: told at 70, ended at 90; a tool that writes begins the count anew."""
    many = [one("read_file", number, f"{number}") for number in range(92)]
    assert story(many)[70] == (S, "read-only")
    assert [story(many)[count] for count in (90, 91)] == [(H, "read-only"), (B, "read-only")]
    mixed = [*many[:60], *edits(1), *many[:19]]
    assert story(mixed) == {80: (S, "max-turns")}


def test_rounds_of_a_turn() -> None:
    """Told at 80 %, ended at the number that is set."""
    assert story(edits(102)) == {
        80: (S, "max-turns"),
        100: (H, "max-turns"),
        101: (B, "max-turns"),
        102: (B, "max-turns"),
    }
    assert story(edits(7), replace(DEFAULT, max_turns=5)) == {
        4: (S, "max-turns"),
        5: (H, "max-turns"),
        6: (B, "max-turns"),
        7: (B, "max-turns"),
    }


@pytest.mark.parametrize("dialect", TURNS)
def test_bytes_of_results(dialect: str) -> None:
    """They may pass the hard bound at once: the round that does is answered without tools."""
    limits = replace(DEFAULT, result_bytes=(10, 20))
    sizes = [4, 5, 1, 3, 30, 1]
    rounds = [one("write_file", n, "x" * size) for n, size in enumerate(sizes)]
    bound = "result-bytes"
    assert story(rounds, limits, dialect) == {3: (S, bound), 5: (H, bound), 6: (B, bound)}


def test_the_worst_is_said() -> None:
    """Where two bounds are reached at once, the one that ends more counts."""
    limits = replace(DEFAULT, max_turns=8, same_result=(8, 20))
    verdict = said(letters("a" * 8), limits)
    assert verdict is not None
    assert (verdict.level, verdict.code) == (H, "turn-limit")


def test_a_verdict_says_what_and_where_in_words_of_our_own() -> None:
    """Counts and our own words, no name of a tool, no argument; the newest round's first result."""
    verdict = said(letters("a" * 9))
    assert verdict is not None
    assert verdict.code == "read-loop"
    assert verdict.at == 18
    assert verdict.facts == {
        "what": "the same call 9 times with the same result",
        "kind": "same-result",
        "count": "9",
    }


def test_nothing_is_said_of_what_is_not_answered_or_not_to_be_bounded() -> None:
    """Switched off, or the newest words are the operator's, or there are none."""
    assert said(letters("a" * 9), replace(DEFAULT, enabled=False)) is None
    assert said([]) is None
    assert said(letters("a" * 9), replace(DEFAULT, exempt=("READ_*",))) is None


def test_nothing_is_said_where_a_summary_is_asked_for() -> None:
    """What is answered then takes the place of the history, so it must be no words of ours."""
    loop = seen("openai_responses", letters("a" * 9))
    last = structs.replace(loop.messages[-1], role="compaction_trigger")
    assert judge(loop, DEFAULT) is not None
    assert judge(structs.replace(loop, messages=(*loop.messages, last)), DEFAULT) is None


def test_exempt_tools_are_bound_by_rounds_and_bytes_alone() -> None:
    """A round with another tool beside them counts like any other."""
    limits = replace(DEFAULT, exempt=("look",), max_turns=10)
    assert story([one("look", 1, "x")] * 10, limits) == {
        8: (S, "max-turns"),
        10: (H, "max-turns"),
    }
    both = [[*one("look", 1, "x"), *one("read_file", 1, "x")]] * 5
    assert story(both, limits) == {5: (S, "same-result")}
    few = replace(DEFAULT, exempt=("look",), read_only=(3, 4))
    looks = [one("look", 1, "x"), one("read_file", 1, "1"), one("look", 1, "x")]
    assert story([*looks, one("read_file", 2, "2")], few) == {}


@pytest.mark.parametrize(
    "tool",
    ["Edit", "MultiEdit", "Write", "Bash", "TodoWrite", "apply_patch", "shell",
     "exec_command", "write_to_file", "run_shell_command", "replace",
     "mcp__notes__create_note", "todo_update", "mail_send", "NotebookEdit", "create-issue",
     "createIssue", "container.exec", "developer__shell", "str_replace_based_edit_tool"],
)  # fmt: skip
def test_tools_of_the_common_agents_that_write(tool: str) -> None:
    """By their names, in any letters."""
    assert writes(tool, ())


@pytest.mark.parametrize(
    "tool",
    ["Read", "Grep", "Glob", "LS", "WebFetch", "read_file", "list_files", "search", "view",
     "credit_lookup", "read_commits", "sendable", "get_post", "list_updates",
     "read_many_files", "ReadMcpResource"],
)  # fmt: skip
def test_tools_that_read(tool: str) -> None:
    """Whatever is not known to write."""
    assert not writes(tool, ())


def test_what_is_declared_beats_what_a_name_looks_like() -> None:
    """The first rule that matches wins."""
    rules = (("bash_ro", False), ("BASH*", True), ("get_*", True))
    assert not writes("bash_ro", rules)
    assert writes("bash_rw", rules)
    assert writes("get_rid", rules)
    assert exempt("debug_step", ("x", "debug_*"))
    assert not exempt("debug", ())


HONEST: dict[str, Callable[[], Rounds]] = {
    "60 distinct reads": lambda: [one("read_file", n, f"file {n}") for n in range(60)],
    "a test watched 30 times": lambda: [one("run_tests", "all", f"{n} passed") for n in range(30)],
    "200 reads in parallel batches": lambda: [
        [call for n in range(20) for call in one("read_file", 20 * batch + n, f"{batch} {n}")]
        for batch in range(10)
    ],
    "200 reads in batches of four": lambda: [
        [call for n in range(4) for call in one("read_file", 4 * batch + n, f"{batch} {n}")]
        for batch in range(50)
    ],
    "retries after errors": lambda: [
        each
        for n in range(10)
        for each in (
            *[one("read_file", n, "error: try again")] * 3,
            one("read_file", n, f"file {n}"),
            one("write_file", n, "ok"),
        )
    ],
    "edit and test": lambda: [
        each
        for n in range(35)
        for each in (one("write_file", n, "ok"), one("run_tests", "all", f"{n} passed"))
    ],
    "the same file before and after each edit": lambda: [
        each
        for n in range(20)
        for each in (one("read_file", 1, f"state {n}"), one("write_file", f"{n}", "ok"))
    ],
}


@pytest.mark.parametrize("dialect", TURNS)
@pytest.mark.parametrize("work", HONEST)
def test_honest_work_raises_nothing(work: str, dialect: str) -> None:
    """At no round of it, in no dialect."""
    assert story(HONEST[work](), dialect=dialect) == {}
