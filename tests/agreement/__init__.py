"""Every path that answers the same question gives the same, right answer."""
