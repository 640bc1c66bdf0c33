"""The outside world: processes, git, the store, the network."""
