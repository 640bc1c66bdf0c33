"""What the record of hook calls shows: why, replays, statistics."""
