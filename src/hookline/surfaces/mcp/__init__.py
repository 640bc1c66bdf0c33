"""The MCP server: what agents call while they work."""
