"""Reports: of the project since a moment, of one task, of one session."""
