"""Sessions and their background processes, as people and agents start and control them."""
