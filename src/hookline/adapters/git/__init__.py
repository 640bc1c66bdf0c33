"""Git: `door` starts every git process of ours, `work` says what was done to a folder."""
