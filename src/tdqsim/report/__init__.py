"""Pictures and pages: what leads where, what happened when, and how it came out, as one HTML page on its own.

:mod:`~tdqsim.report.page` and :mod:`~tdqsim.report.parts` are the page and what stands on it,
:mod:`~tdqsim.report.pictures` the kinds of pictures, :mod:`~tdqsim.report.topology` what definitions say,
:mod:`~tdqsim.report.digest` what is kept of a history, :mod:`~tdqsim.report.history_sections` how that is shown.
"""

from __future__ import annotations

__all__: list[str] = []
