"""A verb of the command line: like any command, but a flag that stands there twice is an error, and
help that cannot be written ends as other data does.

Owns these rules. The last of two values would win silently, and whoever wrote both meant something
else. It must not know a verb.
"""

import click

from proxy.saying import say


class GivenTwice(click.UsageError):
    """An option that takes one value, or none, was given more than once."""

    def __init__(self, option: click.Option, context: click.Context) -> None:
        super().__init__("an option is given twice", context)
        self.option = option


class Helped(click.Command):
    """A command whose help is said as all else is."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _help
        return option


class Verb(Helped):
    """See the module."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As any command. Raises `GivenTwice`."""
        if not ctx.resilient_parsing:  # a shell that completes a line asks about half of it
            _, _, order = self.make_parser(ctx).parse_args(list(args))
            seen: set[click.Parameter] = set()
            for parameter in order:
                if isinstance(parameter, click.Option) and _once(parameter) and parameter in seen:
                    raise GivenTwice(parameter, ctx)
                seen.add(parameter)
        return super().parse_args(ctx, args)


class Verbs(Helped, click.Group):
    """A group whose commands are verbs."""

    command_class = Verb


def _help(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        say(context.get_help())
        context.exit()


def _once(option: click.Option) -> bool:
    return not (option.multiple or option.count)
