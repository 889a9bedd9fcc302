from __future__ import annotations

import os
import sys

from hypothesis import HealthCheck, settings

# Machines that run the tests may be busy: a slow example is no failure.
settings.register_profile("tdqsim", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("tdqsim")

# Hundreds of tests start Python. Where bytecode is not to be kept each would compile the package anew, which is a quarter
# of all the work; what is written beside the sources git ignores.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False
