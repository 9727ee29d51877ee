"""Messages and blocks of Anthropic Messages, as a model at home reads them (wire.md 1.1.2, 5.2).

Owns what becomes of each block. It must not know the rest of the request.
"""

from typing import Final

from proxy.local.asked import phrases
from proxy.local.asked.draft import Draft
from proxy.local.asked.leaning import refuse_held
from proxy.local.asked.shapes import Members, joined, listed, members, picture, plain, word
from proxy.local.talk import Call

_LEFT: Final = frozenset(
    {"redacted_thinking", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result",
     "advisor_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result",
     "text_editor_code_execution_tool_result", "tool_search_tool_result", "mcp_tool_use",
     "mcp_tool_result", "mcp_tool_listing", "container_upload", "fallback", "browser_state"}
)  # fmt: skip
"""What the vendor's side made or keeps."""


def texts(given: object, draft: Draft) -> list[str]:
    """The texts of a list of text blocks; what is no text is left out."""
    found = []
    for block in map(members, listed(given)):
        if word(block.get("type")) == "text":
            found.append(word(block.get("text")))
        else:
            _left(block, draft)
    return found


class Blocks:
    """All messages of a request. `loaded` and `gone`: names of tools that the conversation made
    available or withdrew, `added`: definitions that stand in it; `effort`: the newest one."""

    def __init__(self, draft: Draft) -> None:
        self.loaded: set[str] = set()
        self.gone: set[str] = set()
        self.added: list[Members] = []
        self.effort = ""
        self._draft = draft

    def message(self, message: Members) -> None:
        """The next message."""
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found = [members(block) for block in listed(blocks)]
        match word(message.get("role")).lower():
            case "user":
                self._user(found)
            case "assistant":
                self._assistant(found)
            case "system":
                self.effort = word(members(message.get("output_config")).get("effort"))
                self._system(found)
            case _:
                self._draft.leave("role")

    def _user(self, blocks: list[Members]) -> None:
        """Results first, whatever stands before them: they belong to the calls."""
        pieces = _Pieces(self, self._draft)
        for block in blocks:
            if word(block.get("type")) == "tool_result":
                self._result(block)
            else:
                pieces.read(block)
        self._draft.user(pieces.text, pieces.images)

    def _result(self, block: Members) -> None:
        content, pieces = block.get("content"), _Pieces(self, self._draft)
        if isinstance(content, str):
            pieces.texts.append(content)
        for item in listed(content):
            pieces.read(members(item))
        if pieces.tools:
            pieces.texts.append(phrases.loaded(pieces.tools))
        failed = phrases.FAILED if block.get("is_error") is True else ""
        said = "\n".join(filter(None, (failed, pieces.text)))
        self._draft.result(word(block.get("tool_use_id")), said, pieces.images)

    def _assistant(self, blocks: list[Members]) -> None:
        text, thinking, calls = "", "", list[Call]()
        for block in blocks:
            match word(block.get("type")):
                case "text":
                    text += word(block.get("text"))
                case "tool_use":
                    calls.append(self._call(block))
                case "thinking" if not word(block.get("signature")):
                    thinking = joined(thinking, word(block.get("thinking")))
                case "compaction":
                    text += word(block.get("content")) or phrases.COMPACTED
                case _:
                    _left(block, self._draft)
        self._draft.assistant(text, calls, thinking)

    def _call(self, block: Members) -> Call:
        call, name = word(block.get("id")), word(block.get("name"))
        given = plain(block.get("input"))
        return self._draft.call(call, name, members(given))

    def _system(self, blocks: list[Members]) -> None:
        said = []
        for block in blocks:
            match word(block.get("type")):
                case "text":
                    said.append(word(block.get("text")))
                case "tool_addition":
                    self._add(members(block.get("tool")))
                case "tool_removal":
                    self.gone.add(word(members(block.get("tool")).get("name")))
                case _:
                    _left(block, self._draft)
        self._draft.system(joined(*said))

    def _add(self, tool: Members) -> None:
        definition = members(tool.get("definition"))
        name = word(definition.get("name")) or word(tool.get("name"))
        if definition:
            self.added.append(definition)
            self._draft.names.here(name)
        self.loaded.add(name)
        self.gone.discard(name)


class _Pieces:
    """What a message of the user, or a result, says and shows. `tools`: references to some."""

    def __init__(self, blocks: Blocks, draft: Draft) -> None:
        self.texts: list[str] = []
        self.images: list[str] = []
        self.tools: list[str] = []
        self._blocks = blocks
        self._draft = draft

    @property
    def text(self) -> str:
        """All of it."""
        return joined(*self.texts)

    def read(self, block: Members) -> None:
        """The next block."""
        match word(block.get("type")):
            case "text":
                self.texts.append(word(block.get("text")))
            case "image":
                self._image(members(block.get("source")))
            case "document":
                self._document(block)
            case "search_result":
                head = "\n".join(filter(None, map(word, (block.get("title"), block.get("source")))))
                self.texts.append(joined(head, *texts(block.get("content"), self._draft)))
            case "tool_reference":
                name = word(block.get("tool_name"))
                self.tools.append(name)
                self._blocks.loaded.add(name)
            case _:
                _left(block, self._draft)

    def _image(self, source: Members) -> None:
        if word(source.get("type")) == "file":
            refuse_held("file_id")
        data = word(source.get("data")) if word(source.get("type")) == "base64" else ""
        found = picture(word(source.get("media_type")), data)
        if found is None:
            self._draft.leave("image")
            self.texts.append(phrases.PICTURE)
        else:
            self.images.append(found)

    def _document(self, block: Members) -> None:
        head = "\n".join(filter(None, map(word, (block.get("title"), block.get("context")))))
        self.texts.append(joined(head, self._source(members(block.get("source")))))

    def _source(self, source: Members) -> str:
        """The text of a document; its pictures are shown beside it."""
        kind, content = word(source.get("type")), source.get("content")
        if kind == "file":
            refuse_held("file_id")
        if kind == "text":
            return word(source.get("data"))
        if kind != "content":
            self._draft.leave("document")
            return phrases.DOCUMENT
        if isinstance(content, str):
            return content
        inner = _Pieces(self._blocks, self._draft)
        for item in listed(content):
            inner.read(members(item))
        self.images += inner.images
        return inner.text


def _left(block: Members, draft: Draft) -> None:
    kind = word(block.get("type"))
    if kind == "container_upload":
        refuse_held("file_id")
    draft.leave(kind if kind in _LEFT or kind in ("thinking", "image", "document") else "*")
