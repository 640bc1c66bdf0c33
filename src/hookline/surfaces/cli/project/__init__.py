"""The commands about a project as a whole: init, config, trust, attention, mcp."""
