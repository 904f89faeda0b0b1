"""Changes: the controller claims them, plans, previews, applies, verifies and proves them."""
