"""The pure core: tasks, events and what they mean. Nothing here touches a file or a clock."""
