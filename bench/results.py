"""`bench/RESULTS.md`: one chapter per command, each written by its own command alone.

A chapter begins with a heading of the second level and ends before the next one.
"""

import re
from datetime import UTC, datetime
from pathlib import Path

from bench import figures

RESULTS = Path(__file__).with_name("RESULTS.md")
CHAPTERS = (
    "Requests and streams",
    "Bounds",
    "Histories",
    "Settings",
    "Endurance",
    "Home",
    "Reminder",
)
"""In this order."""

_TITLE = "# Bench\n\nRatios are the result; milliseconds are those of the machine that is named.\n"
_HEADING = re.compile(r"^## (.+)\n", re.MULTILINE)


def publish(chapter: str, text: str, path: Path = RESULTS) -> None:
    """Put `text` into the place of what the chapter held before; the others stay."""
    chapters = read(path.read_text("utf-8")) if path.exists() else {}
    chapters[chapter] = text.strip() + "\n"
    path.write_text(written(chapters), "utf-8")


def read(text: str) -> dict[str, str]:
    """Chapter → its text, without the heading."""
    parts = _HEADING.split(text)[1:]
    return {
        name: body.strip() + "\n"
        for name, body in zip(parts[::2], parts[1::2], strict=True)
        if name in CHAPTERS
    }


def written(chapters: dict[str, str]) -> str:
    """The whole page."""
    told = [f"## {name}\n\n{chapters[name]}" for name in CHAPTERS if name in chapters]
    return "\n".join([_TITLE, *told])


def origin(command: str, seconds: float) -> str:
    """What was run, when, for how long, and on what."""
    today = datetime.now(UTC).date()
    return f"`{command}`, {today}, {seconds:.0f} s. {figures.machine()}\n"
