"""The stages of the data pipeline: ingest, load, replay, reconcile, report, and all of them as one run.

A stage is a :mod:`~tdqsim.pipeline.stages.plan`: steps, each with its tasks and a plain function that does one of
them. The function reads and writes files itself and returns a receipt; tests call it without Spark. A runner
(:mod:`~tdqsim.pipeline.stages.runners`) executes plans, in this process or as Spark tasks, with the same results: a
task's output does not depend on the process, on the number of processes, or on the order of the tasks.

The names that a program needs can be imported from here; each is loaded when it is first used. ``__all__`` has those of
a job that is spread over regions; the others are for the commands of ``tdq pipeline``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.pipeline.stages.commands import parse_match as parse_match
    from tdqsim.pipeline.stages.commands import run_ingest as run_ingest
    from tdqsim.pipeline.stages.commands import run_reconcile as run_reconcile
    from tdqsim.pipeline.stages.commands import run_replay as run_replay
    from tdqsim.pipeline.stages.events import EVENTS as EVENTS
    from tdqsim.pipeline.stages.events import event_table, fixed_binary
    from tdqsim.pipeline.stages.exchange import parquet_pieces as parquet_pieces
    from tdqsim.pipeline.stages.exchange import spread_events as spread_events
    from tdqsim.pipeline.stages.ingest import IngestRequest as IngestRequest
    from tdqsim.pipeline.stages.jobs import Output, Router, SpreadJob, SpreadRequest
    from tdqsim.pipeline.stages.load import LoadRequest as LoadRequest
    from tdqsim.pipeline.stages.load import run_load as run_load
    from tdqsim.pipeline.stages.manifest import NotAllowed as NotAllowed
    from tdqsim.pipeline.stages.manifest import Receipt as Receipt
    from tdqsim.pipeline.stages.plan import TaskStep as TaskStep
    from tdqsim.pipeline.stages.reconcile import Match as Match
    from tdqsim.pipeline.stages.replay import ReplaySpec as ReplaySpec
    from tdqsim.pipeline.stages.replay import replay_bucket as replay_bucket
    from tdqsim.pipeline.stages.report import check_report as check_report
    from tdqsim.pipeline.stages.report import write_report as write_report
    from tdqsim.pipeline.stages.run import RunRequest as RunRequest
    from tdqsim.pipeline.stages.run import run_job as run_job
    from tdqsim.pipeline.stages.runners import EngineName as EngineName
    from tdqsim.pipeline.stages.runners import LocalRunner as LocalRunner
    from tdqsim.pipeline.stages.runners import SparkRunner as SparkRunner
    from tdqsim.pipeline.stages.runners import StageFailed as StageFailed
    from tdqsim.pipeline.stages.runners import choose as choose
    from tdqsim.pipeline.stages.tables import TABLES as TABLES
    from tdqsim.pipeline.stages.tables import read_table as read_table
    from tdqsim.pipeline.stages.tables import table_files as table_files

__all__ = ["Output", "Router", "SpreadJob", "SpreadRequest", "event_table", "fixed_binary"]

# There is no __dir__ here: freezegun inspects every name that a module lists, and would import pandas or FastAPI with
# time frozen.
__getattr__, _ = lazy_names(
    __name__,
    {
        ".commands": ("parse_match", "run_ingest", "run_reconcile", "run_replay"),
        ".events": ("EVENTS", "event_table", "fixed_binary"),
        ".exchange": ("parquet_pieces", "spread_events"),
        ".ingest": ("IngestRequest",),
        ".jobs": ("Output", "Router", "SpreadJob", "SpreadRequest"),
        ".load": ("LoadRequest", "run_load"),
        ".manifest": ("NotAllowed", "Receipt"),
        ".plan": ("TaskStep",),
        ".reconcile": ("Match",),
        ".replay": ("ReplaySpec", "replay_bucket"),
        ".report": ("check_report", "write_report"),
        ".run": ("RunRequest", "run_job"),
        ".runners": ("EngineName", "LocalRunner", "SparkRunner", "StageFailed", "choose"),
        ".tables": ("TABLES", "read_table", "table_files"),
    },
)
