"""A flag that stands there twice is refused before the verb runs."""

import click
import pytest

from proxy import cli
from proxy.verb import GivenTwice, Verb, Verbs

SECRET = "sk-" + "q7Zk29xWv41"


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (["check", "--show", "--show"], "--show"),
        (["check", "-c", SECRET, "--config", SECRET], "--config"),
        (["explain", "--path", "/v1/messages", "--path", SECRET, "-"], "--path"),
        (["health", "--json", "--json"], "--json"),
    ],
)
def test_a_flag_given_twice_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], arguments: list[str], flag: str
) -> None:
    """Exit 2 with the flag's name, short and long form alike; what was written is not repeated."""
    assert cli.run(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        f"error: option {flag} stands there twice\n\nhint: transom {arguments[0]} --help\n"
    )
    assert SECRET not in said.err


def test_every_verb_keeps_the_rule() -> None:
    """A verb that is added has the rule without asking for it."""
    assert isinstance(cli.cli, Verbs)
    assert all(isinstance(verb, Verb) for verb in cli.cli.commands.values())


def test_options_that_may_repeat_may() -> None:
    """What is made to be repeated is left alone, and so are arguments."""

    @click.command(cls=Verb)
    @click.option("--set", "pairs", multiple=True)
    @click.option("-v", "loud", count=True)
    @click.option("--one")
    @click.argument("files", nargs=-1)
    def verb(pairs: tuple[str, ...], loud: int, one: str, files: tuple[str, ...]) -> object:
        return pairs, loud, one, files

    line = ["--set", "a", "--set", "b", "-vv", "--one", "1", "x", "x"]
    assert verb.main(line, standalone_mode=False) == (("a", "b"), 2, "1", ("x", "x"))
    with pytest.raises(GivenTwice):
        verb.main([*line, "--one", "2"], standalone_mode=False)


def test_completion_asks_about_lines_with_a_repeated_flag() -> None:
    """A half-written line is completed, not judged."""
    context = cli.cli.commands["check"].make_context(
        "check", ["--show", "--show"], resilient_parsing=True
    )
    assert context.params["show"] is True
