"""Small real agents, one per SDK and API: each runs a tool loop with one tool, `read_file`.

Owns their list. Importing this loads no SDK: `load` loads the one that is asked for.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proxy.demo.agents.base import Agent, Setup

__all__ = ["NAMES", "Agent", "Setup", "load", "opened", "read"]

NAMES = ("anthropic", "openai-chat", "openai-responses", "ollama")


def read() -> None:
    """Read every SDK, which takes seconds; else `load` does with the one that it needs."""
    from proxy.demo.agents import anthropic_agent, chat_agent, ollama_agent, responses_agent

    del anthropic_agent, chat_agent, ollama_agent, responses_agent


def load(name: str, setup: Setup) -> Agent:
    """The agent of that name, one of `NAMES`. Needs a running event loop; close it with `close`."""
    match name:
        case "anthropic":
            from proxy.demo.agents.anthropic_agent import AnthropicAgent

            return AnthropicAgent(setup)
        case "openai-chat":
            from proxy.demo.agents.chat_agent import ChatAgent

            return ChatAgent(setup)
        case "openai-responses":
            from proxy.demo.agents.responses_agent import ResponsesAgent

            return ResponsesAgent(setup)
        case "ollama":
            from proxy.demo.agents.ollama_agent import OllamaAgent

            return OllamaAgent(setup)
        case _:
            raise ValueError(f"no agent {name!r}: choose from {', '.join(NAMES)}")


@asynccontextmanager
async def opened(name: str, setup: Setup) -> AsyncIterator[Agent]:
    """The agent of that name for the length of the `async with`."""
    agent = load(name, setup)
    try:
        yield agent
    finally:
        await agent.close()
