"""What an API object says, read without trusting it: pure functions over dicts that never raise."""
