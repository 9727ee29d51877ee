"""Thinking that no vendor has signed does not leave: the vendor would refuse the whole request.

Owns which of it goes. A model at home thinks without a signature, and clients send back what they
were given. What goes is a function of the history alone, so it is the same on every later turn. It
must not know a dialect.
"""

from collections.abc import Sequence

from policies.conversation import Address, Conversation

Ways = tuple[Address, ...]


def left_out(
    conversation: Conversation, removed: Sequence[Address], hollow: Sequence[Address]
) -> tuple[Ways, Ways]:
    """`removed`, ways to thinking that goes in any case, with those to what is not signed; and
    `hollow`, the messages of which nothing would be left, with those that have nothing else."""
    found = [each for each in conversation.messages[conversation.since :] if each.unsigned]
    if not found:
        return tuple(removed), tuple(hollow)
    ways = dict.fromkeys((*removed, *(way for each in found for way in each.unsigned)))
    emptied = (each.address for each in found if each.hollow and each.unsigned == each.thoughts)
    return tuple(ways), tuple(dict.fromkeys((*hollow, *emptied)))
