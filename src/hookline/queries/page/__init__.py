"""What the web page shows: the answers of its API, each with the ids and positions it is from."""
