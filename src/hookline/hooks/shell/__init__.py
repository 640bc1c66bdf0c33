"""Shell lines, read as a shell reads them."""
