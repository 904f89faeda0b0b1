"""The shared pool as the second tier: who is in it, how long its room lasts, and what goes when there is none."""
