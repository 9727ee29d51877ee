"""`transom`: verbs, flags, exit codes. Data goes to standard output, words to standard error.

Owns the command line. It must not know how anything is done: each verb imports what it needs when
it runs, so that quick verbs stay quick. Exit codes: 0 fine, 1 the thing asked about is not fine,
2 usage or configuration, 3 no running node, 4 and 141 as in `proxy.saying`.
"""

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from proxy import owner_verbs, usage
from proxy.asking import (
    FINE,
    INTERRUPTED,
    NO_NODE,
    NOT_FINE,
    WRONG,
    NodeMissing,
    ask_node,
    fail,
)
from proxy.problems import Invalid, Problem
from proxy.saying import Unsaid, given_up, say, tell
from proxy.verb import Verbs

if TYPE_CHECKING:
    from proxy.config import Examined

_VERDICT_SECONDS: Final = 60.0
"""A reload reads the secrets folder, which may be large."""

_config = click.option(
    "-c", "--config", "config", metavar="FILE", help="Configuration file; else it is searched for."
)


def main() -> None:
    """The console script."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run the verb that `arguments` name; returns its exit code."""
    try:
        code = cli.main(args=list(arguments), prog_name="transom", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as help_text:
        tell(help_text.format_message())
        return WRONG
    except click.UsageError as error:
        return fail(usage.words(error, cli), usage.hint(error))
    except Invalid as error:
        tell(error.report())
        return WRONG
    except NodeMissing as error:
        return fail(str(error), "transom serve", NO_NODE)
    except Unsaid as unsaid:
        return given_up(unsaid)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    return code if isinstance(code, int) else FINE


def _print_version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        say(_version())
        context.exit()


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
def cli() -> None:
    """Transom stands between agents and LLM APIs: it frames what third parties wrote and keeps
    secrets at home."""


@cli.command()
@_config
def serve(config: str | None) -> int:
    """Serve until SIGTERM; SIGHUP reads the configuration again."""
    _refuse_rivals()
    from proxy.config import load

    examined = _examined(Path(config) if config else None)
    from proxy.early import Early

    early = Early()
    from proxy.serve import serve as run_node

    return run_node(
        examined.config,
        reload=lambda: load(examined.path, os.environ),
        screen=early.screen,
    )


@cli.command()
@_config
@click.option("--show", is_flag=True, help="Print every setting that holds, and its origin.")
@click.option("--online", is_flag=True, help="Also connect to every upstream; sends nothing.")
def check(config: str | None, show: bool, online: bool) -> int:
    """Say everything that is wrong with the configuration."""
    _refuse_rivals()
    examined = _examined(Path(config) if config else None)
    if show:
        from proxy.config.show import table

        say(table(examined.effective))
    from proxy.checkup import look

    for warning in look(examined.config):
        tell(f"warning: {warning}")
    if online:
        from proxy.ping import ping_all

        if not ping_all(examined.config, tell):
            return NOT_FINE
    tell("configuration is valid")
    return FINE


@cli.command()
@_config
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
def init(config: str | None, force: bool) -> int:
    """Write a commented configuration to start from."""
    from proxy.first_steps import Occupied, prepare

    try:
        written = prepare(Path(config) if config else None, os.environ, force=force)
    except Occupied as error:
        return fail(str(error), "transom init --force", NOT_FINE)
    say(str(written))
    tell("hint: transom check, then transom serve")
    return FINE


@cli.command()
@_config
@click.option("--path", "path", metavar="PATH", required=True, help="Endpoint, as /v1/messages.")
@click.option("--upstream", metavar="NAME", help="Upstream; else the one that routes choose.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.argument("file", metavar="FILE|-")
def explain(config: str | None, path: str, upstream: str | None, as_json: bool, file: str) -> int:
    """Show what would leave for a request body, and why. Sends nothing."""
    examined = _examined(Path(config) if config else None)
    body = _read(file, examined.config.listen.max_body)
    if body is None:
        return fail("the file to explain cannot be read", "transom explain --path PATH - < FILE")
    from proxy.explain import explain as told

    return told(examined.config, path=path, upstream=upstream, body=body, as_json=as_json)


@cli.command()
@_config
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@click.argument("client", metavar="[CLIENT]", required=False)
def connect(config: str | None, as_json: bool, client: str | None) -> int:
    """Print how CLIENT is pointed at this node; without CLIENT, which clients are known."""
    from proxy import address
    from proxy import connect as recipe

    if client is None:
        recipe.show_all(say, as_json=as_json)
        return FINE
    try:
        recipe.show(client, Path(config) if config else None, say, tell, as_json=as_json)
    except recipe.NoRecipe as error:
        return fail(str(error), "transom connect")
    except address.Unknown as error:
        return fail(str(error), "transom serve", NO_NODE)
    return FINE


@cli.command()
@_config
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def doctor(config: str | None, as_json: bool) -> int:
    """Look at everything a node leans on: one line for each thing."""
    from proxy.doctor import company, printed

    first = company.examine()
    say(printed(first, as_json=as_json))
    if first.state == "wrong":
        return NOT_FINE
    examined = _examined(Path(config) if config else None)
    from proxy.doctor.visit import visit

    code = FINE
    for check in visit(examined.config, examined.path):
        say(printed(check, as_json=as_json))
        code = NOT_FINE if check.state == "wrong" else code
    return code


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def health(as_json: bool) -> int:
    """Ask the running node whether it is well."""
    import json

    answer = ask_node("health")
    well = answer.get("ok") is True
    if as_json:
        say(json.dumps(answer))
    tell("healthy" if well else "not healthy")
    return FINE if well else NOT_FINE


@cli.command()
def reload() -> int:
    """Have the running node read its configuration again; waits for the verdict."""
    answer = ask_node("reload", _VERDICT_SECONDS)
    if answer.get("ok") is not True:
        tell(str(answer.get("problems") or "error: the node did not reload"))
        return WRONG
    tell("reloaded")
    waiting = answer.get("restart")
    if isinstance(waiting, list) and waiting:
        tell(f"warning: these wait for a restart: {', '.join(map(str, waiting))}")
    return FINE


@cli.command()
@click.option("--sabotage", metavar="NAME", help="Break a line of defence first; must be noticed.")
def demo(sabotage: str | None) -> int:
    """Play the main job with real SDKs against scripted upstreams, on this machine only."""
    from proxy.demo import SABOTAGES, main, missing

    if lacking := missing():
        words = f"the demo plays with SDKs that are not installed: {', '.join(lacking)}"
        return fail(words, f"pip install {' '.join(lacking)}", NOT_FINE)
    if sabotage is not None and sabotage not in SABOTAGES:
        return fail(f"option --sabotage takes one of {', '.join(SABOTAGES)}", "transom demo")
    code = main(sabotage)
    gc.freeze()  # or all that it read is looked through once more as the process ends, for 0.7 s
    return code


@cli.command()
def version() -> int:
    """Print the version."""
    say(_version())
    return FINE


@cli.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print what completes verbs and flags in SHELL: bash, zsh or fish."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None, "the shells are those that click knows"
    say(found(cli, {}, "transom", "_TRANSOM_COMPLETE").source())
    return FINE


def _version() -> str:
    # Not at the top: where a rival's `proxy/__init__.py` lies over ours there is no version, and
    # the guard that says so must still run.
    from proxy import __version__

    return f"transom {__version__}"


def _examined(given: Path | None) -> "Examined":
    """The configuration, with what must be said about it said."""
    from proxy.config import examine

    examined = examine(given, os.environ)
    tell(f"configuration: {examined.path or 'none, the defaults hold'}")
    if inert := examined.config.inert:
        tell(f"warning: not acted on in this version: {', '.join(inert)}")
    return examined


def _refuse_rivals() -> None:
    from proxy.rivals import rivals

    if found := rivals():
        words = f"{', '.join(found)} also installs a package named proxy or policies"
        hint = "install Transom on its own, for example with: uv tool install transom"
        raise Invalid([Problem("", words, hint)])


def _read(name: str, limit: int) -> bytes | None:
    """Up to one byte more than `limit` of a file, or of standard input; None if it cannot be."""
    try:
        if name == "-":
            return sys.stdin.buffer.read(limit + 1)
        with Path(name).open("rb") as file:
            return file.read(limit + 1)
    except OSError:
        return None


owner_verbs.join(cli)
