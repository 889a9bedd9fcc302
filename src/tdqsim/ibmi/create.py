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


def obstacle_to(system: SystemCore, library: Library, definition: Dtaq) -> tuple[str, ...] | None:
    """The id and values of the message with the reason why a queue cannot be created; None when it can."""
    _, listed = public_authority(definition, library)
    if listed and listed not in system.profiles.authorization_lists:
        return "CPF2283", listed
    attributes = attributes_of(definition)
    if attributes.type != "*DDM" and not maximum_entries(attributes):
        return ("CPF9518",) if attributes.size > 0 else ("CPF9517",)
    return None


def create_queue(
    system: SystemCore, library: Library, definition: Dtaq, owner: str, job: JobData | None = None
) -> DataQueue:
    """Create the data queue in a library where its name is free."""
    public, listed = public_authority(definition, library)
    created = system.objects.add(
        library,
        lambda number: DataQueue(
            number, definition.name, library.name, owner, public=public, autl=listed, text=definition.text,
            attributes=attributes_of(definition), autorcl=definition.autorcl == "*YES",
        ),
    )  # fmt: skip
    if system.recorder is not None:  # the state takes longer than the note
        system.note("CRTDTAQ", job, created, **system.objects.state_of(created).keywords())
    return created
