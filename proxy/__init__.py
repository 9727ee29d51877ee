"""Transom's acting half: sockets, files, time and vendors. It carries out what `policies` decides.

Words that mean one thing here:

- **node**: a running Transom: `app` builds it, `serve` gives it a process, `server` its sockets.
- **door**: what may come in: `door`, with `endpoints`, one table of every address.
- **dialect**: one vendor's way to write a conversation: view, render, errors, events; pure.
- **errand**: one admitted request on its way; **workshop** (`outgoing`): what prepares its body.
- **upstream**: who answers; **leg**: whether it is in a cloud or at home.
- **ledger**: what must read the same next turn, kept in **state**.
- **cleared**: bytes that the proof let go; no cloud gets others.
- **line** (`journal`): what the log says of one request.
- **refused**: ended with a notice instead of an answer.

The way of a request is told in `gateway`, the map of the house in docs/architecture.md.
"""

__version__ = "0.1.0"
