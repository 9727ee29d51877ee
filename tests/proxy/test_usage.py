"""A usage error repeats nothing of what was typed."""

import click
import pytest

from proxy import usage
from proxy.cli import cli

SECRET = "sk-" + "q7Zk29xWv41"


def said(*arguments: str, command: click.Command = cli) -> tuple[str, str]:
    with pytest.raises(click.UsageError) as caught:
        command.main(args=list(arguments), prog_name="transom", standalone_mode=False)
    return usage.words(caught.value, cli), usage.hint(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words", "hint"),
    [
        ([SECRET], "there is no such verb", "transom --help"),
        (["srve"], "there is no such verb; did you mean `serve`?", "transom --help"),
        (["check", f"--{SECRET}"], "there is no such option", "transom check --help"),
        (["check", "--shwo"], "did you mean `--show`?", "transom check --help"),
        (["check", SECRET], "more arguments than this verb takes", "transom check --help"),
        (["check", f"--show={SECRET}"], "option --show takes no value", "transom --help"),
        (["check", "-c"], "option -c needs a value", "transom --help"),
        (["explain", SECRET], "option --path is missing", "transom explain --help"),
        (["explain", "--path", "/x"], "argument FILE|- is missing", "transom explain --help"),
    ],
)
def test_what_was_typed_is_not_echoed(arguments: list[str], words: str, hint: str) -> None:
    """Each kind of slip is named in our own words, with the command that helps on."""
    spoken, helped = said(*arguments)
    assert words in spoken
    assert helped == hint
    assert SECRET not in spoken + helped


def test_choices_are_listed() -> None:
    """A value that is none of the choices is not shown; the choices are."""

    @click.command()
    @click.option("--shape", type=click.Choice(["round", "flat"]))
    @click.option("--size", type=int)
    def shaped(shape: str, size: int) -> None: ...

    words, _ = said("--shape", SECRET, command=shaped)
    assert words == "option --shape does not take this value; it is one of round, flat"
    assert said("--size", SECRET, command=shaped)[0] == "option --size does not take this value"


def test_an_error_without_context_has_words_too() -> None:
    """Errors that know neither verb nor parameter still say something."""
    assert usage.words(click.BadParameter(SECRET), cli) == "a parameter does not take this value"
    assert usage.words(click.BadOptionUsage(SECRET, SECRET), cli).startswith(
        "an option is used wrongly"
    )
    assert usage.words(click.NoSuchOption(SECRET), cli) == "there is no such option"
    assert usage.hint(click.UsageError(SECRET)) == "transom --help"
