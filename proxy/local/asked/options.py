"""Sampling and limits by Ollama's names, and how much the model is to think.

Owns which numbers pass. It must not know a dialect.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from proxy.local.asked.shapes import Members, count, listed, number, word

_LEVELS: Final[Mapping[str, bool | str]] = {
    "none": False,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "max",
}
"""As Ollama's own layers read them."""


def sampling(body: Members, names: Iterable[str]) -> dict[str, object]:
    """The numbers of `body` with these names; what is absent stays with the model's own."""
    found = {name: number(body.get(name)) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def limited(body: Members, *names: str) -> dict[str, object]:
    """The most tokens of the answer, by the first of these names that has them."""
    found = (count(body.get(name)) for name in names)
    first = next((value for value in found if value is not None), None)
    return {} if first is None else {"num_predict": first}


def stops(given: object) -> dict[str, object]:
    """Texts at which the answer ends: one, or a list."""
    texts = [given] if isinstance(given, str) else listed(given)
    found = [text for text in texts if isinstance(text, str) and text]
    return {"stop": found} if found else {}


def level(effort: object) -> bool | str | None:
    """How much to think; None for an effort that nobody knows."""
    return _LEVELS.get(word(effort).lower())
