"""What agents are told: prompts, what done means, and the task as a file."""
