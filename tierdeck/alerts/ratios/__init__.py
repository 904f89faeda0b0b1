"""What one ratio over time tells: its window, what is usual, how far it strays, and if that is a drop or a drift."""
