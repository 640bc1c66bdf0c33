"""What people read afterwards: reports of sessions and of a project, with their proofs and changes."""
