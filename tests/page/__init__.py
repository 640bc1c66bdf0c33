"""The page of a project in a real Chromium."""
