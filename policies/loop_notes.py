"""Where a note about a loop stands: behind the run that reached a soft bound, ever after.

Owns the choice of place and text. It must not know how a dialect writes system text. A note is
remembered beside the last unit of its run that was new with it; a run without one, whose results
are all trusted or empty, gets none.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from policies.authored import LOOP_NOTE, NOTES, TURN_NOTE
from policies.conversation import Conversation
from policies.decision import Frame, Note, Remembered
from policies.limits import READ_LOOP, Level, Verdict


class Unwritable(ValueError):
    """A newer version has put a note that this one does not know."""


def known_notes(conversation: Conversation, remembered: Remembered) -> tuple[Note, ...]:
    """The notes that stand already; none where this model takes none. Raises `Unwritable`."""
    if not conversation.notes or not remembered.followed:
        return ()
    return tuple(_known(conversation, remembered))


def _known(conversation: Conversation, remembered: Remembered) -> Iterator[Note]:
    starts = [run.start for run in conversation.runs]
    for unit, name in sorted(remembered.followed.items()):
        if name not in NOTES:
            raise Unwritable(name)
        message = conversation.units[unit].message
        run = conversation.runs[bisect_right(starts, message) - 1]
        yield Note(unit, run.stop - 1, name, known=True)


def new_note(
    conversation: Conversation,
    verdict: Verdict | None,
    known: Sequence[Note],
    frames: Sequence[Frame],
) -> Note | None:
    """The note that the newest run gets, at most one of each text in a turn."""
    if verdict is None or verdict.level is not Level.SOFT or not conversation.notes:
        return None
    name = LOOP_NOTE if verdict.code == READ_LOOP else TURN_NOTE
    if any(note.name == name and note.after >= conversation.turn for note in known):
        return None
    units, newest = conversation.units, conversation.runs[-1]
    fresh = [frame.unit for frame in frames if not frame.known and not frame.late]
    inside = [unit for unit in fresh if units[unit].message >= newest.start]
    return Note(inside[-1], newest.stop - 1, name, known=False) if inside else None


def marked(frames: Sequence[Frame], note: Note) -> tuple[Frame, ...]:
    """`frames`, in which the row of the note's unit says that there is one."""
    return tuple(
        frame._replace(row=replace(frame.row, followed=True)) if frame.unit == note.unit else frame
        for frame in frames
    )
