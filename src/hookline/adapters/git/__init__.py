"""Git: `door` starts every git process, `work` says what was done to a folder."""
