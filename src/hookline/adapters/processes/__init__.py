"""Starting processes, telling them apart, and ending them."""
