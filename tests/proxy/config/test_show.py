"""What `check --show` prints is TOML, with origins, and holds nothing that steers a terminal."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from proxy.config.reading import Effective
from proxy.config.show import table, toml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(), st.booleans(), st.floats(-1e6, 1e6)), st.lists, max_leaves=5
)


@given(st.one_of(VALUES, st.dictionaries(st.sampled_from(["file", "env"]), TEXTS, min_size=1)))
def test_a_value_reads_back(value: object) -> None:
    """What is shown can be put into the file again."""
    text = toml(value)
    assert tomllib.loads(f"k = {text}") == {"k": value}
    assert text.isprintable()


def test_what_steers_a_terminal_is_escaped() -> None:
    """Controls, bidi marks and invisible letters are shown by number."""
    assert toml('a"\\\x1b\u202e\U000e0041é') == r'"a\"\\\u001b\u202e\U000e0041é"'


def test_settings_stand_in_a_column_with_their_origin() -> None:
    """Origins line up; the hash of a token is not shown."""
    shown = table(
        [
            Effective("listen.port", 1, "c.toml:3"),
            Effective("state.url", "", "default"),
            Effective("client[0].token_sha256", "ab" * 32, "c.toml:9"),
            Effective("upstream[0].key", {"env": "K"}, "c.toml:5"),
        ]
    )
    assert shown.splitlines() == [
        "listen.port = 1                  # c.toml:3",
        'state.url = ""                   # default',
        'client[0].token_sha256 = "…"     # c.toml:9',
        'upstream[0].key = { env = "K" }  # c.toml:5',
    ]
    assert table([]) == ""
