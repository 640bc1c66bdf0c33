"""Git: `door` starts every git process of ours, `work` tells what was done to a folder."""
