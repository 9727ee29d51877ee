"""`transom connect`: prints how a client is pointed at this node.

Owns what is printed where. It must not know a recipe or how an address is found.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

from proxy import __version__
from proxy.address import Address, find
from proxy.clients import Recipe, listing, recipes, words
from proxy.meanings import meaning
from proxy.problems import near

Say = Callable[[str], None]


class NoRecipe(Exception):
    """There is no recipe of that name; the message helps on and repeats nothing of it."""


def show_all(out: Say, *, as_json: bool) -> None:
    """One line for each client that there is a recipe for."""
    known = recipes()
    if as_json:
        for recipe in known:
            out(json.dumps(recipe.facts()))
    else:
        out(listing(known))


def show(name: str, config: Path | None, out: Say, err: Say, *, as_json: bool) -> None:
    """The recipe `name`, filled in. Raises `NoRecipe`, `address.Unknown`, `Invalid`."""
    recipe = _named(name)
    address = find(config, os.environ)
    filled = recipe.at(address.url)
    for line in _remarks(address):
        err(line)
    told = None if address.leaving is None else meaning(address.leaving, recipe.works)
    if as_json:
        settings = [{"where": each.where, "text": each.text} for each in filled.settings]
        facts = {"address": address.url, "settings": settings, "notes": list(filled.notes)}
        more = {"minimality": told.facts()} if told is not None else {}
        out(json.dumps({**recipe.facts(), **facts, **more}))
    else:
        out(words(filled, () if told is None else told.lines()))


def _named(name: str) -> Recipe:
    known = {recipe.id: recipe for recipe in recipes()}
    found = known.get(name.lower())
    if found is None:
        raise NoRecipe(f"there is no recipe for this client{near(name, known)}")
    return found


def _remarks(address: Address) -> list[str]:
    if address.version:
        remarks = [f"address: {address.origin}, of the running node"]
    else:
        remarks = [f"address: {address.origin}, by the configuration; no node runs"]
    if address.names:
        remarks.append(f"it also answers to: {', '.join(address.names)}")
    if address.token:
        remarks.append("it asks for a client token: write yours in place of YOUR-TOKEN")
    if address.version not in ("", __version__):
        remarks.append(f"warning: the node is version {address.version}, this is {__version__}")
    return remarks
