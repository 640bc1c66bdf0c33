"""The network, behind one door."""
