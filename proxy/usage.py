"""What is said to someone who typed a command that does not exist as typed.

Owns the words for usage errors. It must not know a verb, and repeats nothing of what was typed: a
mistyped secret would be echoed into a terminal, its scrollback and a service's log.
"""

from collections.abc import Iterable

import click

from proxy.problems import near
from proxy.verb import GivenTwice


def words(error: click.UsageError, group: click.Group) -> str:
    """One line for `error` of a verb of `group`, made of our own names only."""
    match error:
        case GivenTwice():
            return f"{_name(error.option)} stands there twice"
        case click.exceptions.NoSuchCommand():
            return f"there is no such verb{near(error.command_name, _verbs(error.ctx))}"
        case click.NoSuchOption():
            return f"there is no such option{near(error.option_name, _options(error.ctx))}"
        case click.MissingParameter():
            return f"{_name(error.param)} is missing"
        case click.BadParameter():
            return f"{_name(error.param)} does not take this value{_choices(error.param)}"
        case click.BadOptionUsage():
            # This error does not know its verb; what one name is, it is for every verb.
            ours = {name: option for verb in group.commands.values() for name, option in _of(verb)}
            if (known := ours.get(error.option_name)) is None:
                return "an option is used wrongly; it takes one value, or none if it is a switch"
            takes = "takes no value" if known.is_flag else "needs a value"
            return f"option {error.option_name} {takes}"
        case _:
            return "there are more arguments than this verb takes"


def hint(error: click.UsageError) -> str:
    """The command that helps on."""
    return f"{error.ctx.command_path if error.ctx else 'transom'} --help"


def _name(parameter: click.Parameter | None) -> str:
    match parameter:
        case click.Option():
            return f"option {max(parameter.opts, key=len)}"
        case click.Argument():
            return f"argument {parameter.make_metavar(click.Context(click.Command('')))}"
        case _:
            return "a parameter"


def _choices(parameter: click.Parameter | None) -> str:
    if parameter is not None and isinstance(parameter.type, click.Choice):
        return f"; it is one of {', '.join(map(str, parameter.type.choices))}"
    return ""


def _verbs(context: click.Context | None) -> Iterable[str]:
    command = context.command if context else None
    return command.commands if isinstance(command, click.Group) else ()


def _options(context: click.Context | None) -> set[str]:
    parameters = context.command.get_params(context) if context else []
    return {name for parameter in parameters for name in parameter.opts}


def _of(verb: click.Command) -> Iterable[tuple[str, click.Option]]:
    return (
        (name, option)
        for option in verb.params
        if isinstance(option, click.Option)
        for name in option.opts
    )
