"""What waits for a person, one module for each kind of thing; `attention` lists them all."""
