"""What opens a project: its store, its configuration, its trust, and who acts."""
