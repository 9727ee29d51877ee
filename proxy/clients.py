"""Recipes: how each client is pointed at this node.

Owns reading `clients.toml`, filling in an address, and how a recipe reads in a terminal, as JSON
and in docs/clients.md. It must not know which node is meant: `proxy.address` does.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Final, Literal

import msgspec

Works = Literal["agent", "chat", "library"]

PLACE: Final = "<address>"
"""Stands for the node's address in `clients.toml`."""

FILE: Final = Path(__file__).with_name("clients.toml")


@dataclass(frozen=True, slots=True)
class Setting:
    """What to write, and where."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A request that the client makes once it is set. `request`: method, the base that a setting
    gave it, and what it puts behind that, with blanks between. `auth`: how it shows its
    credential."""

    request: str
    auth: Literal["bearer", "x-api-key", "none"]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[str, str, str]:
        """Method, base, and what the client puts behind it."""
        method, base, adds = self.request.split(" ")
        return method, base, adds


@dataclass(frozen=True, slots=True)
class Recipe:
    """One client. `seen_with`: versions that were run, empty if none was; `checked_on`: when that
    was, or when its documentation was read."""

    id: str
    name: str
    works: Works
    dialects: tuple[str, ...]
    tried: Literal["run", "documents"]
    checked_on: date
    settings: tuple[Setting, ...]
    calls: tuple[Call, ...]
    notes: tuple[str, ...] = ()
    seen_with: str = ""

    def at(self, address: str) -> "Recipe":
        """The recipe for the node at `address`, which has no trailing slash."""
        return replace(
            self,
            settings=tuple(
                Setting(each.where, each.text.replace(PLACE, address).strip("\n"))
                for each in self.settings
            ),
            calls=tuple(
                replace(call, request=call.request.replace(PLACE, address)) for call in self.calls
            ),
        )

    @property
    def last_tried(self) -> str:
        """One sentence that claims nothing that was not done."""
        if self.tried == "run":
            return (
                f"Last tried on {self.checked_on} with {self.seen_with}: "
                "it answered through Transom, from a scripted upstream."
            )
        return f"Not tried: from its documentation, as of {self.checked_on}."

    def facts(self) -> dict[str, object]:
        """For JSON, in one line of a list."""
        return {
            "client": self.id,
            "name": self.name,
            "dialects": list(self.dialects),
            "tried": self.tried == "run",
            "seen_with": self.seen_with,
            "checked_on": self.checked_on.isoformat(),
        }


def recipes() -> tuple[Recipe, ...]:
    """All recipes, in file order."""
    with FILE.open("rb") as file:
        return msgspec.convert(tomllib.load(file)["client"], tuple[Recipe, ...])


def listing(known: Sequence[Recipe]) -> str:
    """One line for each recipe: what to type, the client, what it speaks."""
    ids = max(len(recipe.id) for recipe in known)
    names = max(len(recipe.name) for recipe in known)
    return "\n".join(
        f"{recipe.id:<{ids}}  {recipe.name:<{names}}  {', '.join(recipe.dialects)}"
        for recipe in known
    )


def words(recipe: Recipe, more: Sequence[str] = ()) -> str:
    """A filled-in recipe for a terminal, and what `more` is to be said of it."""
    lines = [recipe.name]
    for setting in recipe.settings:
        lines += ["", f"{setting.where}:", ""]
        lines += [f"    {line}".rstrip() for line in setting.text.split("\n")]
    if recipe.notes:
        lines += ["", *(f"- {note}" for note in recipe.notes)]
    lines += ["", *more] if more else []
    return "\n".join([*lines, "", recipe.last_tried])


def markdown(address: str) -> str:
    """docs/clients.md: every recipe, for a node at `address`."""
    lines = [
        "# Clients",
        "",
        "<!-- Made from proxy/clients.toml: pytest tests/proxy/test_clients.py --accept -->",
        "",
        "How to point each client at Transom. `transom connect CLIENT` prints the same with the",
        f"address of your node; here it is the default, `{address}`. Where the node asks for a",
        "client token, the address is followed by `/t/YOUR-TOKEN`.",
    ]
    for recipe in recipes():
        lines += ["", f"## {recipe.name}", "", f"`transom connect {recipe.id}`"]
        for setting in recipe.at(address).settings:
            lines += ["", f"{setting.where}:", "", "```", setting.text, "```"]
        if recipe.notes:
            lines += ["", *(f"- {note}" for note in recipe.notes)]
        lines += ["", recipe.last_tried]
    return "\n".join([*lines, ""])
