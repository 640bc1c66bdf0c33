"""How fast Hookline is, each figure as a ratio to what is possible on the same machine."""
