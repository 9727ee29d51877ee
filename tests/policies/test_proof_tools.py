"""The proof's look at tool use: off for each kind of tools that is declared."""

import pytest

from policies.proof_reading import ProofFailed
from policies.proof_tools import silent, turned_off

TOOLS = ("tools", b'[{"name":"read"}]')
FUNCTIONS = ("functions", b'[{"name":"read"}]')


@pytest.mark.parametrize("choice", [b'"none"', b'{"type":"none"}'])
def test_tools_are_turned_off_in_the_words_of_either_dialect(choice: bytes) -> None:
    """By the member that belongs to them."""
    assert turned_off("tool_choice", choice)
    assert not turned_off("model", choice)
    silent((TOOLS, ("tool_choice", choice)))


@pytest.mark.parametrize(
    "sent",
    [
        (TOOLS,),
        (TOOLS, ("tool_choice", b'"auto"')),
        (TOOLS, ("function_call", b'"none"')),
        (TOOLS, FUNCTIONS, ("tool_choice", b'"none"')),
    ],
)
def test_tools_that_may_still_be_called_are_seen(sent: tuple[tuple[str, bytes], ...]) -> None:
    """Nothing is said of them, or something else, or of the other kind alone."""
    with pytest.raises(ProofFailed):
        silent(sent)


def test_where_no_tools_are_declared_nothing_has_to_be_said() -> None:
    """An empty list declares none."""
    silent((("tools", b"[]"), ("model", b'"m"')))
