from __future__ import annotations

from hypothesis import HealthCheck, settings

# Machines that run the tests may be busy: a slow example is no failure.
settings.register_profile("tdqsim", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("tdqsim")
