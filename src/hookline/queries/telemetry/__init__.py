"""The record as telemetry: spans of what is over, and figures."""
