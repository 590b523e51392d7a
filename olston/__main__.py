"""`python -m olston` is `olston`."""

from olston.cli import main

main()
