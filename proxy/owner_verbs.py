"""The owner's verbs: `blocked`, `notices`, `sessions`, `status`. They ask the node that runs.

Owns what they print: rows on standard output, words on standard error. It must not know a store.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from proxy.asking import FINE, NOT_FINE, WRONG, ask_node, fail
from proxy.saying import say, tell

_EVERY: Final = 1.0
_JSON: Final = click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")

Rows = list[dict[str, Any]]


def join(group: click.Group) -> None:
    """Make these verbs verbs of `group`."""

    @group.command()
    @click.option("--follow", is_flag=True, help="Go on with what comes, until it is interrupted.")
    @click.option("--since", metavar="TIME", help="Only of the last TIME, such as 2h or 7d.")
    @_JSON
    def blocked(follow: bool, since: str | None, as_json: bool) -> int:
        """Show what was blocked, refused, cut or diverted, and how often."""
        return _blocked(follow, since, as_json=as_json)

    @group.command()
    @click.option("--all", "every", is_flag=True, help="Also those that were acknowledged.")
    @_JSON
    @click.argument("what", metavar="[ack ID]", nargs=-1)
    def notices(every: bool, as_json: bool, what: tuple[str, ...]) -> int:
        """Show what Transom has to tell, or acknowledge one of it: notices ack ID."""
        match what:
            case ():
                nothing = "there is nothing to tell" if every else "no notice is open"
                return _shown("notices", _notice, nothing, as_json=as_json, every=every)
            case ("ack", number) if number.isascii() and number.isdigit() and len(number) < 16:
                return _ack(int(number))
            case _:
                return fail("notices takes nothing, or: ack ID", "transom notices ack 1", WRONG)

    @group.command()
    @_JSON
    @click.argument("what", metavar="[release ID]", nargs=-1)
    def sessions(as_json: bool, what: tuple[str, ...]) -> int:
        """Show the sessions that this node has seen, or let one in which a model at home has
        answered go to a cloud again: sessions release ID."""
        match what:
            case ():
                return _shown("sessions", _session, "no session was seen", as_json=as_json)
            case ("release", session) if re.fullmatch("[0-9a-f]{12}", session):
                return _release(session)
            case _:
                way = "transom sessions release 0123456789ab"
                return fail("sessions takes nothing, or: release ID", way, WRONG)

    @group.command()
    @_JSON
    def status(as_json: bool) -> int:
        """Show how the running node is, and everything that it counts."""
        return _status(as_json=as_json)


def _blocked(follow: bool, since: str | None, *, as_json: bool) -> int:
    from proxy.config.kinds import duration

    try:
        seconds = duration().read(since) if since is not None else 0.0
    except ValueError as error:
        return fail(f"option --since: {error}", "transom blocked --since 2h")
    after = 0
    while True:
        answer = ask_node("blocked", after=after, within=seconds)
        if (rows := _rows(answer)) is None:
            return _not_read()
        _print(rows, _event, as_json=as_json)
        if not follow:
            return _none(rows, "nothing was blocked, refused, cut or diverted", as_json=as_json)
        after = max((row["id"] for row in rows), default=after)
        time.sleep(_EVERY)


def _shown(
    verb: str,
    line: Callable[[Mapping[str, Any]], str],
    nothing: str,
    *,
    as_json: bool,
    every: bool = False,
) -> int:
    rows = _rows(ask_node(verb, all=every))
    if rows is None:
        return _not_read()
    _print(rows, line, as_json=as_json)
    return _none(rows, nothing, as_json=as_json)


def _none(rows: Rows, nothing: str, *, as_json: bool) -> int:
    """Say so where there are no rows; an empty answer could be a fault as well."""
    if not rows and not as_json:
        tell(nothing)
    return FINE


def _ack(number: int) -> int:
    answer = ask_node("ack", id=number)
    if "problem" in answer:
        return _not_read()
    if answer.get("ok") is True:
        tell("acknowledged")
        return FINE
    return fail("there is no such notice that is open", "transom notices", NOT_FINE)


def _release(session: str) -> int:
    answer = ask_node("release", id=session)
    if answer.get("ok") is not True:
        return _not_read()
    if answer.get("marks"):
        tell("released")
        return FINE
    return fail("nothing of this session is kept at home", "transom sessions", NOT_FINE)


def _status(*, as_json: bool) -> int:
    answer = ask_node("status")
    if as_json:
        say(json.dumps(answer))
    else:
        say(f"url       {answer.get('url')}")
        say(f"version   {answer.get('version')}")
        for name, leg in sorted(_mapping(answer.get("upstreams")).items()):
            say(f"upstream  {name} ({leg})")
        say(f"home      {_home(answer.get('home'))}")
        say(f"notices   {answer.get('notices', 0)}")
        for name, count in sorted(_mapping(answer.get("counters")).items()):
            say(f"{count:>9} {name}")
    return FINE if answer.get("ok") is True else _not_read()


def _home(home: object) -> str:
    if not isinstance(home, dict):
        return "none: what must not leave is refused"
    up = "not asked" if home.get("up") is None else "up" if home["up"] else "down"
    context = f", {home['context']} tokens" if home.get("context") else ""
    queue = f"{home.get('busy')} of {home.get('seats')} answers under way"
    return f"{home.get('model')} ({up}{context}), {queue}"


def _print(rows: Rows, line: Callable[[Mapping[str, Any]], str], *, as_json: bool) -> None:
    for row in rows:
        say(json.dumps(row) if as_json else line(row))


def _event(row: Mapping[str, Any]) -> str:
    words = [row.get("notice"), *row.get("kinds", ()), *row.get("places", ()), *row["trail"]]
    whose = [row.get("client"), row.get("session"), row.get("model")]
    legs = (row["leg_asked"], row["leg_taken"])
    way = ">".join(leg or "-" for leg in legs) if any(legs) else ""
    said = " ".join(str(word) for word in [*whose, way, *words] if word)
    return f"{row['id']:>5} {row['last']} {row['times']:>4}x {row['event']:<9} {said}"


def _notice(row: Mapping[str, Any]) -> str:
    whose = " ".join(word for word in (row["client"], row["session"]) if word)
    seen = f"{row['id']:>5} {row['last']} {row['times']:>4}x {row['severity']:<7}"
    return f"{seen} {row['says']} {whose}".rstrip()


def _session(row: Mapping[str, Any]) -> str:
    marks = " third-party text" if row["untrusted"] else ""
    counts = f"{_count(row['requests'], 6, 'request')} {_count(row['rounds'], 4, 'round')} at most"
    return f"{row['session']:<12} {row['last']} {counts} {row['client']}{marks}".rstrip()


def _count(number: int, wide: int, word: str) -> str:
    return f"{number:>{wide}} {word}{' ' if number == 1 else 's'}"


def _rows(answer: Mapping[str, object]) -> Rows | None:
    rows = answer.get("rows")
    return rows if isinstance(rows, list) else None


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _not_read() -> int:
    return fail("the node cannot read or write its state", "transom doctor", NOT_FINE)
