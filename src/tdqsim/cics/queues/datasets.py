"""The data sets of a region: DD cards, the data set directory, the spool and the internal reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tdqsim.cics.model.queue import ExtraFile, ExtraTdQueue
from tdqsim.cics.queues.extra import DataSet
from tdqsim.datasets import DDCard, DDTable, Spooling
from tdqsim.errors import UsageError

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData as Region
    from tdqsim.datasets import DataSetDirectory, JobLog, SysoutSpool


@runtime_checkable
class _Card(Protocol):
    """A card of region.yaml: a pydantic model of :mod:`tdqsim.definitions`, which is not imported here."""

    concatenation: Sequence[object]

    def model_dump(self, *, exclude_unset: bool) -> dict[str, object]: ...


def dd_card(name: str, given: object) -> DDCard:
    """A DD card from a card, a path, a mapping as in region.yaml, or a card read from region.yaml.

    Raises:
        DatasetError: the argument is none of these, or a value is not allowed.
    """
    if isinstance(given, DDCard):
        return given
    if isinstance(given, str | Path):
        return DDCard(name, path=Path(given))
    values = given if isinstance(given, Mapping) else _plain(given)
    return DDCard.from_mapping(name, values)


def _plain(card: object) -> dict[str, object]:
    """The values that a card of region.yaml sets."""
    if not isinstance(card, _Card):
        raise UsageError(f"DD card {card!r}: allowed are a path, a DDCard and a mapping as in region.yaml")
    values = {name: value for name, value in card.model_dump(exclude_unset=True).items() if value not in ("", 0, ())}
    texts: dict[str, object] = {name: str(value) for name, value in values.items() if name != "concatenation"}
    rest = [_plain(each) for each in card.concatenation]
    return texts | ({"concatenation": rest} if rest else {})


class DataSets:
    """The data sets of one region's extrapartition queues.

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
        """The SYSOUT data sets: in the directory of the store, and temporary if the store is."""
        return self._spooling.spool

    @property
    def jobs(self) -> JobLog:
        """The jobs submitted to the internal reader."""
        return self._spooling.jobs

    def make(self, queue: ExtraTdQueue) -> ExtraFile:
        """The data set of a queue, closed."""
        return DataSet(queue, self.dds, self._spooling, self._report)

    def _report(self, message: str, inserts: dict[str, Any]) -> None:
        """Write a message of CICS, give a notice by its event, or log what the command answers with a condition."""
        if message.startswith("DFH"):
            self._region.messages.write(message, **inserts)
        elif message:
            self._region.notices.say(message, **inserts)
        else:
            self._region.log.warning("data_set", **inserts)

    def close(self, *, clean: bool = True) -> None:
        """Close all data sets after writing their buffers; with ``clean=False`` the buffers are lost, as by a kill."""
        for queue in self._region.tdqueues.values():
            if isinstance(queue, ExtraTdQueue) and isinstance(queue.file, DataSet):
                queue.file.abandon(clean=clean)
        self._spooling.close(clean=clean)
