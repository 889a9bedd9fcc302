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
    from tdqsim.pipeline.stages.commands import parse_match as parse_match
    from tdqsim.pipeline.stages.commands import run_ingest as run_ingest
    from tdqsim.pipeline.stages.commands import run_reconcile as run_reconcile
    from tdqsim.pipeline.stages.commands import run_replay as run_replay
    from tdqsim.pipeline.stages.events import EVENTS as EVENTS
    from tdqsim.pipeline.stages.events import Slice as Slice
    from tdqsim.pipeline.stages.events import in_order as in_order
    from tdqsim.pipeline.stages.events import open_pieces as open_pieces
    from tdqsim.pipeline.stages.events import rows_at_once as rows_at_once
    from tdqsim.pipeline.stages.exchange import assign as assign
    from tdqsim.pipeline.stages.exchange import parquet_pieces as parquet_pieces
    from tdqsim.pipeline.stages.exchange import spread_events as spread_events
    from tdqsim.pipeline.stages.ingest import IngestRequest as IngestRequest
    from tdqsim.pipeline.stages.ingest import IngestTask as IngestTask
    from tdqsim.pipeline.stages.ingest import events_of as events_of
    from tdqsim.pipeline.stages.isolation import Marks as Marks
    from tdqsim.pipeline.stages.isolation import Workshop as Workshop
    from tdqsim.pipeline.stages.load import LoadRequest as LoadRequest
    from tdqsim.pipeline.stages.load import run_load as run_load
    from tdqsim.pipeline.stages.manifest import NotAllowed as NotAllowed
    from tdqsim.pipeline.stages.manifest import Receipt as Receipt
    from tdqsim.pipeline.stages.manifest import Receipts as Receipts
    from tdqsim.pipeline.stages.manifest import holding as holding
    from tdqsim.pipeline.stages.manifest import keep_only as keep_only
    from tdqsim.pipeline.stages.plan import TaskStep as TaskStep
    from tdqsim.pipeline.stages.reconcile import Comparison as Comparison
    from tdqsim.pipeline.stages.reconcile import Match as Match
    from tdqsim.pipeline.stages.reconcile import ReconcileTask as ReconcileTask
    from tdqsim.pipeline.stages.reconcile import reconcile_bucket as reconcile_bucket
    from tdqsim.pipeline.stages.replay import ReplaySpec as ReplaySpec
    from tdqsim.pipeline.stages.replay import replay_bucket as replay_bucket
    from tdqsim.pipeline.stages.report import Tables as Tables
    from tdqsim.pipeline.stages.report import check_report as check_report
    from tdqsim.pipeline.stages.report import page_of as page_of
    from tdqsim.pipeline.stages.report import write_report as write_report
    from tdqsim.pipeline.stages.run import RunRequest as RunRequest
    from tdqsim.pipeline.stages.run import run_job as run_job
    from tdqsim.pipeline.stages.runners import EngineName as EngineName
    from tdqsim.pipeline.stages.runners import LocalRunner as LocalRunner
    from tdqsim.pipeline.stages.runners import SparkRunner as SparkRunner
    from tdqsim.pipeline.stages.runners import StageFailed as StageFailed
    from tdqsim.pipeline.stages.runners import choose as choose
    from tdqsim.pipeline.stages.tables import TABLES as TABLES
    from tdqsim.pipeline.stages.tables import RowsDigest as RowsDigest
    from tdqsim.pipeline.stages.tables import read_table as read_table
    from tdqsim.pipeline.stages.tables import table_files as table_files
    from tdqsim.pipeline.stages.traces import BadEvent as BadEvent
    from tdqsim.pipeline.stages.traces import values_of as values_of
    from tdqsim.pipeline.stages.tree_memory import TreeMemory as TreeMemory
    from tdqsim.pipeline.stages.tree_memory import tree_bytes as tree_bytes

# There is no __dir__ here: freezegun inspects every name that a module lists, and would import pandas or FastAPI with
# time frozen.
__getattr__, _ = load_late(
    __name__,
    {
        ".commands": ("parse_match", "run_ingest", "run_reconcile", "run_replay"),
        ".events": ("EVENTS", "Slice", "in_order", "open_pieces", "rows_at_once"),
        ".exchange": ("assign", "parquet_pieces", "spread_events"),
        ".ingest": ("IngestRequest", "IngestTask", "events_of"),
        ".isolation": ("Marks", "Workshop"),
        ".load": ("LoadRequest", "run_load"),
        ".manifest": ("NotAllowed", "Receipt", "Receipts", "holding", "keep_only"),
        ".plan": ("TaskStep",),
        ".reconcile": ("Comparison", "Match", "ReconcileTask", "reconcile_bucket"),
        ".replay": ("ReplaySpec", "replay_bucket"),
        ".report": ("Tables", "check_report", "page_of", "write_report"),
        ".run": ("RunRequest", "run_job"),
        ".runners": ("EngineName", "LocalRunner", "SparkRunner", "StageFailed", "choose"),
        ".tables": ("RowsDigest", "TABLES", "read_table", "table_files"),
        ".traces": ("BadEvent", "values_of"),
        ".tree_memory": ("TreeMemory", "tree_bytes"),
    },
)
