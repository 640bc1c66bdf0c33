"""The drivers of agents. Each module here is one: its name is what `driver:` says."""
