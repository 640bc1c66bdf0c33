"""What Hookline writes for people to read: drawings, task files, commit messages."""
