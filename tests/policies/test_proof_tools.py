"""The proof's look at tool use: off for each kind of tools that is declared, where so planned."""

import pytest

from policies.proof_plan import Planned
from policies.proof_reading import ProofFailed
from policies.proof_tools import silent, turned_off

OFF = Planned(tool_use=False)
TOOLS = ("tools", b'[{"name":"read"}]')
FUNCTIONS = ("functions", b'[{"name":"read"}]')


@pytest.mark.parametrize("choice", [b'"none"', b'{"type":"none"}'])
def test_tools_are_turned_off_in_the_words_of_either_dialect(choice: bytes) -> None:
    """By the member that belongs to them, and only where that is planned."""
    assert turned_off(OFF, "tool_choice", choice)
    assert not turned_off(Planned(), "tool_choice", choice)
    assert not turned_off(OFF, "model", choice)
    silent(OFF, (TOOLS, ("tool_choice", choice)))


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
    silent(Planned(), sent)
    with pytest.raises(ProofFailed):
        silent(OFF, sent)


def test_where_no_tools_are_declared_nothing_has_to_be_said() -> None:
    """An empty list declares none."""
    silent(OFF, (("tools", b"[]"), ("model", b'"m"')))
