"""What agents work with: profiles, repositories, forges."""
