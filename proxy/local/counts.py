"""Answers of a home to the question how many tokens a request takes.

Owns the two shapes that the SDKs know. It must not know how tokens are counted.
"""

from proxy.lazyjson import dump


def counted(dialect: str, tokens: int) -> tuple[dict[str, str], bytes]:
    """Headers and body for Anthropic's `count_tokens` or Responses' `input_tokens`; `tokens` is an
    estimate. `ValueError` for a dialect that has no such question."""
    headers = {"content-type": "application/json"}
    match dialect:
        case "anthropic_messages":
            return headers, dump({"input_tokens": tokens})
        case "openai_responses":
            answer = {"object": "response.input_tokens", "input_tokens": tokens}
            return headers, dump(answer)
        case _:
            raise ValueError(f"{dialect} has no question for tokens")
