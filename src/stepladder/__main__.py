"""`python -m stepladder`: the same as the command `stepladder`."""

import sys

from stepladder.cli import main

if __name__ == "__main__":
    sys.exit(main())
