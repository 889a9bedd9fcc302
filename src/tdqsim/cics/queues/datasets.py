"""The data sets of a region: DD cards, the data set directory, the spool and the internal reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tdqsim.cics.model.queue import ExtraFile, ExtraTdQueue
from tdqsim.cics.queues.extra import DataSet
from tdqsim.datasets import DDCard, DDTable, Spooling
from tdqsim.errors import UsageError

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData as Region
    from tdqsim.datasets import DataSetDirectory, JobLog, SysoutSpool

__all__ = ["DataSets", "dd_card"]


@runtime_checkable
class _Card(Protocol):
    """A card of region.yaml, which is a pydantic model that this room does not import."""

    concatenation: Sequence[object]

    def model_dump(self, *, exclude_unset: bool) -> dict[str, object]: ...


def dd_card(name: str, given: object) -> DDCard:
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


def _plain(card: object) -> dict[str, object]:
    """What a card of region.yaml says, without what it leaves out."""
    if not isinstance(card, _Card):
        raise UsageError(f"DD card {card!r}: allowed are a path, a DDCard and a mapping as in region.yaml")
    said = {name: value for name, value in card.model_dump(exclude_unset=True).items() if value not in ("", 0, ())}
    found: dict[str, object] = {name: str(value) for name, value in said.items() if name != "concatenation"}
    rest = [_plain(each) for each in card.concatenation]
    return found | ({"concatenation": rest} if rest else {})


class DataSets:
    """What extrapartition queues of one region are tied to.

    Attributes:
        dds: the DDs by name.
    """

    def __init__(
        self, region: Region, cards: Mapping[str, object], directory: Path | str | DataSetDirectory | None
    ) -> None:
        self._region = region
        self._spooling = Spooling(region.store.path, region.clock.time_ns, region.codepage.name)
        if directory is not None:
            from tdqsim.datasets import DataSetDirectory  # noqa: PLC0415  (few regions have one)

            if not isinstance(directory, DataSetDirectory):
                directory = DataSetDirectory(directory)
        self.dds = DDTable([dd_card(name, given) for name, given in cards.items()], directory, self._spooling)

    @property
    def spool(self) -> SysoutSpool:
        """SYSOUT: kept beside the store, or as temporary as that."""
        return self._spooling.spool

    @property
    def jobs(self) -> JobLog:
        """What was given to the internal reader."""
        return self._spooling.jobs

    def make(self, queue: ExtraTdQueue) -> ExtraFile:
        """The data set of a queue, closed."""
        return DataSet(queue, self.dds, self._spooling, self._report)

    def _report(self, message: str, inserts: dict[str, object]) -> None:
        if message:
            self._region.messages.write(message, **inserts)
        else:
            self._region.log.warning("data_set", **inserts)

    def close(self, *, clean: bool = True) -> None:
        """Write what is buffered and close everything; when it is not clean, lose what is buffered, as a kill does."""
        for queue in self._region.tdqueues.values():
            if isinstance(queue, ExtraTdQueue) and isinstance(queue.file, DataSet):
                queue.file.abandon(clean=clean)
        self._spooling.close(clean=clean)
