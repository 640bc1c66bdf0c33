"""`hookline flow`, `effect`, `orchestrate` and `answer`."""
