"""A real Kubernetes control plane for tests, with stand-ins for what runs on nodes and for HyperPod's operator."""
