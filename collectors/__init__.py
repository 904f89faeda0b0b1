"""The collectors process: discover targets, scrape, account every prompt token, write."""
