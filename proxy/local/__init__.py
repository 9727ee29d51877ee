"""Answering at home: what counts as home, and whether a model really runs there."""
