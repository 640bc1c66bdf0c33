"""Sessions: their limits, what agents promise, how turns and checks went."""
