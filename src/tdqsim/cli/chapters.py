"""The chapters of the guide, in one table. ``tdq guide`` and the site use it; a test compares guide/index.md with it.

Most chapters are files of the folder ``guide``. Those of :data:`tdqsim.cli.rule_pages.PAGES` are rendered from the
tables of facts, or from docstrings, each time they are read.
"""

from __future__ import annotations

from importlib import resources
from typing import Final, NamedTuple


class Chapter(NamedTuple):
    """A chapter.

    Attributes:
        group: the part of the guide it belongs to.
        name: as in ``tdq guide NAME``, and the name of its file.
        title: its heading.
        purpose: what you use it for, in a sentence.
    """

    group: str
    name: str
    title: str
    purpose: str


CHAPTERS: Final = {
    each.name: each
    for each in (
        Chapter(
            "Begin",
            "start-python",
            "Quick start for Python testers",
            "Write your first test of a queue and of the transaction that it triggers, in ten minutes.",
        ),
        Chapter(
            "Begin",
            "start-cics",
            "Quick start for CICS people",
            "Import a CSD deck, use CECI and CEMT, and run a trigger transaction, in ten minutes.",
        ),
        Chapter(
            "Begin",
            "start-data",
            "Quick start for data engineers",
            "Decode a data set with a copybook and put its records on a queue, in ten minutes.",
        ),
        Chapter(
            "Begin",
            "which-command",
            "Which command when",
            "Find the CICS command, CEMT request, tdq command, Python call or IBM i API for a purpose.",
        ),
        Chapter(
            "Begin", "troubleshooting", "Troubleshooting", "Look up an error or a silence by the words that you see."
        ),
        Chapter(
            "The three uses",
            "testing",
            "Testing applications",
            "Write tests of applications, handlers and scripts: fixtures, assertions, time, and what fails a test.",
        ),
        Chapter(
            "The three uses",
            "handlers",
            "Registering handlers",
            "Write transactions as Python functions; make triggers start them; learn what silence means.",
        ),
        Chapter(
            "The three uses",
            "browse",
            "Browse scripts",
            "Write operator's scripts: START, NEXT and END, INQUIRE, SET, CREATE, DISCARD, and the same with tdq.",
        ),
        Chapter(
            "CICS",
            "queues",
            "Queues",
            "Use the four kinds of queue; read, write, and inspect records without removing them.",
        ),
        Chapter(
            "CICS",
            "definitions",
            "Definitions",
            "Write definition files and region directories: every attribute of all four kinds; import and export.",
        ),
        Chapter(
            "CICS",
            "conditions",
            "Conditions, abends and EXEC CICS text",
            "Handle RESP and RESP2, abends, and commands given as EXEC CICS text.",
        ),
        Chapter(
            "CICS",
            "recovery",
            "Recovery: units of work, locks, restarts",
            "Test backout, waits and restarts; look after stores.",
        ),
        Chapter(
            "CICS",
            "indoubt",
            "In doubt",
            "Make each state of a unit of work whose coordinator is lost, and see what others get.",
        ),
        Chapter(
            "CICS",
            "links",
            "Several regions",
            "Connect regions: remote queues, programs and transactions; the three regions example.",
        ),
        Chapter(
            "CICS",
            "signatures",
            "Resource signatures",
            "Find out who defined, changed and installed a queue, and when.",
        ),
        Chapter(
            "CICS",
            "exits",
            "Limits, statistics and exits",
            "Limit tasks, collect statistics, and call functions of yours at the exits of transient data.",
        ),
        Chapter(
            "CICS",
            "security",
            "Security",
            "Give a region users, groups and profiles like those of RACF; test refusals and sign-on.",
        ),
        Chapter(
            "IBM i",
            "ibmi",
            "IBM i data queues",
            "Use libraries, jobs, data queues and their APIs, in Python and as byte layouts.",
        ),
        Chapter(
            "IBM i",
            "hostservers",
            "IBM i clients over the network",
            "Connect unmodified IBM i clients: data queues, program calls, commands.",
        ),
        Chapter(
            "Break things",
            "faults",
            "Faults on purpose",
            "Make commands fail, fill disks, cut links and crash regions.",
        ),
        Chapter(
            "Break things",
            "crash-enumeration",
            "Crash a scenario at every point",
            "Crash a scenario at each of its commits, restart it and check the result.",
        ),
        Chapter(
            "Break things",
            "schedules",
            "Run a scenario in every order",
            "Find deadlocks, lost updates and lost triggers by running all orders of tasks.",
        ),
        Chapter(
            "Break things",
            "explain",
            "Explain the state of a queue",
            "Ask why a queue is in its state, and what each command would return.",
        ),
        Chapter(
            "Break things",
            "history",
            "Histories and a checker",
            "Record every operation and check the recording against the rules of queues.",
        ),
        Chapter(
            "Break things",
            "report",
            "Reports",
            "Write a run, a directory or a test session as one HTML page with charts.",
        ),
        Chapter(
            "Break things",
            "real-systems",
            "Tests and rules on a real system",
            "Run the same test bodies on a real region or IBM i, and probe the rules that no manual confirms.",
        ),
        Chapter(
            "Programs, servers, data",
            "cobol",
            "COBOL programs",
            "Run unmodified COBOL CICS programs under GnuCOBOL as tasks.",
        ),
        Chapter(
            "Programs, servers, data",
            "cobol-sql",
            "SQL and external CALLs",
            "Answer the SQL and the CALLs of COBOL programs in a test.",
        ),
        Chapter(
            "Programs, servers, data",
            "cobol-debugger",
            "Debugging COBOL programs",
            "Set breakpoints, step, and look at storage from an editor such as VS Code.",
        ),
        Chapter(
            "Programs, servers, data",
            "operator",
            "The operator's commands",
            "Use the tdq command line: options, exit codes, CEMT and CECI sessions.",
        ),
        Chapter(
            "Programs, servers, data",
            "serve",
            "Serving regions",
            "Run regions in a separate process and call them over HTTP; use them from threads and asyncio.",
        ),
        Chapter("Programs, servers, data", "console", "The console", "Operate served regions in a browser."),
        Chapter(
            "Programs, servers, data",
            "card-posting",
            "The card posting example",
            "Follow a complete night job: data sets, queues, triggers and reports.",
        ),
        Chapter(
            "Programs, servers, data",
            "datasets",
            "Data sets",
            "Connect extrapartition queues to files: DD cards, record formats, print control.",
        ),
        Chapter(
            "Programs, servers, data",
            "pipeline",
            "The pipeline",
            "Process data sets and captured traffic of any size, on Spark or in one process.",
        ),
        Chapter(
            "Programs, servers, data",
            "spark",
            "Spark",
            "Run the pipeline without installing Java, on a cluster, by spark-submit or on a Connect server.",
        ),
        Chapter(
            "Programs, servers, data",
            "queue-sources",
            "Queues as Spark tables and streams",
            "Read the queues of a store in Spark SQL.",
        ),
        Chapter(
            "Reference",
            "qsam-options",
            "Options of the Spark sources",
            'Look up each option of format("qsam") and format("cobol") beside that of Cobrix.',
        ),
        Chapter(
            "Reference", "coming-from-cobrix", "Coming from Cobrix", "Move Spark reads from Cobrix, option by option."
        ),
        Chapter("Reference", "pipeline-scale", "How the pipeline scales", "Estimate time and memory for large inputs."),
        Chapter("Reference", "api", "The JSON API", "Look up requests, answers, events and errors of a server."),
        Chapter(
            "Reference",
            "coming-from",
            "Coming from other products",
            "Translate from message queues, other simulators and test tools for COBOL.",
        ),
        Chapter("Reference", "reference", "Python API", "Look up the public classes and functions of each module."),
        Chapter(
            "Reference",
            "coverage",
            "Coverage",
            "Look up which commands, options, attributes and messages are simulated.",
        ),
        Chapter(
            "Reference",
            "sure",
            "How sure are we?",
            "Look up the source of each rule, and report how a real system behaves.",
        ),
        Chapter(
            "Reference", "choices", "Design choices", "Read what tdqsim does where the manuals are silent, and why."
        ),
        Chapter(
            "Reference",
            "differences",
            "Differences from CICS and IBM i",
            "Read what is not simulated, and which rules no manual confirms.",
        ),
        Chapter(
            "Reference",
            "speed",
            "Platforms and speed",
            "See which platforms are tested, what requests cost, and measure them yourself.",
        ),
        Chapter(
            "Reference",
            "architecture",
            "Architecture",
            "Understand the parts of tdqsim, their dependencies and the reasons for them.",
        ),
    )
}
"""Every chapter by name, in the order of the guide."""

GROUPS: Final = tuple(dict.fromkeys(each.group for each in CHAPTERS.values()))
"""The parts of the guide, in order."""


def chapter_file(name: str) -> resources.abc.Traversable:
    """A file of the package's folder ``guide``."""
    return resources.files("tdqsim").joinpath("guide", name)


def chapter_text(name: str) -> str:
    """The text of a chapter, as Markdown."""
    from tdqsim.cli.rule_pages import PAGES  # noqa: PLC0415  (reads the tables of rules, which few chapters need)

    page = PAGES.get(name)
    return chapter_file(f"{name}.md").read_text("utf-8") if page is None else page()
