"""The built-in hook `notify`: tells people what waits for them, through a channel."""
