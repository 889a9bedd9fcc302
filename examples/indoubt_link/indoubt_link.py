"""Lose a link at the worst moment, inspect the locks, and resolve the unit of work in both ways.

Two regions share a unit of work: ORDERS writes an order to its own queue and a payment to a queue of BANK. The link is
lost after BANK has prepared and before it receives the decision: BANK is in doubt, and may neither commit nor back out.

Run it with ``python examples/indoubt_link/indoubt_link.py``.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tdqsim import Condition, Cvda, Region, Sysplex, define_connection, define_tdqueue

Say = Callable[[str], object]

ORDERS = [
    define_tdqueue(name="ORDQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="PAYQ", remotesystem="BANK"),
    define_connection(name="BANK"),
]
BANK = [
    # WAIT(YES) waits for ORDERS in doubt; WAITACTION(REJECT) refuses other requests meanwhile, instead of making
    # them wait. Both are the defaults of CICS.
    define_tdqueue(name="PAYQ", type="INTRA", recovstatus="LOGICAL", wait="YES", waitaction="REJECT"),
]


def start(sysplex: Sysplex, stores: Path) -> tuple[Region, Region]:
    """The two regions, each with a store, linked through the connection BANK."""
    orders = sysplex.region(ORDERS, applid="ORDERS", sysid="ORDS", store=stores / "orders", supplied_queues=False)
    bank = sysplex.region(BANK, applid="BANK", sysid="BANK", store=stores / "bank", supplied_queues=False)
    return orders, bank


def order(orders: Region, number: int) -> str:
    """Run a distributed unit of work; return the result of its syncpoint."""
    with orders.task() as task:
        task.writeq_td("ORDQ", task.encode(f"order {number}"))
        task.writeq_td("PAYQ", task.encode(f"payment for order {number}"))
        try:
            task.syncpoint()
        except Condition as condition:
            return condition.name
    return "committed"


def show(say: Say, orders: Region, bank: Region) -> None:
    """Show the queues, and the unit of work in doubt in BANK."""
    say(f"    ORDQ in ORDERS: {[orders.text(each) for each in orders.peek('ORDQ')]}")
    say(f"    PAYQ in BANK:   {[bank.text(each) for each in bank.peek('PAYQ')]}")
    for uow in bank.recovery.shunted.values():
        info = bank.inquire_uow(uow.id)
        states = [Cvda(value).name for value in (info.uowstate, info.waitstate, info.waitcause)]
        say(f"    in doubt: UOW {uow.id.hex().upper()}, {' '.join(states)}, link {info.link.strip()}")
        bank.inquire_uowenq_start(uow.id)
        enqueue = bank.inquire_uowenq_next()
        end = f"{enqueue.resource.strip()} {enqueue.qualifier.strip()}"
        say(f"    its lock: {Cvda(enqueue.type).name} {end}, {Cvda(enqueue.state).name}")
        bank.inquire_uowenq_end()


def try_to_pay(say: Say, bank: Region) -> None:
    """Another task in BANK tries to write to the queue."""
    try:
        bank.writeq_td("PAYQ", bank.encode("payment at the counter"))
    except Condition as condition:
        say(f"    another WRITEQ to PAYQ: {condition.name} (RESP {int(condition.resp)})")
    else:
        say("    another WRITEQ to PAYQ: NORMAL")


def lose_the_link(say: Say, stores: Path, step: str) -> tuple[Sysplex, Region, Region]:
    """Run the scenario to the worst moment."""
    sysplex = Sysplex()
    orders, bank = start(sysplex, stores)
    say(f"  the unit of work is {order(orders, 1)}; nothing is in doubt")
    sysplex.link(orders, bank).cut_at(step)
    say(f"  the link goes when {step} is sent: the next unit of work is {order(orders, 2)} for ORDERS")
    show(say, orders, bank)
    try_to_pay(say, bank)
    return sysplex, orders, bank


def resynchronise(say: Say, stores: Path, step: str) -> None:
    """The link returns; BANK learns the decision of ORDERS and follows it."""
    sysplex, orders, bank = lose_the_link(say, stores, step)
    say("  BANK fails and is started again: it is in doubt still")
    bank.close(clean=False)
    bank = Region(
        applid="BANK", sysid="BANK", store=stores / "bank", dispatcher=sysplex.dispatcher, supplied_queues=False
    )
    try_to_pay(say, bank)
    say("  the link comes back")
    sysplex.add(bank)
    show(say, orders, bank)
    try_to_pay(say, bank)
    sysplex.close()


def decide_by_hand(say: Say, stores: Path) -> None:
    """An operator decides wrongly: the queue is free, and the damage is reported when the link returns."""
    sysplex, orders, bank = lose_the_link(say, stores, "COMMIT")
    (uow,) = bank.recovery.shunted.values()
    say("  SET UOW UOWSTATE(BACKOUT) in BANK, without asking ORDERS")
    bank.set_uow(uow.id, uowstate="BACKOUT")
    show(say, orders, bank)
    try_to_pay(say, bank)
    say("  the link comes back")
    sysplex.link(orders, bank).restore()
    for damage in bank.recovery.damage:
        say(f"    damage: BANK did {damage.here}, ORDERS had decided {damage.coordinator}")
    sysplex.close()


def main(say: Say = print) -> int:
    """Run the example."""
    with tempfile.TemporaryDirectory(prefix="indoubt-") as directory:
        stores = Path(directory)
        say("Resynchronisation after a decision to commit")
        resynchronise(say, stores / "1", "COMMIT")
        say("Resynchronisation after a decision to back out")
        resynchronise(say, stores / "2", "VOTE")
        say("A decision by hand")
        decide_by_hand(say, stores / "3")
    return 0


if __name__ == "__main__":
    sys.exit(main())
