"""L2 on a shared file system: whose KV lies in which directory, and what an engine needs to use it."""
