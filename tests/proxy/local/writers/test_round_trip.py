"""What a model at home was asked, what it called, and what it is asked next: one conversation."""

import json
from typing import Any

import pytest

from proxy.lazyjson import read
from proxy.local.asked import talk
from proxy.local.spoken import checked
from proxy.local.talk import Called, Ended, Speech, Talk, Text
from proxy.local.writers import writer
from tests.wire.filling import dialect_of, filled, names

FIRST = "I look."
SAID = {"input": "*** Begin\n+ä", "path": "a 🧅"}
# What leans on an answer that a vendor keeps does not come home at all.
CLIENTS = [name for name in names() if b'"previous_response_id"' not in filled(name)]


def answered(dialect: str, body: bytes, asked: Talk, speech: list[Speech]) -> Any:
    """The whole answer of the model, as the client reads it."""
    teller = writer(
        dialect,
        model=asked.model,
        stream=False,
        key="0123456789ab",
        now=0,
        names=asked.names,
        asked=read(body),
    )
    teller.begin(1)
    for said in checked(speech, asked.names).speech:
        teller.say(said)
    return json.loads(teller.end())


def gone_on(dialect: str, body: bytes, answer: Any) -> bytes:
    """The client's next request: the answer in its history, and a result for every call."""
    asked = json.loads(body)
    match dialect:
        case "anthropic_messages":
            calls = [block["id"] for block in answer["content"] if block["type"] == "tool_use"]
            results = [
                {"type": "tool_result", "tool_use_id": call, "content": f"result {number}"}
                for number, call in enumerate(calls)
            ]
            asked["messages"] += [
                {"role": "assistant", "content": answer["content"]},
                {"role": "user", "content": results},
            ]
        case "openai_chat":
            message = answer["choices"][0]["message"]
            calls = [call["id"] for call in message.get("tool_calls", ())]
            asked["messages"] += [message] + [
                {"role": "tool", "tool_call_id": call, "content": f"result {number}"}
                for number, call in enumerate(calls)
            ]
        case "openai_responses":
            items = [item for item in answer["output"] if "call_id" in item]
            asked["input"] += answer["output"] + [
                {
                    "type": f"{item['type']}_output",
                    "call_id": item["call_id"],
                    "output": f"result {number}",
                }
                for number, item in enumerate(items)
            ]
        case _:
            calls = [call["function"]["name"] for call in answer["message"].get("tool_calls", ())]
            asked["messages"] += [answer["message"]] + [
                {"role": "tool", "tool_name": name, "content": f"result {number}"}
                for number, name in enumerate(calls)
            ]
    return json.dumps(asked).encode()


@pytest.mark.parametrize("name", CLIENTS)
def test_every_tool_of_every_client_goes_there_and_back(name: str) -> None:
    """Called by the name that the model knows, told by the client's, and known again next turn:
    with its arguments, its result behind it, and the tools as they were."""
    dialect, body = dialect_of(name), filled(name)
    asked = talk(dialect, body)
    speech: list[Speech] = [Text(FIRST)]
    speech += [Called(tool.name, SAID) for tool in asked.tools]
    answer = answered(dialect, body, asked, [*speech, Ended("stop", 1, 1)])
    for named in asked.names.values():
        assert json.dumps(named.name, ensure_ascii=False) in json.dumps(answer, ensure_ascii=False)
    again = talk(dialect, gone_on(dialect, body, answer))
    assert (again.tools, again.names) == (asked.tools, asked.names)
    new = again.messages[len(asked.messages) :]
    spoken = [said for said in new if said.role == "assistant"]
    assert "".join(said.text for said in spoken) == FIRST
    calls = [call for said in spoken for call in said.calls]
    assert [call.name for call in calls] == [tool.name for tool in asked.tools]
    for call in calls:
        custom = asked.names[call.name].sort == "custom"
        assert call.arguments == ({"input": SAID["input"]} if custom else SAID)
    results = [said for said in new if said.role == "tool"]
    assert [said.tool for said in results] == [call.name for call in calls]
    assert [said.text for said in results] == [f"result {n}" for n in range(len(calls))]
    if dialect != "ollama_chat":
        assert [said.answers for said in results] == [call.id for call in calls]


def test_there_are_tools_of_every_sort_among_them() -> None:
    """Else the test above would prove little."""
    known = [talk(dialect_of(name), filled(name)).names.values() for name in CLIENTS]
    sorts = {(named.sort, bool(named.namespace)) for each in known for named in each}
    assert {("function", False), ("function", True), ("custom", True)} <= sorts
