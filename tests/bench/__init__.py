"""Benchmarks: ratios and counts within one run, never a timed assertion. Run with ``-m bench -s``."""
