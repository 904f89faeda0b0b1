"""Changes of live deployments: what is asked, what would be written, what became of it. Pure values."""
