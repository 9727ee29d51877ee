"""Transom's deciding half: pure functions over plain values. It imports nothing of `proxy`
and knows no clock, socket, environment, randomness or vendor; what it needs of them comes as an
argument.

Words that mean one thing here:

- **conversation**: all that a policy may see of a request: messages, calls, units, pieces.
- **unit**: one piece of third-party text, with its source; **piece**: one string that would leave.
- **frame**: two marks round a unit, with a random number that the text cannot know.
- **finding**: a kind and a place, never a value.
- **decision**: everything that was decided about a request, one frozen value; `decide` makes it.
- **proof**: an independent reader of the finished body; only its success yields `Cleared`.
- **notice**: the only words for the owner.
"""
