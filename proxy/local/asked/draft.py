"""A conversation for a model at home while it is written down, message by message.

Owns the order of what a local server is sent: one system message at the head, calls before their
results, later words of the system inside the user's messages, no thinking but that of the running
tool loop. It must not know a dialect.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from proxy.local.asked import phrases
from proxy.local.asked.naming import Names
from proxy.local.asked.shapes import Members, joined
from proxy.local.asked.toolbox import Choice, Toolbox
from proxy.local.talk import Call, Said, Talk

Form = Mapping[str, object] | Literal["json"] | None


def left_out(body: Members, read: frozenset[str], left: frozenset[str]) -> Iterator[str]:
    """The members of `body` that are not `read`: by their word, where it is one of the schema."""
    return (key if key in left else "*" for key in body if key not in read)


class Draft:
    """One request. `leave` and `dropped`: what has no meaning at home, by words of the schema."""

    def __init__(self) -> None:
        self.names = Names()
        self.tools = Toolbox(self.names)
        self.dropped: dict[str, None] = {}
        self._head: list[str] = []
        self._said: list[Said] = []
        self._waiting = ""
        self._calls: dict[str, str] = {}

    def leave(self, *words: str) -> None:
        """Note that something is left out."""
        self.dropped.update(dict.fromkeys(words))

    def system(self, text: str) -> None:
        """Words of the system or the developer. Behind the leading ones they go into the user's
        message beside them: in their place, as strict templates take a system at the head alone,
        and what was sent before should stay as it was."""
        if not text:
            return
        if not self._said and not self._waiting:
            self._head.append(text)
        elif self._said and self._said[-1].role == "user" and not self._waiting:
            self._said[-1] = replace(self._said[-1], text=joined(self._said[-1].text, text))
        else:
            self._waiting = joined(self._waiting, text)

    def user(self, text: str, images: Sequence[str] = ()) -> None:
        """A message of the user; nothing where it is empty."""
        text, self._waiting = joined(self._waiting, text), ""
        if text or images:
            self._said.append(Said("user", text, tuple(images)))

    def assistant(self, text: str, calls: Sequence[Call] = (), thinking: str = "") -> None:
        """What the model said. Several of it in a row are one message."""
        if not text and not calls and not thinking:
            return
        last = self._said[-1] if self._said else None
        if last is None or last.role != "assistant" or self._waiting:
            self.user("")
            last = Said("assistant")
        else:
            self._said.pop()
        said = replace(
            last,
            text=joined(last.text, text),
            calls=(*last.calls, *calls),
            thinking=joined(last.thinking, thinking),
        )
        self._said.append(said)

    def call(self, call: str, name: str, given: Mapping[str, object], namespace: str = "") -> Call:
        """A call of the history; results find the name of its tool by its id."""
        here = self.names.here(name, namespace)
        self._calls[call] = here
        return Call(call, here, given)

    def result(
        self,
        call: str,
        text: str,
        images: Sequence[str] = (),
        *,
        tool: str = "",
        namespace: str = "",
    ) -> None:
        """What a tool gave. `tool`, `namespace`: its name, for results that tell it themselves."""
        known = self._calls.get(call, "") if call else ""
        name = known or (self.names.here(tool, namespace) if tool else "")
        self._said.append(Said("tool", text, tuple(images), answers=call, tool=name))

    def done(
        self,
        *,
        model: str,
        stream: bool,
        choice: Choice,
        options: Mapping[str, object],
        form: Form = None,
        think: bool | str | None = None,
    ) -> Talk:
        """The whole request.

        Raises `Refused("home-not-local")`, see `Toolbox.choose`."""
        chosen = self.tools.choose(choice)
        if chosen.ignored:
            self.leave("tool_choice")
        self.system(chosen.told)
        if form is not None and chosen.tools:
            # A server that enforces it lets the model write nothing else, calls least of all.
            self.leave("format")
            self.system(phrases.answer_as(form))
            form = None
        self.user("")
        head = joined(*self._head)
        return Talk(
            model=model,
            stream=stream,
            messages=((Said("system", head),) if head else ()) + _of_this_loop(self._said),
            tools=chosen.tools,
            names=chosen.names,
            options=options,
            form=form,
            think=think,
            dropped=tuple(self.dropped),
        )


def _of_this_loop(said: Sequence[Said]) -> tuple[Said, ...]:
    """`said` without the thinking of earlier turns, and without messages that were nothing else."""
    since = _turn(said)
    kept = (
        one if at >= since or not one.thinking else replace(one, thinking="")
        for at, one in enumerate(said)
    )
    return tuple(one for one in kept if one.role != "assistant" or _says(one))


def _says(one: Said) -> bool:
    return bool(one.text or one.calls or one.thinking)


def _turn(said: Sequence[Said]) -> int:
    """Where the newest messages of a user begin that answer no call (DESIGN 3.4)."""
    answers, asked, start = False, False, len(said)
    for at in range(len(said) - 1, -1, -1):
        role = said[at].role
        if role == "assistant":
            if asked and not answers:
                return start
            answers = asked = False
        else:
            start = at
            answers, asked = answers or role == "tool", asked or role == "user"
    return start if asked and not answers else 0
