"""Sending telemetry: by hand, and in the background of whatever advances runs."""
