"""What people see and propose: the web console and the `tierdeck` command, thin over the store."""
