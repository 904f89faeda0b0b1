"""What a process tells of itself over HTTP: its metrics, and whether its loops still come round."""
