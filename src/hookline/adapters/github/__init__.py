"""GitHub's REST interface: what it is asked, what it answers, how it fails."""
