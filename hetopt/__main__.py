"""``python -m hetopt`` is the command line."""

import sys

from hetopt.cli import main

if __name__ == "__main__":
    sys.exit(main())
