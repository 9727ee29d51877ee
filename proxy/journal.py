"""The log lines of one request: what happened to it, kept while it runs and written at its end.

Owns which event says what. It must not decide anything, and no value of a body, header or query
reaches it: kinds, places, codes, counts and names in a safe shape only.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from policies.decision import Decision, Finding
from policies.happenings import NOTED
from policies.notices import NOTICES
from proxy import logs
from proxy.errors import Refused
from proxy.log_fields import LONGEST_LIST

Clock = Callable[[], float]


class Line(Struct, eq=False):
    """What is known of a request so far. `clock`: seconds, monotonic. `asked`: the answer is that
    of an upstream."""

    request: str
    clock: Clock
    began: float
    fields: dict[str, object] = {}
    asked: bool = True

    @classmethod
    def begin(cls, request: str, clock: Clock) -> "Line":
        return cls(request, clock, clock())

    def know(self, **fields: object) -> None:
        """Keep `fields` for every line from now on; empty ones are left out."""
        for name, value in fields.items():
            if value is not None and value != "":
                self.fields[name] = value

    def decided(self, decision: Decision) -> None:
        """Keep the verdict, and write the lines of findings that the owner only watches."""
        held = decision.refusal is not None or decision.observed
        self.know(
            frames=len(decision.frames),
            verdict=("block" if held else "allow") if decision.screened or held else None,
        )
        if decision.observed:
            self._write("egress_observed", "warning", **findings(decision.observed))
        for code, family in NOTED.items() if decision.noted else ():
            if found := [each for each in decision.noted if each.family == family]:
                self.know(notice=code)
                self._write("notice", NOTICES[code].severity, times=len(found), **findings(found))
        if decision.adopted:
            self.know(notice="adopted")
            self._write("notice", "info", notice="adopted", times=decision.adopted)
        if ended := decision.final.code if decision.final is not None else decision.stops:
            self.know(notice=ended)
            self._write("notice", NOTICES[ended].severity)
        self.asked = decision.final is None

    def refused(self, no: Refused, status: int, times: int = 1) -> None:
        """Write why Transom answered instead of a model, and that it is for the `times`th time: a
        client that posts the same again is told the same."""
        self.know(status=status, notice=no.code)
        again = {"times": times} if times > 1 else {}
        if no.code.startswith("egress-"):
            self._write("egress_blocked", "error", **findings(no.findings), **again)
        else:
            self._write("notice", NOTICES[no.code].severity, **again)

    def goes_home(self, no: Refused, upstream: str) -> None:
        """A model at home is to answer, at `upstream`, and no other may, because of `no`."""
        self.know(leg="local", upstream=upstream, notice=no.code, verdict="home")

    def diverted(self, no: Refused, times: int = 1) -> None:
        """Write that it does, and that it is for the `times`th time."""
        again = {"times": times} if times > 1 else {}
        told = {"notice": no.code, **findings(no.findings)}
        self._write("egress_diverted", "warning", **told, **again)

    def truncated(self) -> None:
        """Write that a part of the conversation does not leave."""
        self._write("truncated", "info")

    def broke(self, code: str) -> None:
        """Write that the answer broke off after it had begun."""
        self.know(notice=code)
        self._write("notice", NOTICES[code].severity)

    def dropped(self) -> None:
        """Write that an answer called a tool which its request did not declare."""
        self._write("notice", NOTICES["tool-refused"].severity, notice="tool-refused")

    def written_out(self, count: int) -> None:
        """Write that a model at home made calls that no client could carry out."""
        self._write("notice", "info", problem="calls-written-out", times=count)

    def forgiven(self) -> None:
        """Write that the client's base URL doubles `/v1`."""
        self._write("notice", "warning", problem="base-url-doubled")

    def failed(self, error: BaseException) -> None:
        """Write that Transom itself failed: the type of the error and our own frames, no text."""
        self._write("notice", "error", notice="internal-error", exc_info=error)

    def headers(self) -> list[tuple[str, str]]:
        """What an answer that was relayed, or given in place of one, says of itself."""
        leg = [("x-transom-leg", str(self.fields["leg"]))] if self.asked else []
        said = [*leg, ("x-transom-request", self.request)]
        if "notice" in self.fields:
            said.append(("x-transom-notice", str(self.fields["notice"])))
        return said

    def end(self, *, bytes_out: int) -> None:
        """Write the one line that every request has."""
        self._write("request", "info", bytes_out=bytes_out)

    def _write(self, event: str, severity: str, **fields: object) -> None:
        spent = round((self.clock() - self.began) * 1000, 1)
        known = {"event": event, "request": self.request, "ms": spent, **self.fields, **fields}
        logs.write(severity, known)


def findings(found: Sequence[Finding]) -> dict[str, object]:
    """Kinds and places as they may be logged, each once, in the order found, not too many."""
    return {
        "kinds": list(dict.fromkeys(each.kind for each in found))[:LONGEST_LIST],
        "places": list(dict.fromkeys(each.place for each in found))[:LONGEST_LIST],
    }
