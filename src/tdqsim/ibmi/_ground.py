"""What a machine stands on: its store with the catalogue, its dispatcher and clock, and how a change is carried out.

Each layer above adds what it keeps, and loads it when the store is open: :class:`~tdqsim.ibmi._profiles.Profiles` users
and their authorities, :class:`~tdqsim.ibmi._machine.Machine` libraries and objects.

What a job keeps in front of a look-up (which queue a name means) is a dictionary that the machine knows too, and
empties whenever an object comes, goes or moves, or an authority to a library changes: nobody has to ask whether it
still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tdqsim.core.changes import KeptChange, carry_out
from tdqsim.core.clock import Clock, time_zone
from tdqsim.core.codepage import codepage
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.store import Durability, Store
from tdqsim.errors import SystemClosed
from tdqsim.ibmi._catalogue import Catalogue
from tdqsim.ibmi._fact import LIMITS
from tdqsim.ibmi._queue import DataQueue

__all__ = ["Ground", "ObjectChange", "job_page"]


def job_page(ccsid: int) -> int:
    """The CCSID whose code page a job works with: 65535 says that nothing is converted, and stands for the default."""
    return LIMITS["default_ccsid"] if ccsid == LIMITS["no_conversion_ccsid"] else ccsid


class ObjectChange(KeptChange):
    """A change of objects: what brings it about in memory, and what follows; both may be done again."""

    def __init__(self, make: Callable[[], object], then: Callable[[], object]) -> None:
        self._make, self._then = make, then

    def committed(self) -> None:
        """See the base."""
        self.made = True
        self._make()

    def finish(self) -> None:
        """See the base."""
        self._then()


class Ground:
    """See the module's text; arguments and attributes are those of :class:`~tdqsim.ibmi.System`."""

    def __init__(
        self,
        name: str,
        path: Path | str | Store | None,
        *,
        dispatcher: Dispatcher | None,
        clock: Clock | None,
        seed: int,
        durability: Durability,
        timezone: str,
        ccsid: int,
        limit_bytes: int | None,
        memory_bytes: int,
        create: bool,
        readonly: bool,
    ) -> None:
        if dispatcher is not None and clock not in (None, dispatcher.clock):
            raise ValueError("clock: a dispatcher that is given has its clock; give one of the two")
        self.name = name
        self.timezone = time_zone(timezone)
        codepage(job_page(ccsid))
        self.ccsid = ccsid
        self.date_format = "*YMD"
        self.closed = self.failed = False
        self._own_dispatcher = dispatcher is None
        self.dispatcher = dispatcher if dispatcher is not None else Dispatcher(clock, seed)
        self.clock = self.dispatcher.clock
        self.directories: dict[int, dict[tuple[str, str], DataQueue]] = {}
        self._utc = timezone == "UTC"
        self.store = (
            path
            if isinstance(path, Store)
            else Store(
                path,
                durability=durability, limit_bytes=limit_bytes,
                memory_bytes=memory_bytes, create=create, readonly=readonly,
            )
        )  # fmt: skip
        self.readonly = readonly
        self._catalogue = Catalogue(self.store, readonly=readonly)
        try:
            self._catalogue.check_ours()
            self._load()
        except BaseException:
            self.store.close(clean=False)
            raise

    def _load(self) -> None:
        """Read what the catalogue has of this layer."""
        self._counters = self._catalogue.counters()

    def _carry_out(self, meta: Mapping[bytes, bytes | None], put: tuple[dict[Any, Any], Any, Any]) -> None:
        """Put something under its name, and keep it."""
        place, name, value = put
        change = ObjectChange(partial(place.__setitem__, name, value), self.forget_places)
        carry_out(self.store.durable, change, meta)

    def forget_places(self) -> None:
        """Empty what jobs keep in front of their look-ups; only what holds something is listed."""
        self.dispatcher.check_thread()
        for directory in self.directories.values():
            directory.clear()
        self.directories.clear()

    def _next(self, counter: str) -> int:
        number = self._counters[counter]
        after = {**self._counters, counter: number + 1}
        self._carry_out(self._catalogue.record("system", "counters", after), (self._counters, counter, number + 1))
        return number

    def check_open(self) -> None:
        """Refuse another thread, and when it is closed."""
        self.dispatcher.check_thread()
        if self.closed:
            raise SystemClosed(f"system {self.name} is closed")
