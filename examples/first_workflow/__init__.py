"""Twenty lines: two sources, a join, an aggregate, and three promises."""
