"""The resources installed in a region, as definitions that another region can be started with.

Each definition is the one that was installed, except that a queue's trigger attributes have their present values, which
SET may have changed. Handlers, DD cards and records are not definitions and are not included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.cics.model.queue import TRIGGER, IntraTdQueue, TdQueue
from tdqsim.definitions import Definitions, supplied_definitions

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData
    from tdqsim.definitions import IntraQueue, Tdqueue


def definition_now(queue: TdQueue) -> Tdqueue:
    """The definition of a queue, with the changes made by SET TDQUEUE since it was installed."""
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
    """The present queues, transactions and connections of a region, in the order of installation.

    Not included are supplied queues that are unchanged, and transactions for which only a handler was registered.
    """
    given = {each.name: each for each in supplied_definitions().tdqueues}
    now = [definition_now(queue) for queue in region.tdqueues.values()]
    queues = [each for each in now if given.get(each.name) != each]
    transactions = [entry.definition for entry in region.transactions.values() if entry.defined]
    return Definitions.of([*queues, *transactions, *region.connections.values()])
