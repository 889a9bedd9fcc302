"""What is installed in a region now, as definitions: those that another region could be started with.

A definition has what a resource was installed with; SET may have changed a queue's trigger since, and the trigger given
here is the present one. Handlers, DD cards and records are not definitions, and are not given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.cics.model.queue import TRIGGER, IntraTdQueue, TdQueue
from tdqsim.definitions import Definitions, supplied_definitions

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData
    from tdqsim.definitions import IntraQueue, Tdqueue

__all__ = ["definition_now", "installed"]


def definition_now(queue: TdQueue) -> Tdqueue:
    """The definition of a queue, with what SET TDQUEUE has changed since it was installed."""
    if not isinstance(queue, IntraTdQueue):
        return queue.definition
    definition: IntraQueue = queue.definition
    with_file = queue.atifacility == "FILE"
    stands = {name: getattr(queue, name) for name in TRIGGER if name != "triggerlevel"}
    stands["facilityid"] = "" if with_file or queue.facilityid == queue.name else queue.facilityid
    stands["userid"] = queue.userid if with_file else ""
    changed = {name: value for name, value in stands.items() if value != getattr(definition, name)}
    now = definition.model_copy(update=changed) if changed else definition
    return now if now.level == queue.triggerlevel else now.model_copy(update={"triggerlevel": queue.triggerlevel})


def installed(region: RegionData) -> Definitions:
    """The queues, transactions and connections of a region as they stand, in the order in which they were installed.

    Supplied queues that are as every region has them are not among them, nor are transactions that a handler was
    registered for without a definition of their own.
    """
    given = {each.name: each for each in supplied_definitions().tdqueues}
    now = [definition_now(queue) for queue in region.tdqueues.values()]
    queues = [each for each in now if given.get(each.name) != each]
    transactions = [entry.definition for entry in region.transactions.values() if entry.defined]
    return Definitions.of([*queues, *transactions, *region.connections.values()])
