"""Programs that write modules and pages of the package out of its declarations: ``python -m tests.generators.NAME``."""
