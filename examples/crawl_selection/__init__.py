"""Crawl selection [4.2, Figure 7]: which URLs to fetch next."""
