"""Runs of flows and their effects, and how they fold from the journal."""
