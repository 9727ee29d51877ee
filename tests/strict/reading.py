"""What a recorded request holds: the texts of its results, and those that stand in no frame.

Owns the places of all dialects. It shares no code with the relay.
"""

from typing import Any

from proxy.demo.evidence import framed
from tests.strict.anthropic_rules import blocks

Body = dict[str, Any]


def result_texts(body: Body) -> list[str]:
    """Every text of every tool result, part by part, in order."""
    found: list[str] = []
    for item in body.get("messages", body.get("input", [])):
        if item.get("role") == "tool":
            found += _texts(item["content"])
        elif str(item.get("type")).endswith("_call_output"):
            found += _texts(item["output"])
        elif item.get("role") == "user":
            for block in blocks(item.get("content")):
                if block.get("type") == "tool_result":
                    found += _texts(block["content"])
    return found


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content if "text" in part]


def bare_results(body: Body) -> list[str]:
    """The beginnings of all results that are not in a frame as a whole."""
    return [text[:60] for text in result_texts(body) if framed(text) is None]


def sealed(body: Body) -> list[str]:
    """Every seal of thinking or reasoning, in order."""
    found: list[str] = []
    for item in body.get("messages", body.get("input", [])):
        if item.get("type") == "reasoning":
            found.append(item["encrypted_content"])
        thoughts = [b for b in blocks(item.get("content")) if "thinking" in str(b.get("type"))]
        found += [block.get("signature") or block["data"] for block in thoughts]
    return found
