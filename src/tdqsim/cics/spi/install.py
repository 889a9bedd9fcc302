"""Installing definitions in a region, and the rules for replacing an installed queue.

A newly installed queue is ENABLED. An installed queue is replaced only by one of the same TYPE, and only while it is
disabled (intrapartition) or disabled and closed (extrapartition); otherwise the install is refused and the old queue
remains. A group that is installed by a command is installed completely or not at all. At a cold start each refused
queue is left out with a message and the others are installed. Sources: Installing transient data queue definitions;
DFHTD0403, DFHTD1278.

The supplied queues (group DFHDCTG) are installed first. A given definition of one of them replaces it, as if a site had
its own group in the group list instead.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from tdqsim.cics.kernel.abstime import abstime
from tdqsim.cics.kernel.limits import define_class
from tdqsim.cics.kernel.security import XUSER, Access
from tdqsim.cics.kernel.signature import InstallAgent, Installer, sign
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.queue import ExtraTdQueue, IntraTdQueue, TdQueue, latch_key
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.transaction import TransactionEntry
from tdqsim.cics.model.unit import READS, Meta
from tdqsim.cics.queues.creation import InstallRefused, Moves, check_room, make_queue, open_initially
from tdqsim.core.changes import KeptChange, carry_out
from tdqsim.core.collection import nothing_collected
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim import definitions as defs

_INVALID_USER: Final = "DFHTD1278"


def install(
    region: RegionData,
    definitions: defs.Definitions,
    *,
    agent: InstallAgent,
    user: str,
    refused: list[InstallRefused] | None = None,
) -> None:
    """Install all definitions of resource types that a region simulates; others are ignored.

    Args:
        region: the region.
        definitions: what to install.
        agent: what installs them.
        user: who installs it.
        refused: receives the refusals of resources that cannot be installed; the others are installed.

    Raises:
        InstallRefused: a queue, file, terminal or connection cannot be installed; none of the definitions was
            installed.
    """
    by = installer(region, user)
    if agent == "GRPLIST":
        by = by._replace(now=by.start)  # all of a group list has the time of the cold start
    resources = definitions.resources
    plan = InstallPlan(region, agent, by)
    with nothing_collected():
        plan.commit(resources, refused)
    for note in definitions.notes:
        region.log.info("without_effect", note=str(note))
    if plan.facilities:
        region.terminal_control.refresh(plan.facilities)


class InstallPlan(KeptChange):
    """An installation of several resources in three steps: plan, commit to the store, finish in the region.

    Attributes:
        facilities: the kinds and names of the terminals and connections.
    """

    def __init__(self, region: RegionData, agent: InstallAgent, by: Installer) -> None:
        self._region, self._agent, self._by = region, agent, by
        self.facilities: set[tuple[str, str]] = set()
        self._moves = Moves(region)
        self._queues: list[tuple[TdQueue, TdQueue | None]] = []
        self._others: list[Callable[[], object]] = []
        self._meta: Meta = {}

    # -- plan -----------------------------------------------------------------------------------------------------

    def commit(self, resources: Iterable[defs.Resource], skipped: list[InstallRefused] | None = None) -> None:
        """Plan the installation of all resources, commit it, and finish it.

        Args:
            resources: what to install.
            skipped: receives the refusals of resources that cannot be installed; the others are installed.

        Raises:
            InstallRefused: a resource cannot be installed, and this is not a cold start; nothing was installed.
        """
        queues: list[defs.Tdqueue] = []
        held = 0  # total bytes that move to the durable store
        for resource in resources:
            kind = resource.kind
            try:
                if kind == "TDQUEUE":
                    queue = cast("defs.Tdqueue", resource)
                    held += check_tdqueue(self._region, queue, self._by.user, held)
                    queues.append(queue)
                else:
                    self._plan_other(resource)
            except InstallRefused as refused:
                if skipped is not None:
                    skipped.append(refused)
                    continue
                if self._agent != "GRPLIST":
                    raise
                self._region.notices.say("not_installed", reason=str(refused), resource=f"{kind}({refused.queue})")
        try:
            for queue in queues:
                self._make(queue)
            carry_out(self._region.committer, self, self._meta, self._moves.works)
        except BaseException:
            if not self.made:
                self.forget()
            raise

    def _make(self, definition: defs.Tdqueue) -> None:
        """Create a queue; InstallRefused if the records of the queue that it replaces cannot be moved."""
        region = self._region
        present = region.tdqueues.get(definition.name)
        signature = sign(self._agent, definition, self._by)
        queue = make_queue(region, definition, definition.type_in(region.sysid), signature, self._moves)
        self._queues.append((queue, present))
        self._meta.update(region.catalogue.queue_entry(queue))
        if isinstance(present, IntraTdQueue) and present.recovstatus != "NO":
            self._meta[latch_key(present)] = None

    def _plan_other(self, resource: defs.Resource) -> None:
        """Plan a resource that is not a queue; types that a region does not simulate are skipped."""
        match resource.kind:
            case "CONNECTION":
                self._connection(cast("defs.Connection", resource))
            case "TERMINAL":
                self._terminal(cast("defs.Terminal", resource))
            case "FILE":
                self._file(cast("defs.File", resource))
            case "PROGRAM":
                program, programs = cast("defs.ProgramDefinition", resource), self._region.programs
                self._keep(program, programs.definitions, partial(programs.install, program))
            case "TSMODEL":
                model = cast("defs.Tsmodel", resource)
                self._keep(model, (model.name,), partial(self._region.ts.install, model))
            case "TRANCLASS":
                self._keep_class(cast("defs.Tranclass", resource))
            case "TRANSACTION":
                region, transaction = self._region, cast("defs.Transaction", resource)
                self._keep(transaction, region.transactions, partial(define_transaction, region, transaction))

    def _keep(self, resource: defs.Resource, installed: Container[str], put_in: Callable[[], object]) -> None:
        """Plan a resource that is not a queue: its entry in the catalogue, and the function that installs it."""
        self._meta.update(self._region.catalogue.entry(resource, replaces=resource.resource_name in installed))
        self._others.append(put_in)

    def _keep_class(self, definition: defs.Tranclass) -> None:
        limits = self._region.limits
        installed = () if limits is None else limits.classes
        self._keep(definition, installed, partial(define_class, self._region, definition))

    def _connection(self, connection: defs.Connection) -> None:
        region = self._region
        self.facilities.add(("SYSTEM", connection.name))
        known = region.connections
        self._keep(connection, known, partial(known.__setitem__, connection.name, connection))

    def _terminal(self, terminal: defs.Terminal) -> None:
        region = self._region
        _check_user(region, terminal, self._by.user)
        self.facilities.add(("TERMINAL", terminal.name))
        known = region.terminals
        self._keep(terminal, known, partial(known.__setitem__, terminal.name, terminal))
        self._others.append(partial(region.terminal_control.get, "TERMINAL", terminal.name))

    def _file(self, file: defs.File) -> None:
        files = self._region.files
        present = files.known.get(file.name)
        if present is not None and present.enablestatus == "ENABLED":
            why = "a file of that name is installed and ENABLED; it must be CLOSED or DISABLED"
            raise InstallRefused(file.name, why, kind="FILE")
        self._keep(file, files.known, partial(files.install, file))

    # -- commit and finish ----------------------------------------------------------------------------------------

    def committed(self) -> None:
        """See the base class."""
        self.made = True
        for put_in in self._others:
            put_in()
        for queue, _ in self._queues:
            self._region.directory.put_in(queue)

    def finish(self) -> None:
        """See the base class."""
        region = self._region
        if self._moves.left:
            self._moves.made()
        for queue, present in self._queues:
            if isinstance(present, IntraTdQueue):
                region.ati.gone(present)
                region.intra.close_queue(present)
            if isinstance(queue, IntraTdQueue):
                if queue.bounds:
                    region.intra.close_queue(queue)
                region.intra.open_queue(queue)
                region.ati.arm(queue)
            region.directory.show(queue)
            if isinstance(queue, ExtraTdQueue):
                open_initially(region, queue)

    def forget(self) -> None:
        """See the base class."""
        self._moves.forget()


def _check_user(region: RegionData, terminal: defs.Terminal, user: str) -> None:
    """Refuse a terminal whose user id is not valid."""
    if not _may_name(region, user, terminal.userid):
        reason = f"user ID {terminal.userid} is not valid or may not be used"
        raise InstallRefused(terminal.name, reason, kind="TERMINAL")


def _may_name(region: RegionData, user: str, userid: str) -> bool:
    if not userid:
        return True
    security = region.security
    if security is None:
        return True
    return security.knows_user(userid) and (
        userid == user or security.permits(user, XUSER, f"{userid}.DFHINSTL", Access.READ)
    )


def define_transaction(region: RegionData, definition: defs.Transaction) -> None:
    """Install a transaction; its registered handler, if any, remains."""
    name = definition.name
    entry = region.transactions.get(name) or region.discarded.pop(name, None)
    if entry is None:
        region.transactions[name] = TransactionEntry(definition, region.programs)
    else:
        entry.define(definition)
        region.transactions[name] = entry
        region.notices.over(f"TRANSACTION({definition.name})")


def installer(region: RegionData, user: str, program: str = "") -> Installer:
    """The user, program and time of an installation, for the signature."""
    now = abstime(region.clock.time_ns(), region.zone)
    return Installer(now, region.cold_start_abstime, user, region.options.regionuserid, region.options.release, program)


def install_tdqueue(task: TaskBase, definition: defs.Tdqueue, *, agent: InstallAgent) -> bool:
    """Install or replace one queue.

    Returns:
        Whether a queue of that name was replaced.

    Raises:
        InstallRefused: the installed queue is in use, or the user ID is not valid; nothing has changed.
    """
    region = task._region
    replaced = definition.name in region.tdqueues
    InstallPlan(region, agent, installer(region, task.userid, task._program)).commit([definition])
    _log(task, "DFHTD0403" if replaced else "DFHTD0402", definition.name)
    return replaced


def check_tdqueue(region: RegionData, definition: defs.Tdqueue, user: str, held: int) -> int:
    """Check that a queue can be installed.

    Args:
        region: the region.
        definition: the definition of the queue.
        user: the user who installs it.
        held: the bytes needed by records of other queues of the same installation that move to the durable store.

    Returns:
        The bytes that its own records need if they move to the durable store; 0 if they do not move.

    Raises:
        InstallRefused: the queue cannot be installed.
    """
    refused = why_not_installed(region, definition, user)
    if refused is not None:
        if refused.message:
            region.messages.write(refused.message, queue=definition.name, userid=getattr(definition, "userid", ""))
        raise refused
    present = region.tdqueues.get(definition.name)
    if isinstance(present, IntraTdQueue):
        return check_room(region, cast("defs.IntraQueue", definition), present, held)
    return 0


def why_not_installed(region: RegionData, definition: defs.Tdqueue, user: str) -> InstallRefused | None:
    """The refusal with which a queue is not installed; None if it can be installed as far as there is room."""
    present = region.tdqueues.get(definition.name)
    if present is not None:
        reason = why_no_replace(present, definition.type_in(region.sysid))
        if reason:
            return InstallRefused(definition.name, reason)
    userid = definition.__dict__.get("userid", "")  # pydantic searches long for an attribute that a type has not
    if not _may_name(region, user, userid):
        return InstallRefused(definition.name, f"user ID {userid} is not valid or may not be used", _INVALID_USER)
    jobuserid = definition.__dict__.get("jobuserid", "")
    if not _may_name(region, user, jobuserid):
        return InstallRefused(definition.name, f"JOBUSERID {jobuserid} is not valid or may not be used")
    return None


def why_no_replace(queue: TdQueue, new_type: str) -> str:
    """The reason why an installed queue cannot be replaced by one of the given type; empty if it can."""
    if queue.type != new_type:
        return f"a queue of that name is installed and has another type, {queue.type}"
    if isinstance(queue, IntraTdQueue | ExtraTdQueue) and queue.enablestatus is not Cvda.DISABLED:
        return f"a queue of that name is installed and {queue.enablestatus.name}; it must be DISABLED"
    if isinstance(queue, ExtraTdQueue) and queue.openstatus is not Cvda.CLOSED:
        return f"a queue of that name is installed and {queue.openstatus.name}; it must be CLOSED"
    return ""


class _TransactionRemoval(KeptChange):
    """The removal of a discarded transaction."""

    def __init__(self, region: RegionData, name: str) -> None:
        self._region, self._name = region, name

    def committed(self) -> None:
        """See the base class."""
        self.made = True
        entry = self._region.transactions.pop(self._name, None)
        if entry is not None:
            self._region.discarded[self._name] = entry

    def finish(self) -> None:
        """See the base class."""
        self._region.notices.over(f"TRANSACTION({self._name})")


def remove_transaction(region: RegionData, name: str) -> None:
    """Remove a transaction and its catalogue entry; the caller has checked that it may be discarded."""
    carry_out(region.committer, _TransactionRemoval(region, name), region.catalogue.no_entry("TRANSACTION", name))


class _Removal(KeptChange):
    """The removal of a discarded queue with its records."""

    def __init__(self, region: RegionData, queue: TdQueue) -> None:
        self._region, self._queue = region, queue
        self._counted = region.statistics.of_discarded(queue)
        self.moves = Moves(region)

    def committed(self) -> None:
        """See the base class."""
        self.made = True
        self._region.directory.take_out(self._queue)

    def finish(self) -> None:
        """See the base class."""
        region, queue = self._region, self._queue
        region.statistics.written(self._counted)
        if isinstance(queue, IntraTdQueue):
            region.ati.gone(queue)
            region.intra.close_queue(queue)
        self.moves.made()
        region.directory.refresh(queue)


def remove_tdqueue(task: TaskBase, queue: TdQueue) -> None:
    """Remove a queue, its records and its catalogue entry; the caller has checked that it may be discarded."""
    region = task._region
    change = _Removal(region, queue)
    meta: Meta = region.catalogue.no_entry("TDQUEUE", queue.name)
    if isinstance(queue, IntraTdQueue):
        if queue.recovstatus == "NO":
            change.moves.leave(queue.volatile)
        else:
            change.moves.drop(queue.durable)
            meta |= {key: None for key, _ in region.committer.metas(READS + queue.name.encode() + b"/")}
    carry_out(region.committer, change, meta, change.moves.works)
    _log(task, "DFHTD0401", queue.name)


def _log(task: TaskBase, message: str, name: str) -> None:
    """Write a message to the audit log: which terminal, user and transaction changed a queue's definition."""
    termid = "" if task._facility is None else task._facility.name
    task._region.messages.write(message, termid=termid, userid=task.userid, transid=task.transid, queue=name)
