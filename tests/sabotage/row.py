"""One row of the table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.sabotage.breaking import Break


@dataclass(frozen=True)
class Row:
    """`module` holds a line of defence. `says`: a few words of its `SECURITY:` comment, which find
    that line and no other there; empty for a defence that has none, which then has a `name`.
    `scene` must fail once `breaks` are applied. `given`: parameters with which alone it is played.
    """

    module: str
    says: str
    scene: str
    breaks: tuple[Break, ...]
    name: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.module}: {self.name or self.says}"


def line(module: str, says: str, scene: str, *breaks: Break, **given: Any) -> Row:
    """A row about the `SECURITY:` line of `module` that says these words."""
    return Row(module, says, scene, breaks, given=given)


def named(name: str, module: str, scene: str, *breaks: Break, **given: Any) -> Row:
    """A row about a defence that has no such line; breaks without a module are in `module`."""
    return Row(module, "", scene, breaks, name, given)
