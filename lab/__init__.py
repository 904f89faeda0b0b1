"""A fleet to try everything on, without a GPU or a cluster; it knows nothing of the store."""
