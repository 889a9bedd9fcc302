"""The state record of an environment, written by every commit."""

from __future__ import annotations

from struct import Struct
from typing import Final

from tdqsim.core.store._entry import STATE_KEY, seal, unseal
from tdqsim.errors import StoreDamaged

__all__ = ["State", "pair_problem"]

_STATE: Final = Struct(">HB16sQQQB")


class State:
    """The state record: which environment this is, and what its last commit was.

    Attributes:
        format: version of the layout.
        kind: ``V`` or ``D``, as a number.
        store_id: the same 16 bytes in both environments of a store.
        next_number: the next internal number of a queue.
        txnid: LMDB's number of the commit that wrote the record; an older number in the tree means an older tree.
        partner: the other environment's last commit, written at a clean close; 0 otherwise.
        clean: whether the environment was closed cleanly.
        journal: whether commits may be in the journal that came after the one that wrote the record.
        synced: whether the journal was synced with each of them.
    """

    __slots__ = ("clean", "format", "journal", "kind", "next_number", "partner", "store_id", "synced", "txnid")

    def __init__(self, format_: int, kind: int, store_id: bytes, next_number: int) -> None:
        self.format = format_
        self.kind = kind
        self.store_id = store_id
        self.next_number = next_number
        self.txnid = 0
        self.partner = 0
        self.clean = False
        self.journal = False
        self.synced = False

    def pack(self) -> bytes:
        """The record as stored."""
        flags = self.clean | self.journal << 1 | self.synced << 2
        body = _STATE.pack(self.format, self.kind, self.store_id, self.next_number, self.txnid, self.partner, flags)
        return seal(STATE_KEY, body)

    @classmethod
    def unpack(cls, value: bytes, place: str) -> State:
        """The record read back; StoreDamaged when it is not one. A newer format need only keep the first field."""
        body = unseal(STATE_KEY, value, f"{place}: the state record")
        if len(body) < _STATE.size:
            raise StoreDamaged(f"{place}: the state record is too short")
        format_, kind, store_id, number, txnid, partner, flags = _STATE.unpack_from(body)
        state = cls(format_, kind, store_id, number)
        state.txnid, state.partner = txnid, partner
        state.clean, state.journal, state.synced = bool(flags & 1), bool(flags & 2), bool(flags & 4)
        return state


def pair_problem(volatile: State, durable: State) -> str:
    """Why the two halves of a store are not one; empty when they are."""
    if volatile.store_id != durable.store_id:
        return "the volatile and the durable files belong to different stores"
    if durable.clean and durable.partner != volatile.txnid:
        return "the volatile and the durable files were not closed together: one is older than the other"
    return ""
