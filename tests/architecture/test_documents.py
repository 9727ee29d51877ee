"""Each notice, setting and verb has its paragraph, and no paragraph is about something that is not
there. Links lead to files, and commands in the documents exist."""

import re
import shlex
from pathlib import Path

import pytest

from policies.kinds import level_of
from policies.notices import NOTICES, TOLD
from proxy.cli import cli
from proxy.config.keys import ARRAYS, SINGLE

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BEHAVIOUR = (ROOT / "docs" / "behaviour.md").read_text("utf-8")
KEYS = {key.path: key for key in (*SINGLE, *(key for keys in ARRAYS.values() for key in keys))}
NAMES = r"\*\*`([^`]+)`\*\*"


def section(title: str) -> str:
    """The text under a heading, up to the next of its rank."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", BEHAVIOUR, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def paragraphs(title: str) -> list[tuple[list[str], str]]:
    """Paragraphs that open with names in bold: the names, and the text after them."""
    found = []
    for block in re.split(r"\n\s*\n", section(title)):
        head, _, text = " ".join(block.split()).partition(": ")
        if names := re.match(rf"{NAMES}(, {NAMES})*( \(|$)", head):
            assert len(text) > 20, names[0]
            found.append((re.findall(NAMES, head), text))
    return found


def named(title: str) -> list[str]:
    return [name for names, _ in paragraphs(title) for name in names]


def test_each_notice_has_its_paragraph() -> None:
    """With the status and the severity that it has; none is left over."""
    said = re.findall(rf"^{NAMES} \((\w+), (\w+)\): ", section("Notices"), re.MULTILINE)
    assert len(said) == len({code for code, _, _ in said})
    assert {code: (status, severity) for code, status, severity in said} == {
        code: ("told" if notice.status == TOLD else str(notice.status), notice.severity)
        for code, notice in NOTICES.items()
    }
    assert sorted(named("Notices")) == sorted(NOTICES)


def test_a_notice_that_is_never_raised_is_called_later() -> None:
    """What this version cannot say must not be promised, and what it says is not put off."""
    code = "\n".join(
        path.read_text("utf-8")
        for package in ("policies", "proxy")
        for path in sorted((ROOT / package).glob("**/*.py"))
        if path.name not in ("notices.py", "kinds.py")
    )
    raised = {name for name in NOTICES if f'"{name}"' in code}
    # A bound's event has its own name for each level.
    raised |= {level_of(name, {"level": "soft"}) for name in ("read-loop", "turn-limit")}
    later = {name for names, text in paragraphs("Notices") if "*later.*" in text for name in names}
    assert later == set(NOTICES) - raised


def test_each_setting_has_its_paragraph() -> None:
    """Every key of the table, each once; none is left over."""
    assert sorted(named("Settings")) == sorted(KEYS)


@pytest.mark.parametrize(("names", "text"), paragraphs("Settings"), ids=str)
def test_what_a_setting_does_not_do_yet_is_said(names: list[str], text: str) -> None:
    """As the table has it: inert, or bound to some values."""
    for name in names:
        key = KEYS[name]
        assert ("Not acted on yet" in text) is key.inert, name
        assert ("Not in this version" in text) is (key.now == ()), name
        assert bool(re.search(r"\bOnly (false|`)", text)) is bool(key.now), name


def test_each_verb_has_its_paragraph() -> None:
    """Every verb of the command line; none is left over."""
    assert sorted(named("Verbs")) == sorted(f"transom {verb}" for verb in cli.commands)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """A file that is linked to is there."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text("utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_are_named_are_there(path: Path) -> None:
    """A proof or a module that a page points to can be opened."""
    shape = r"`((?:tests|proxy|policies|deploy|docs|bench|tools)/[\w./-]+)`"
    names = re.findall(shape, path.read_text("utf-8"))
    assert [name for name in names if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_in_the_documents_exist(path: Path) -> None:
    """Every `transom VERB --flag` and every `make TARGET` that a reader may copy."""
    text = path.read_text("utf-8")
    spans = re.findall(r"`([^`\n]+)`", text)
    lines = re.findall(r"^(?:\S*/)?(?:transom|make) .*$", text, re.MULTILINE)
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for line in [*spans, *lines]:
        words = shlex.split(line.partition("#")[0].replace("|", " "), posix=False)
        if words[:1] == ["make"] and len(words) > 1:
            assert words[1] in targets, line
        if words[:1] and words[0].rpartition("/")[2] == "transom" and len(words) > 1:
            verb = cli.commands.get(words[1])
            assert verb or words[1].isupper(), line
            flags = {name for each in (verb.params if verb else ()) for name in each.opts}
            assert {word for word in words[2:] if re.match(r"--?\w", word)} <= flags, line


def test_every_document_can_be_found_from_the_readme() -> None:
    """A newcomer reaches each page by links."""
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        path = todo.pop().resolve()
        if path in reached or path.suffix != ".md":
            continue
        reached.add(path)
        links = re.findall(r"\]\(([^)#:]+\.md)", path.read_text("utf-8"))
        todo += [path.parent / link for link in links]
    assert {path.resolve() for path in DOCUMENTS} <= reached
