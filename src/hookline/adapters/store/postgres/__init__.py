"""The store of many machines: PostgreSQL, with the statements and migrations of the other one."""
