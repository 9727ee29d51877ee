"""The tools that a request declares, and which of them the model may or must call.

Owns what becomes of a caller's choice. It must not know a dialect's words for it.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from proxy.errors import Refused
from proxy.local.asked import phrases
from proxy.local.asked.naming import Names
from proxy.local.asked.shapes import joined, members, plain, word
from proxy.local.schemas import simplified
from proxy.local.talk import Named, Tool

Mode = Literal["none", "auto", "any"]


class Choice(Struct, frozen=True):
    """What a caller says about calls: not any, as the model likes, one at least. `only`: of these
    tools, by namespace and name; None: of all. A namespace may be left out."""

    mode: Mode = "auto"
    only: tuple[tuple[str, str], ...] | None = None


class Chosen(Struct, frozen=True):
    """The tools that are offered, the way back from their names, and what the model is `told`,
    which nothing enforces. `ignored`: the choice asks for what is not there."""

    tools: tuple[Tool, ...] = ()
    names: Mapping[str, Named] = {}
    told: str = ""
    ignored: bool = False


class Toolbox:
    """Tools in the order in which they were declared. `away`: names of those that the vendor's
    server carries out, which no model at home may use."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._tools: dict[str, Tool] = {}
        self._named: dict[str, Named] = {}
        self.away: set[str] = set()

    def add(self, name: str, description: str, parameters: object, *, namespace: str = "") -> None:
        """A function. One that was declared before is replaced."""
        self._put(Named(name, "function", namespace), description, simplified(plain(parameters)))

    def add_custom(self, name: str, description: str, form: object, *, namespace: str = "") -> None:
        """A tool that takes one string. Its grammar, which cannot be enforced, is told."""
        grammar = word(members(form).get("definition"))
        told = phrases.written_as(grammar) if grammar else ""
        parameters = {
            "type": "object",
            "properties": {"input": {"type": "string"}},
            "required": ["input"],
        }
        self._put(Named(name, "custom", namespace), joined(description, told), parameters)

    def choose(self, choice: Choice) -> Chosen:
        """What comes of a caller's choice.

        Raises `Refused("home-not-local")` where only tools of the vendor's server could answer."""
        if choice.mode == "none":
            return Chosen()
        wanted = set(self._tools)
        if choice.only is not None:
            wanted = {here for here, named in self._named.items() if _is_one(named, choice.only)}
        if not wanted and not self._tools and choice.mode == "any":
            self._refuse_away(choice.only)
        ignored = not wanted and (choice.mode == "any" or choice.only is not None)
        kept = {here: t for here, t in self._tools.items() if ignored or here in wanted}
        told = _told(tuple(kept)) if choice.mode == "any" and not ignored else ""
        names = {here: self._named[here] for here in kept}
        return Chosen(tuple(kept.values()), names, told, ignored)

    def _put(self, named: Named, description: str, parameters: Mapping[str, object]) -> None:
        here = self._names.here(named.name, named.namespace)
        self._tools[here] = Tool(here, description, parameters)
        self._named[here] = named

    def _refuse_away(self, only: tuple[tuple[str, str], ...] | None) -> None:
        if self.away and (only is None or any(name in self.away for _, name in only)):
            # SECURITY: a tool of the vendor's server would carry words of this model to it.
            raise Refused("home-not-local", reason="one of its tools is carried out elsewhere")


def _is_one(named: Named, only: tuple[tuple[str, str], ...]) -> bool:
    return any(name == named.name and space in ("", named.namespace) for space, name in only)


def _told(names: tuple[str, ...]) -> str:
    return phrases.call_of(names[0]) if len(names) == 1 else phrases.CALL_NOW
