"""The answer that is given in place of a model's; nobody is asked.

Owns the join of what ended a conversation and the dialect of whoever asked. It must not know why a
conversation ends.
"""

import time

from policies.conversation import Conversation
from policies.decision import Final
from policies.notices import words
from proxy.answer import Answer, made_here
from proxy.dialects import ALL
from proxy.lazyjson import Document


def ended(final: Final, document: Document, conversation: Conversation, request: str) -> Answer:
    """A whole answer to `document` that says what `final` says, streamed where that was asked for.
    `request`: the id of the request, of which those in the answer are made."""
    headers, body = ALL[conversation.dialect].final(
        words(final.code, final.facts),
        model=conversation.model,
        stream=conversation.stream,
        key=request.removeprefix("req_"),
        now=int(time.time()),
        asked=document,
    )
    return made_here(headers, body)
