"""What a plain workload's template needs for another strategy or other sizes: a router, engines, a cache's server."""
