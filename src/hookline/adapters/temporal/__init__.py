"""A Temporal server: how it is reached, and what it is told. Only here temporalio is imported."""
