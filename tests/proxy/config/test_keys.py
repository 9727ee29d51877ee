"""`config.example.toml` is the reference: it and the table of settings say the same, both ways."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from proxy.config import load, sources
from proxy.config.keys import ARRAYS, SINGLE, Key
from proxy.config.model import DEFAULT_UPSTREAMS
from proxy.config.shapes import help_of

ROOT = Path(__file__).parents[3]
EXAMPLE = (ROOT / "config.example.toml").read_text("utf-8")


def lifted() -> dict[str, Any]:
    """The example with every setting switched on: prose has a blank after its comment sign."""
    return tomllib.loads(re.sub(r"^#{1,2}(?=[^ #\n])", "", EXAMPLE, flags=re.MULTILINE))


def leaves(table: dict[str, Any], way: str = "") -> dict[str, Any]:
    """Settings that stand once, by dotted path."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        path = f"{way}.{name}" if way else name
        if path in ARRAYS:
            continue
        if isinstance(value, dict):
            found |= leaves(value, path)
        else:
            found[path] = value
    return found


def rows(name: str) -> list[dict[str, Any]]:
    found: Any = lifted()
    for step in name.split("."):
        found = found[step]
    assert isinstance(found, list)
    return found


def test_the_example_and_the_table_have_the_same_settings_and_defaults() -> None:
    """No setting is missing on either side, and each stands there with its default."""
    assert leaves(lifted()) == {key.path: key.default for key in SINGLE}
    assert [key.path for key in SINGLE] == list(leaves(lifted()))


@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_each_table_that_may_repeat_shows_all_its_settings(name: str) -> None:
    """The first table of each array has every setting; a default that there is stands there."""
    written = {setting for row in rows(name) for setting in row}
    assert written == {key.name for key in ARRAYS[name]}
    for key in ARRAYS[name]:
        if key.default is not None:
            assert rows(name)[0][key.name] == key.default
    assert set(lifted()) == {key.path.partition(".")[0] for key in SINGLE} | {
        array.partition(".")[0] for array in ARRAYS
    }


def test_the_default_upstreams_stand_there() -> None:
    """What holds without a file can be read in the example."""
    assert [
        (row["name"], row["leg"], row["base_url"], tuple(row["dialects"]), row["auth"])
        for row in rows("upstream")
    ] == [(up.name, up.leg.value, up.base_url, up.dialects, up.auth) for up in DEFAULT_UPSTREAMS]


EVERY: list[Key[Any]] = [*SINGLE, *(key for keys in ARRAYS.values() for key in keys)]


@pytest.mark.parametrize("key", EVERY, ids=lambda key: key.path)
def test_each_setting_has_its_sentence_there(key: Key[Any]) -> None:
    """The sentence of the table stands above the setting, with what this version does with it."""
    prose = re.sub(r"\n# (?=[a-z])", " ", EXAMPLE)
    at = re.search(
        rf"^# {re.escape(key.help)}(.*\n(?:# .*\n)*)#*{key.name} = ", prose, re.MULTILINE
    )
    assert at, "the sentence, then the setting"
    if key.inert:
        assert "Not acted on yet." in at[1]
    elif key.now and key.path != "profile":
        assert "Only " in at[1]


def test_everything_but_the_version_is_switched_off() -> None:
    """A fresh file changes nothing."""
    assert leaves(tomllib.loads(EXAMPLE)) == {"version": 1}


def test_the_example_is_a_valid_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is, it means what no file means; with every single setting on, too."""
    monkeypatch.setattr(sources, "SYSTEM_FILE", tmp_path / "none")
    environ = {"HOME": str(tmp_path)}
    plain = load(None, environ)
    path = tmp_path / "c.toml"
    path.write_text(EXAMPLE)
    assert load(path, environ) == plain
    singles = EXAMPLE.partition("# Upstreams.")[0].replace("#[[envelope.also]]", "")
    singles = re.sub(r"^#(client|open|close) = \"[^\"]*\"\n", "", singles, flags=re.MULTILINE)
    path.write_text(re.sub(r"^#(?=[^ #\n])", "", singles, flags=re.MULTILINE))
    config = load(path, environ)
    assert set(config.inert) == {key.path for key in SINGLE if key.inert}
    assert config.listen == plain.listen
    assert config.policies == plain.policies
    assert config.state_url == plain.state_url


def test_defaults_are_values_of_their_kind() -> None:
    """Every default can be read, and this version takes it."""
    for key in EVERY:
        if key.default is not None:
            key.kind.read(key.default)
            assert key.now is None or key.default in key.now
        assert key.help.endswith(".")


def test_a_sentence_of_a_policy_is_looked_up_by_name() -> None:
    """A field that is renamed is noticed when the table is made."""
    with pytest.raises(LookupError, match="none_such"):
        help_of(Key, "none_such")
