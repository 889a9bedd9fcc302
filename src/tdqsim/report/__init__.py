"""Reports of runs as self-contained HTML pages: topology, depth over time, a time line of tasks, results.

:mod:`~tdqsim.report.page` is the page and :mod:`~tdqsim.report.parts` its parts; :mod:`~tdqsim.report.pictures` has the
kinds of charts, and :mod:`~tdqsim.report.topology` the chart of queues and their targets. :mod:`~tdqsim.report.digest`
condenses a history, and :mod:`~tdqsim.report.history_sections` shows the result.
"""

from __future__ import annotations

__all__: list[str] = []
