"""What tests share: expositions, servers, stores."""
