"""Agents, one file per driver: how each is started, spoken to and understood."""
