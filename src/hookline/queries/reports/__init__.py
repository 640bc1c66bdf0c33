"""What people read afterwards: reports of a session or a project, with proofs and changes."""
