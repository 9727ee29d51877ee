"""Content parts of OpenAI's dialects, as a model at home reads them (wire.md 5.2).

Owns what becomes of each part, of Chat and of Responses: their types have unlike names. It must not
know the message that they stand in.
"""

from proxy.local.asked import phrases
from proxy.local.asked.draft import Draft
from proxy.local.asked.leaning import refuse_held
from proxy.local.asked.shapes import Members, joined, members, picture_of, word


class Parts:
    """What a message or a result says and shows."""

    def __init__(self, draft: Draft) -> None:
        self.images: list[str] = []
        self._texts: list[str] = []
        self._spoken: list[str] = []
        self._draft = draft

    @property
    def text(self) -> str:
        """All of it; what a model said in several parts is one text."""
        return joined(*self._texts, "".join(self._spoken))

    def content(self, given: object) -> None:
        """A string, or a list of parts."""
        if isinstance(given, str):
            self._texts.append(given)
        elif isinstance(given, list):
            for part in given:
                self._part(members(part))
        elif given is not None:
            self._draft.leave("content")

    def image(self, address: str) -> None:
        """A picture at a `data:` address; every other one cannot be shown."""
        found = picture_of(address)
        if found is None:
            self._without("image_url", phrases.PICTURE)
        else:
            self.images.append(found)

    def _part(self, part: Members) -> None:
        if part.get("file_id") or members(part.get("file")).get("file_id"):
            refuse_held("file_id")
        match word(part.get("type")):
            case "text" | "input_text":
                self._texts.append(word(part.get("text")))
            case "output_text":
                self._spoken.append(word(part.get("text")))
            case "refusal":
                self._spoken.append(word(part.get("refusal")))
            case "image_url":
                self.image(word(members(part.get("image_url")).get("url")))
            case "input_image" | "computer_screenshot":
                self.image(word(part.get("image_url")))
            case "file" | "input_file":
                self._without("file", phrases.DOCUMENT)
            case "input_audio":
                self._without("input_audio", phrases.SOUND)
            case _:
                self._draft.leave("*")

    def _without(self, what: str, told: str) -> None:
        self._draft.leave(what)
        self._texts.append(told)
