"""A kind of hook, a driver and a forge; pyproject.toml names each as an entry point."""
