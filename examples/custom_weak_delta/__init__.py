"""A weak representation of one's own [2.4]: top lists, one row a site, for a cache."""
