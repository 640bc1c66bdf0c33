"""Forges: where pull requests live. One file per forge, all behind the port `Forge`."""
