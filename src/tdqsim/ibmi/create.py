"""Creation of a data queue from its definition."""

from __future__ import annotations

from tdqsim.definitions import Dtaq
from tdqsim.ibmi.data import JobData
from tdqsim.ibmi.objects import Library
from tdqsim.ibmi.queue import Attributes, DataQueue, maximum_entries
from tdqsim.ibmi.system_core import SystemCore

_BUNDLES = ("*CHANGE", "*ALL", "*USE", "*EXCLUDE")


def attributes_of(definition: Dtaq) -> Attributes:
    """The attributes of a definition, in the form of the catalogue."""
    if definition.type == "*DDM":
        library, _, name = definition.rmtdtaq.rpartition("/")
        return Attributes(
            type="*DDM", seq="", rmtdtaq=name, rmtdtaqlib=library or "*LIBL", rmtlocname=definition.rmtlocname,
            rdb=definition.rdb, dev=definition.dev, lcllocname=definition.lcllocname, mode=definition.mode,
            rmtnetid=definition.rmtnetid, size=0,
        )  # fmt: skip
    maximum, initial = definition.size
    return Attributes(
        maxlen=definition.maxlen, force=definition.force == "*YES", seq=definition.seq, keylen=definition.keylen,
        senderid=definition.senderid == "*YES", size=maximum, initial=initial,
    )  # fmt: skip


def public_authority(definition: Dtaq, library: Library) -> tuple[str, str]:
    """The public authority and the authorization list that AUT stands for in a library."""
    if definition.aut == "*LIBCRTAUT":
        return library.crtaut, ""
    return (definition.aut, "") if definition.aut in _BUNDLES else ("*AUTL", definition.aut)


class NewQueue:
    """A data queue that is to be created in a library where its name is free.

    Args:
        definition: its definition.
        library: the library, or one with the same CRTAUT.
    """

    __slots__ = ("attributes", "autl", "definition", "public")

    def __init__(self, definition: Dtaq, library: Library) -> None:
        self.definition = definition
        self.attributes = attributes_of(definition)
        self.public, self.autl = public_authority(definition, library)

    def obstacle(self, system: SystemCore) -> tuple[str, ...] | None:
        """The id and values of the message with the reason why it cannot be created; None when it can."""
        if self.autl and self.autl not in system.profiles.authorization_lists:
            return "CPF2283", self.autl
        if self.attributes.type != "*DDM" and not maximum_entries(self.attributes):
            return ("CPF9518",) if self.attributes.size > 0 else ("CPF9517",)
        return None

    def create(self, system: SystemCore, library: Library, owner: str, job: JobData | None = None) -> DataQueue:
        """Create it."""
        definition = self.definition
        created = system.objects.add(
            library,
            lambda number: DataQueue(
                number, definition.name, library.name, owner, public=self.public, autl=self.autl, text=definition.text,
                attributes=self.attributes, autorcl=definition.autorcl == "*YES",
            ),
        )  # fmt: skip
        if system.recorder is not None:  # the state takes longer than the note
            system.note("CRTDTAQ", job, created, **system.objects.state_of(created).keywords())
        return created
