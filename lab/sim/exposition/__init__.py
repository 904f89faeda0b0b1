"""What the simulated processes export: the text that real ones export, with simulated values."""
