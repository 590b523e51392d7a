"""Web search preprocessing [1.1, Figure 1]: page digests with the click scores of their sites."""
