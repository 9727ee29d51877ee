"""What the demo holds a model at home to: it got what the cloud did not, and its tools were used.

Owns that reading of one scene. It must not print, and a problem that it states never quotes the
key.
"""

from collections.abc import Iterator
from typing import Final

from proxy.demo.evidence import framed, results, traces
from proxy.demo.play import Scene

READ: Final = (1, 1, 3)
"""Results in each request at home: the wallet, then the same before and after two more files."""


def problems(scene: Scene) -> Iterator[str]:
    """What is wrong with a scene whose first round the cloud has answered, and home the others."""
    if (len(scene.arrived), scene.connections) != (1, 1):
        yield f"{scene.name}: {scene.connections} connections to the cloud, 1 expected"
    if any(traces(request.body) for request in scene.arrived):
        yield f"{scene.name}: the key left"
    asked = tuple(len(results(request.body)) for request in scene.asked)
    if asked != READ:
        yield f"{scene.name}: home was given {asked} results, {READ} expected"
    for number, request in enumerate(scene.asked):
        if not traces(request.body):
            yield f"{scene.name}, request {number + 1} at home: the question did not arrive"
        if any(framed(result) is None for result in results(request.body)):
            yield f"{scene.name}, request {number + 1} at home: a result stands in no frame"
