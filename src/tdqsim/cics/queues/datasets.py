"""The data sets of a region: DD cards, the data set directory, the spool and the internal reader."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.queues.extra import DataSet
from tdqsim.cics.queues.kinds import ExtraFile, ExtraTdQueue
from tdqsim.datasets import DataSetDirectory, DDCard, DDTable, JobLog, Spooling, SysoutSpool
from tdqsim.errors import TdqError

if TYPE_CHECKING:
    from tdqsim.cics.queues.parts import QueueRegion as Region

__all__ = ["DataSets", "dd_card"]

_SPOOL: Final = "spool"
_JOBS: Final = "jobs"


def dd_card(name: str, given: Any) -> DDCard:
    """A DD card from what a caller gave: a card, a path, a mapping as in region.yaml, or region.yaml's own card.

    Raises:
        DatasetError: it is none of these, or a value is not allowed.
    """
    if isinstance(given, DDCard):
        return given
    if isinstance(given, str | Path):
        return DDCard(name, path=Path(given))
    values = given if isinstance(given, Mapping) else _plain(given)
    return DDCard.from_mapping(name, values)


def _plain(card: Any) -> dict[str, Any]:
    """What a card of region.yaml says, without what it leaves out."""
    if not hasattr(card, "model_dump"):
        raise TdqError(f"DD card {card!r}: allowed are a path, a DDCard and a mapping as in region.yaml")
    said = {name: value for name, value in card.model_dump(exclude_unset=True).items() if value not in ("", 0, ())}
    found: dict[str, Any] = {name: str(value) for name, value in said.items() if name != "concatenation"}
    rest = [_plain(each) for each in card.concatenation]
    return found | ({"concatenation": rest} if rest else {})


class DataSets:
    """What extrapartition queues of one region are tied to.

    Attributes:
        dds: the DDs by name.
        spool: SYSOUT: kept beside the store, or as temporary as that.
        jobs: what was given to the internal reader.
    """

    def __init__(
        self, region: Region, cards: Mapping[str, Any], directory: Path | str | DataSetDirectory | None
    ) -> None:
        self._region = region
        store = region.store
        self.spool = SysoutSpool(store.path / _SPOOL)
        self.jobs = JobLog(region.clock.time_ns, root=store.path / _JOBS)
        spooling = Spooling(self.spool, self.jobs, region.codepage.name)
        if directory is not None and not isinstance(directory, DataSetDirectory):
            directory = DataSetDirectory(directory)
        self.dds = DDTable([dd_card(name, given) for name, given in cards.items()], directory, spooling)

    def make(self, queue: ExtraTdQueue) -> ExtraFile:
        """The data set of a queue, closed."""
        return DataSet(queue, self.dds, self.spool, self._report)

    def _report(self, message: str, inserts: dict[str, Any]) -> None:
        if message:
            self._region.messages.write(message, **inserts)
        else:
            self._region.log.warning("data_set", **inserts)

    def close(self, *, clean: bool = True) -> None:
        """Write what is buffered and close everything; when it is not clean, lose what is buffered, as a kill does."""
        for queue in self._region.tdqueues.values():
            if isinstance(queue, ExtraTdQueue) and isinstance(queue.file, DataSet):
                queue.file.abandon(clean=clean)
        self.spool.close(clean=clean)
