"""Scripted upstreams and real SDK agents: the demonstration, and the instruments of the tests."""
