"""Tests of the storage core, the dispatcher and the clock."""
