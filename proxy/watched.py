"""Answers of models as they are handed on: listened to, and searched where the owner wants that.

Owns which observers and filters the answer to a conversation gets, on every leg. It must not know
an upstream, nor who answers: what third-party text makes of a model at home is as worth knowing.
"""

from msgspec.structs import replace

from policies.conversation import Conversation
from policies.refused_calls import denied
from policies.settings import Policies
from proxy.answer import Answer
from proxy.dialects import Dialect
from proxy.lazyjson import Document
from proxy.owner import Case, Owner
from proxy.undeclared import drop_undeclared_call


def watched(
    answer: Answer,
    *,
    owner: Owner,
    case: Case,
    policies: Policies,
    document: Document,
    dialect: Dialect,
) -> Answer:
    """The `answer` of a model to `document`, which is of `dialect`."""
    seen = case.conversation
    if seen is None:
        return answer
    heard = owner.listen(case, answer, document.root.get("tools"), policies.refusals)
    if policies.answers.drop_undeclared_calls:
        answer = _without_undeclared(answer, owner, case, policies, seen, dialect)
    return replace(answer, observers=(*answer.observers, *heard)) if heard else answer


def _without_undeclared(
    answer: Answer,
    owner: Owner,
    case: Case,
    policies: Policies,
    seen: Conversation,
    dialect: Dialect,
) -> Answer:
    # Where it leans on what is held elsewhere, more tools may be declared where nobody has looked.
    if answer.status != 200 or seen.held:
        return answer

    def dropped(tool: str) -> None:
        case.line.dropped()
        owner.dropped(case, tool, denied=tool in seen.tools)

    declared = frozenset(tool for tool in seen.tools if not denied(tool, policies.refusals))
    dropping = drop_undeclared_call(dialect, declared, stream=bool(answer.stream), told=dropped)
    return replace(answer, filters=(*answer.filters, dropping))
