"""A tour of the API as a notebook, `tour.ipynb`."""
