"""Refused calls that a proxy can see."""

from policies.conversation import Conversation, Unit
from policies.refused_calls import denied, refused_call, refused_results
from policies.settings import RefusalRule

RULES = (
    RefusalRule("mail_send", deny=True),
    RefusalRule("mail_*", refused="declined by the user"),
    RefusalRule("*", deny=True),
)


def conversation(*units: Unit) -> Conversation:
    tools = ("mail_read", "mail_send")
    return Conversation("d", "m", False, (), (), 0, units, tools, ())


def unit(text: str, tool: str = "mail_read", *, answered: bool = False) -> Unit:
    return Unit(("messages", 0), text, f"tool:{tool}", tool, answered=answered)


def test_a_call_is_refused_that_nobody_declared_or_that_is_denied() -> None:
    """The first rule that matches decides; what is not declared is told as that."""
    assert refused_call("mail_read", ("mail_read",), RULES) == ""
    assert refused_call("mail_send", ("mail_send",), RULES) == "denied"
    assert refused_call("shell", ("mail_read",), RULES) == "undeclared"
    assert refused_call("shell", ("shell",), ()) == ""
    assert denied("shell", RULES)
    assert not denied("shell", ())


def test_a_result_says_that_its_tool_refused() -> None:
    """By the text that is written down for this tool, in results that no model has answered."""
    said = "It was declined by the user."
    talk = conversation(
        unit(said), unit("fine"), unit(said, answered=True), unit(said, tool="mail_send")
    )
    assert refused_results(talk, RULES) == (0,)
    assert refused_results(conversation(unit(said, tool="shell")), RULES) == ()


def test_without_a_text_nothing_is_looked_for() -> None:
    """No wording is refused of its own accord."""
    assert refused_results(conversation(unit("Permission denied")), RULES[:1]) == ()
