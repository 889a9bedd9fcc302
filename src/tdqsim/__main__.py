"""``python -m tdqsim`` is ``tdq``."""

import sys

from tdqsim.cli import main

sys.exit(main())
