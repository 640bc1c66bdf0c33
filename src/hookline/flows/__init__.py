"""Flows: work that takes long and must survive a crash, as a function and a journal of effects."""
