"""Who else installed packages of our names: looked at first, and alone.

Owns that look. Where a rival's files lie over ours, every other module may be broken, so this one
needs none of them.
"""

from proxy.doctor import Check
from proxy.rivals import rivals


def examine() -> Check:
    """The one line about it."""
    found = rivals()
    if not found:
        return Check("rivals", "fine", "no other package here installs proxy or policies")
    says = f"{', '.join(found)} also installs proxy or policies; install Transom on its own"
    return Check("rivals", "wrong", says)
