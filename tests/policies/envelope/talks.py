"""Conversations in shorthand, for tests that ask how a history is read."""

from collections.abc import Mapping

from policies.conversation import Conversation, Message, Origin, Run, Strand, Unit

_ORIGINS = {"u": Origin.OPERATOR, "a": Origin.AGENT, "r": Origin.TOOL}


def talk(
    shape: str,
    *,
    said: Mapping[int, str] | None = None,
    tools: tuple[str, ...] = ("read",),
    reminds: bool = False,
) -> Conversation:
    """One letter for each message: `u` the operator, `r` a result (one unit), `a` an answer or a
    call, `A` one with signed thinking, `H` one that holds nothing but thinking.

    `said`: words of the messages of the operator; else their place.
    """
    texts = {at: f"words {at}" for at, letter in enumerate(shape) if letter == "u"} | {
        **(said or {})
    }
    messages = tuple(map(_message, range(len(shape)), shape))
    last = max((m.index for m in messages if m.origin is Origin.AGENT), default=-1)
    units = tuple(
        Unit(
            ("messages", at, "content"),
            f"text {at}",
            "tool:read",
            "read",
            f"c{at}",
            0,
            at,
            at < last,
        )
        for at, letter in enumerate(shape)
        if letter == "r"
    )
    runs = tuple(_runs(shape))
    starts = [run.start for run in runs if run.has_user and not run.answers_call]
    return Conversation(
        "d", "m", False, messages, runs, starts[-1] if starts else 0, units, tools, (),
        words=lambda at: (Strand(("messages", at, "content"), texts[at]),) if at in texts else (),
        reminds=reminds,
    )  # fmt: skip


def _message(at: int, letter: str) -> Message:
    origin = _ORIGINS.get(letter, Origin.AGENT)
    role = "assistant" if origin is Origin.AGENT else "user" if letter == "u" else "tool"
    thoughts = (("messages", at, "content", 0),) if letter in "AH" else ()
    return Message(
        at, ("messages", at), role, origin, b"", (), (f"c{at}",) if letter == "r" else (),
        sealed=bool(thoughts), thoughts=thoughts, hollow=letter == "H",
    )  # fmt: skip


def _runs(shape: str) -> list[Run]:
    runs: list[Run] = []
    start = 0
    while start < len(shape):
        stop = start
        while stop < len(shape) and shape[stop] in "ur":
            stop += 1
        if stop > start:
            part = shape[start:stop]
            runs.append(Run(start, stop, "r" in part, "u" in part))
        start = max(stop, start + 1)
    return runs
