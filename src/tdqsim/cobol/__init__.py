"""Unmodified COBOL CICS programs under GnuCOBOL as tasks of a region."""
