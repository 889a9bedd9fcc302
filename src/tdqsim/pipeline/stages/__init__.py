"""The stages of the data pipeline: ingest, load, replay, reconcile, report, and all of them as one run.

A stage is a :mod:`~tdqsim.pipeline.stages.plan`: steps, each with its tasks and a plain function that does one of
them. The function reads and writes files itself and returns a receipt; tests call it without Spark. A runner
(:mod:`~tdqsim.pipeline.stages.runners`) executes plans, in this process or as Spark tasks, with the same results: a
task's output does not depend on the process, on the number of processes, or on the order of the tasks.

The names that a program or a test of a stage needs can be imported from here; each is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.late import load_late

if TYPE_CHECKING:
    from tdqsim.pipeline.stages.commands import parse_match, run_ingest, run_reconcile, run_replay
    from tdqsim.pipeline.stages.events import EVENTS, Slice, in_order, open_pieces, rows_at_once
    from tdqsim.pipeline.stages.exchange import parquet_pieces, spread_events
    from tdqsim.pipeline.stages.ingest import IngestRequest, IngestTask, events_of
    from tdqsim.pipeline.stages.isolation import Marks, Workshop
    from tdqsim.pipeline.stages.load import LoadRequest, run_load
    from tdqsim.pipeline.stages.manifest import NotAllowed, Receipt, Receipts, holding, keep_only
    from tdqsim.pipeline.stages.plan import Step
    from tdqsim.pipeline.stages.reconcile import Comparison, Match, ReconcileTask, compare, reconcile_bucket
    from tdqsim.pipeline.stages.replay import ReplaySpec, replay_bucket
    from tdqsim.pipeline.stages.report import Tables, check_report, page_of, write_report
    from tdqsim.pipeline.stages.run import RunRequest, run_job
    from tdqsim.pipeline.stages.runners import LocalRunner, SparkRunner, StageFailed, choose
    from tdqsim.pipeline.stages.tables import TABLES, RowsDigest, read_table, table_files
    from tdqsim.pipeline.stages.traces import BadEvent, values_of
    from tdqsim.pipeline.stages.tree_memory import TreeMemory, tree_bytes

__all__ = [
    "EVENTS",
    "TABLES",
    "BadEvent",
    "Comparison",
    "IngestRequest",
    "IngestTask",
    "LoadRequest",
    "LocalRunner",
    "Marks",
    "Match",
    "NotAllowed",
    "Receipt",
    "Receipts",
    "ReconcileTask",
    "ReplaySpec",
    "RowsDigest",
    "RunRequest",
    "Slice",
    "SparkRunner",
    "StageFailed",
    "Step",
    "Tables",
    "TreeMemory",
    "Workshop",
    "check_report",
    "choose",
    "compare",
    "events_of",
    "holding",
    "in_order",
    "keep_only",
    "open_pieces",
    "page_of",
    "parquet_pieces",
    "parse_match",
    "read_table",
    "reconcile_bucket",
    "replay_bucket",
    "rows_at_once",
    "run_ingest",
    "run_job",
    "run_load",
    "run_reconcile",
    "run_replay",
    "spread_events",
    "table_files",
    "tree_bytes",
    "values_of",
    "write_report",
]

# There is no __dir__ here: freezegun inspects every name that a module lists, and would import pandas or FastAPI with
# time frozen.
__getattr__, _ = load_late(
    __name__,
    {
        ".events": ("EVENTS", "open_pieces", "in_order", "Slice", "rows_at_once"),
        ".exchange": ("parquet_pieces", "spread_events"),
        ".ingest": ("IngestRequest", "IngestTask", "events_of"),
        ".load": ("LoadRequest", "run_load"),
        ".manifest": ("NotAllowed", "Receipt", "Receipts", "holding", "keep_only"),
        ".reconcile": ("Comparison", "Match", "ReconcileTask", "compare", "reconcile_bucket"),
        ".replay": ("ReplaySpec", "replay_bucket"),
        ".commands": ("parse_match", "run_ingest", "run_reconcile", "run_replay"),
        ".report": ("Tables", "check_report", "page_of", "write_report"),
        ".run": ("RunRequest", "run_job"),
        ".plan": ("Step",),
        ".runners": ("LocalRunner", "SparkRunner", "StageFailed", "choose"),
        ".tables": ("TABLES", "RowsDigest", "read_table", "table_files"),
        ".traces": ("BadEvent", "values_of"),
        ".tree_memory": ("TreeMemory", "tree_bytes"),
        ".isolation": ("Marks", "Workshop"),
    },
)
