"""What the figures in the README come from: `python -m bench` writes `bench/RESULTS.md`.

Compares, in one run on one machine, the way straight to a fake upstream, a bare aiohttp proxy and
Transom. Read the ratios; the milliseconds are this machine's.
"""
