"""Creation of a data queue from its definition."""

from __future__ import annotations

from collections.abc import Sequence

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


def new_queue(definition: Dtaq, library: Library, owner: str) -> DataQueue:
    """The data queue of a definition for a library; :func:`create` numbers it and adds it."""
    public, listed = public_authority(definition, library)
    return DataQueue(
        0, definition.name, library.name, owner, public=public, autl=listed, text=definition.text,
        attributes=attributes_of(definition), autorcl=definition.autorcl == "*YES",
    )  # fmt: skip


def obstacle_to(system: SystemCore, new: DataQueue) -> tuple[str, ...] | None:
    """The id and values of the message with the reason why a queue cannot be created; None when it can."""
    if new.autl and new.autl not in system.profiles.authorization_lists:
        return "CPF2283", new.autl
    if not new.ddm and not maximum_entries(new.attributes):
        return ("CPF9518",) if new.attributes.size > 0 else ("CPF9517",)
    return None


def create(system: SystemCore, new: Sequence[tuple[Library, DataQueue]], job: JobData | None = None) -> None:
    """Create data queues in libraries where their names are free: all of them, or none."""
    system.objects.add(new)
    if system.recorder is not None:  # the state takes longer than the note
        for _, queue in new:
            system.note("CRTDTAQ", job, queue, **system.objects.state_of(queue).keywords())
