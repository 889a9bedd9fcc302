"""The owner of a store, and the process that has it open.

A region and an IBM i system keep different data in a store, and must not discard each other's data.
"""

from __future__ import annotations

from pathlib import Path

from tdqsim.core.store import Store
from tdqsim.core.store._lockfile import LockFile
from tdqsim.errors import StoreError, StoreInUse

KEPT_BY = b"kept-by"
"""The key of the meta data that names the owner."""


def claim(store: Store, keeper: str, *, readonly: bool = False) -> None:
    """Record the owner of a store in a separate commit; ``Store.clear`` removes it unless it is among what it keeps.

    Args:
        store: an open store.
        keeper: the owner, such as ``a CICS region``; another owner's error message contains it.
        readonly: only check for another owner.

    Raises:
        StoreError: it has another owner; nothing is changed.
    """
    kept_by = store.durable.get_meta(KEPT_BY)
    if kept_by is None:
        if not readonly:
            store.durable.commit(meta={KEPT_BY: keeper.encode()})
    elif kept_by != keeper.encode():
        raise StoreError(f"{store.path}: this is the store of {kept_by.decode(errors='replace')}, not of {keeper}")


def holder(path: Path) -> int:
    """The id of the process that has the store in a directory open; 0 when there is none, or the id is not yet written.

    Raises:
        StoreError: the lock file exists and cannot be opened.
    """
    try:
        LockFile(path / "lock", mine=False).release()
    except StoreInUse as error:
        return error.pid
    except OSError as error:
        raise StoreError(f"{path / 'lock'}: it cannot be opened: {error.strerror}") from error
    return 0
