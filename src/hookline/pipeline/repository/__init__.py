"""What submitting and merging do to the repository and its forge; harmless when repeated."""
