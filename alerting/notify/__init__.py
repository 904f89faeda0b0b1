"""Says what fires to whom: channels made from the settings, and the sender that empties the outbox into them."""
