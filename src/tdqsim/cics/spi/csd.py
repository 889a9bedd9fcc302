"""The CSD of a region: definitions in groups, and lists of groups, kept in the region's store.

A CSD is a data set of its own, so every start keeps it, a cold or initial start too. A definition in it is not
installed: INSTALL brings it into the region, and a cold start installs the lists that the region names (GRPLIST). Each
record of the store is one definition (``csd/definition/GROUP/TYPE/NAME``), one list (``csd/list/NAME``) or one lock
(``csd/lock/NAME``). Every command is one commit: it happened or it did not, also if the process is killed.

A group exists as long as it has a definition, a list as long as it has a group. Groups and lists share their names: one
cannot be called as the other. Names that begin with DFH belong to IBM, and are never changed: the group DFHDCTG, the
supplied queues, and the list DFHLIST that has it, are shown but are not in the store.

Each definition carries its signature, which the CSD itself writes: DEFINETIME by DEFINE, COPY and RENAME; CHANGETIME,
CHANGEUSRID, CHANGEAGENT and CHANGEAGREL by these and by ALTER. Sources: CSD commands (IBM Docs); Summary of the
resource signature field values; The resource definition batch utility DFHCSDUP.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, tzinfo
from fnmatch import translate
from typing import TYPE_CHECKING, Any, Final, Literal

from tdqsim.cics.kernel.abstime import abstime, local_time
from tdqsim.cics.kernel.authority import report_violation
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.security import XCMD, Access
from tdqsim.cics.model.entries import CSD, as_json, fields_of, read_entry, resource_of
from tdqsim.cics.queues.creation import InstallRefused
from tdqsim.cics.region_arguments import as_definitions, supplied
from tdqsim.cics.spi.install import install
from tdqsim.cics.spi.requests import refusal
from tdqsim.core.named import NamedTuple
from tdqsim.errors import DefinitionError, Problem, StoreFull, UsageError
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.model.region import RegionData
    from tdqsim.cics.model.unit import Meta
    from tdqsim.core.clock import Clock
    from tdqsim.core.store import Store

Agent = Literal["CSDAPI", "CSDBATCH", "DREPAPI"]
"""The change agents of a CSD: CEDA and EXEC CICS CSD, DFHCSDUP, and CICSPlex SM."""
Duplicates = Literal["DUPERROR", "DUPREPLACE", "DUPNOREPLACE"]
"""What COPY does with definitions that the other group has already: fail, replace them, or leave them."""

_DEFINITIONS: Final = CSD + b"definition/"
_LISTS: Final = CSD + b"list/"
_LOCKS: Final = CSD + b"lock/"
_IBM: Final = "DFH"
_SUPPLIED_LIST: Final = "DFHLIST"
_IN_GROUPS_ONLY: Final = frozenset({"CONNECTION", "SESSIONS"})
_SIGNATURE: Final = ("definetime", "changetime", "changeusrid", "changeagent", "changeagrel")


class InstallIncomplete(Condition):
    """Definitions of the CSD were not installed: INCOMPLETE for a group or list, INVREQ for a single resource.

    The other resources of the group or list are installed.

    Attributes:
        refused: the resources that were not installed, each with the reason.
    """

    refused: tuple[InstallRefused, ...] = ()


class CsdHome(NamedTuple):
    """What a CSD needs around it: the store, and of the region what it asks.

    Attributes:
        store: the store with its records.
        commit: makes changes of the store's meta data, all or none.
        now: the local time.
        release: the release that changes definitions, CHANGEAGREL.
        dfltuser: the user of commands without another one.
        region: the region, for INSTALL and security; None for a store without a running region.
        check: refuses a call from another thread, and one after the end; called with the name of the call.
    """

    store: Store
    commit: Callable[[Meta], None]
    now: Callable[[], datetime]
    release: str
    dfltuser: str
    region: RegionData | None = None
    check: Callable[[str], None] = lambda _what: None

    def user_for(self, user: str) -> str:
        """A user, or the default user; UsageError if the security policy does not know the user."""
        return user or self.dfltuser if self.region is None else self.region.task_manager.user_for(user)


def csd_of(region: RegionData, check: Callable[[str], None]) -> Csd:
    """The CSD of a region; ``check`` refuses a call that is not possible now."""
    return Csd(
        CsdHome(
            region.store, lambda meta: region.committer.commit(meta=meta),
            lambda: local_time(abstime(region.clock.time_ns(), region.zone)),
            region.options.release, region.options.dfltuser, region, check,
        )
    )  # fmt: skip


def csd_in(store: Store, clock: Clock, zone: tzinfo, *, release: str, dfltuser: str) -> Csd:
    """The CSD in a store without a region, as DFHCSDUP uses it before the region's first start.

    Args:
        store: an open store, which the caller closes.
        clock: the clock of the signatures.
        zone: the time zone of the region.
        release: the release of the region.
        dfltuser: the user of commands without another one.
    """
    return Csd(
        CsdHome(
            store, lambda meta: store.durable.commit(meta=meta), lambda: local_time(abstime(clock.time_ns(), zone)),
            release, dfltuser,
        )
    )  # fmt: skip


class Csd:
    """The CSD of a region, ``region.csd``; each method is a command of EXEC CICS CSD, CEDA and DFHCSDUP.

    Names of types and keywords may be in lower case. ``group`` is required by name::

        region.csd.define("TDQUEUE", "PAYQ", group="PAY", type="INTRA", triggerlevel=5, transid="PAYP")
        region.csd.alter("TDQUEUE", "PAYQ", group="PAY", triggerlevel=10)
        region.csd.add(group="PAY", grplist="PAYLIST")
        region.csd.install(group="PAY")

    Attributes:
        user: who issues the commands: CHANGEUSRID and INSTALLUSRID.
        agent: the CHANGEAGENT of what they change.
        handlers: whether a TRANSACTION may name a Python function by ``handler``.
    """

    __slots__ = ("_home", "_owner", "agent", "handlers", "user")

    def __init__(self, home: CsdHome) -> None:
        self._home = home
        self._owner = True
        self.user = home.dfltuser
        self.agent: Agent = "CSDAPI"
        self.handlers = True

    def by(self, user: str, *, agent: Agent = "CSDAPI", handlers: bool = False) -> Csd:
        """The same CSD for another user, whose commands the security policy checks (CCICSCMD, CSD).

        Args:
            user: the user; the default user when empty.
            agent: the CHANGEAGENT: CSDAPI, CSDBATCH or DREPAPI.
            handlers: whether this user may name Python code by ``handler`` of a TRANSACTION.

        Raises:
            UsageError: the id is not one of CICS, or the security policy does not know the user.
        """
        from tdqsim.definitions import is_user_id  # pydantic is imported with the first definition

        self._home.check("csd")
        if user and not is_user_id(user):
            raise UsageError(f"user {user!r:.40}: must be 1 to 8 characters (A-Z 0-9 @ # $, upper case only)")
        view = Csd(self._home)
        view.user = self._home.user_for(user)
        view.agent, view.handlers, view._owner = agent, handlers, False
        return view

    # -- read -----------------------------------------------------------------------------------------------------

    def groups(self) -> list[str]:
        """The names of the groups, in alphabetic order; reads the keys of all definitions."""
        self._allow("INQUIRE", Access.READ)
        found = {key[len(_DEFINITIONS) :].split(b"/", 1)[0].decode() for key, _ in self._metas(_DEFINITIONS)}
        return sorted(found | set(supplied().groups))

    def lists(self) -> dict[str, tuple[str, ...]]:
        """The lists with their groups in order."""
        self._allow("INQUIRE", Access.READ)
        found = {key[len(_LISTS) :].decode(): self._groups_in(key, value) for key, value in self._metas(_LISTS)}
        return dict(sorted((found | {_SUPPLIED_LIST: supplied().groups}).items()))

    def locks(self) -> dict[str, str]:
        """The groups and lists that are locked, with the user of each."""
        self._allow("INQUIRE", Access.READ)
        return {key[len(_LOCKS) :].decode(): value.decode() for key, value in self._metas(_LOCKS)}

    def definitions(self, kind: str = "", name: str = "*", *, group: str = "*") -> Iterator[defs.Resource]:
        """The definitions by group, type and name, each with its signature; one after another from the store.

        Args:
            kind: the resource type; empty for all.
            name, group: names, or generic ones: ``*`` stands for any characters, ``+`` for one.
        """
        self._allow("INQUIRE", Access.READ)
        kind = kind.upper()
        names, groups = generic_name(name), generic_name(group)
        start = re.split(r"[*+]", group, maxsplit=1)[0].encode()
        begin = _DEFINITIONS + (start if len(start) < len(group) else start + b"/")
        for key, value in self._metas(begin):
            of_group, of_kind, of_name = _parts(key)
            if (not kind or kind == of_kind) and groups.fullmatch(of_group) and names.fullmatch(of_name):
                yield self._read(key, value)
        for queue in supplied().tdqueues:
            if kind in ("", "TDQUEUE") and groups.fullmatch(queue.group) and names.fullmatch(queue.name):
                yield queue

    def get(self, kind: str, name: str, *, group: str) -> defs.Resource | None:
        """One definition, or None."""
        self._allow("INQUIRE", Access.READ)
        return self._found(kind.upper(), name, group)

    # -- definitions ----------------------------------------------------------------------------------------------

    def define(self, kind: str, name: str, *, group: str, **attributes: Any) -> defs.Resource:
        """Create a definition in a group; the first one creates the group.

        Args:
            kind: the resource type, such as ``TDQUEUE``.
            name: its name.
            group: the group.
            attributes: its other attributes, in lower case, as in ``define_tdqueue``.

        Returns:
            The definition with its signature.

        Raises:
            Condition: DUPRES: the group has it, or the name of the group is that of a list. LOCKED 1: another user has
                locked the group; 2: it is IBM's. NOTAUTH: the user may not use the command. INVREQ: a name is wrong.
                CSDERR: the region is read-only.
            DefinitionError: an attribute is wrong; all are listed.
        """
        kind, key = self._change("DEFINE", kind, name, group)
        if self._meta(key) is not None:
            raise self._refused("already defined", f"group {group} has a {kind}({name}) already", "DEFINE", group)
        self._not_a_list(group, "DEFINE")
        made = self._made(kind, group, {**self._taken(kind, name, attributes), "name": name}, self._signed())
        self._commit({key: _record(made)})
        return made

    def alter(self, kind: str, name: str, *, group: str, **attributes: Any) -> defs.Resource:
        """Change attributes of a definition; an empty value or None gives an attribute its default.

        Returns:
            The changed definition.

        Raises:
            Condition: NOTFND: there is no such definition; otherwise as :meth:`define`.
            DefinitionError: an attribute is wrong; all are listed, and nothing is changed.
        """
        kind, key = self._change("ALTER", kind, name, group)
        old = self._present("ALTER", kind, name, group)
        values = {**_attributes(old), **self._taken(kind, name, attributes)}
        made = self._made(kind, group, values, self._signed(old))
        self._commit({key: _record(made)})
        return made

    def delete(self, kind: str = "", name: str = "", *, group: str, remove: bool = False) -> None:
        """Delete a definition, or a group with all its definitions if no type is given.

        Args:
            kind, name: the definition.
            group: the group.
            remove: also remove the group, if it has no more definitions, from all lists.

        Raises:
            Condition: NOTFND; otherwise as :meth:`define`.
        """
        changes: dict[bytes, bytes | None] = {}
        if kind:
            kind, key = self._change("DELETE", kind, name, group)
            self._present("DELETE", kind, name, group)
            changes[key] = None
            alone = all(other == key for other, _ in self._some(group, 2))
        else:
            self._may_change("DELETE", group)
            changes = {key: None for key, _ in self._metas(_prefix(group))}
            alone = True
            if not changes:
                raise self._refused("no group", f"there is no group {group}", "DELETE", group)
        if remove and alone:
            for key, value in self._metas(_LISTS):
                groups = self._groups_in(key, value)
                if group in groups:
                    self._may_change("DELETE", key[len(_LISTS) :].decode(), of="list")
                    changes[key] = _list(each for each in groups if each != group)
        self._commit(changes)

    def copy(
        self,
        kind: str = "",
        name: str = "",
        *,
        group: str,
        to: str = "",
        as_: str = "",
        duplicates: Duplicates = "DUPERROR",
    ) -> int:
        """Copy a definition to another group, or under another name; or all definitions of a group.

        Args:
            kind, name: the definition; all of the group if no type is given.
            group: its group.
            to: the other group, by default the same one.
            as_: the new name of a single definition.
            duplicates: what to do with definitions that the other group has: DUPERROR copies nothing.

        Returns:
            How many definitions were copied.

        Raises:
            Condition: NOTFND; DUPRES; otherwise as :meth:`define`.
        """
        to = to or group
        self._may_change("COPY", to)
        self._name("COPY", "group", group)
        if kind:
            sources: Iterable[defs.Resource] = (self._present("COPY", self._kind("COPY", kind), name, group),)
        else:
            sources = list(self.definitions(group=group))
            if not sources:
                raise self._refused("no group", f"there is no group {group}", "COPY", group)
        self._not_a_list(to, "COPY")
        changes: dict[bytes, bytes | None] = {}
        for source in sources:
            restype = _kind_of(source)
            key = _key(to, restype, as_ or source.resource_name)
            if self._meta(key) is not None and duplicates != "DUPREPLACE":
                if duplicates == "DUPERROR":
                    title = f"{restype}({as_ or source.resource_name})"
                    raise self._refused("already defined", f"group {to} has a {title} already", "COPY", to)
                continue
            changes[key] = _record(self._copied(source, to, as_))
        self._commit(changes)
        return len(changes)

    def rename(self, kind: str, name: str, *, group: str, to: str = "", as_: str = "") -> None:
        """Move a definition to another group, or give it another name, or both.

        Raises:
            Condition: NOTFND; DUPRES; otherwise as :meth:`define`.
        """
        kind, key = self._change("RENAME", kind, name, group)
        source = self._present("RENAME", kind, name, group)
        self._may_change("RENAME", to or group)
        self._not_a_list(to or group, "RENAME")
        new = _key(to or group, kind, as_ or name)
        if self._meta(new) is not None:
            title = f"{kind}({as_ or name})"
            raise self._refused("already defined", f"group {to or group} has a {title} already", "RENAME", group)
        self._commit({key: None, new: _record(self._copied(source, to or group, as_))})

    def load(self, definitions: defs.Definitions | Iterable[defs.Resource]) -> int:
        """Take over definitions, all in one commit; those that the CSD has already are replaced.

        A definition keeps the signature that it states, as one from the listing of a real CSD; the CSD fills in the
        rest.

        Returns:
            How many were taken.

        Raises:
            Condition: LOCKED, NOTAUTH, DUPRES, CSDERR as :meth:`define`. INVREQ: a definition has no group.
        """
        changes: dict[bytes, bytes | None] = {}
        checked: set[str] = set()
        signature = self._signed()
        for each in (entry.resource for entry in as_definitions(definitions).entries):
            if each.kind == "DTAQ":
                continue
            if each.group not in checked:
                self._may_change("DEFINE", each.group)
                self._not_a_list(each.group, "DEFINE")
                checked.add(each.group)
            self._check_handler(each.title, getattr(each, "handler", ""))
            mine = {name: value for name, value in signature.items() if not getattr(each, name)}
            changes[_key(each.group, _kind_of(each), each.resource_name)] = _record(each.model_copy(update=mine))
        self._allow("DEFINE", Access.UPDATE)
        self._commit(changes)
        return len(changes)

    # -- lists ----------------------------------------------------------------------------------------------------

    def add(self, *, group: str, grplist: str, before: str = "", after: str = "") -> bool:
        """Add a group to a list, at its end or beside another group; the first one creates the list.

        The group need not exist.

        Returns:
            Whether the list is a new one.

        Raises:
            Condition: DUPRES: the list has the group (1), the group is the name of a list (2), or the list that of a
                group (3). NOTFND: ``before`` or ``after`` is not in the list. Otherwise as :meth:`define`.
        """
        groups = self._list_to_change("ADD", grplist)
        self._name("ADD", "group", group)
        if group in groups:
            raise self._refused("group already in list", f"list {grplist} has group {group} already", "ADD", grplist)
        self._not_a_list(group, "ADD")
        self._not_a_group(grplist, "ADD")
        place = len(groups)
        for beside, number in ((before, 0), (after, 1)):
            if beside:
                self._name("ADD", "before" if number == 0 else "after", beside)
                if beside not in groups:
                    raise self._refused("not in list", f"list {grplist} has no group {beside}", "ADD", grplist)
                place = groups.index(beside) + number
        groups.insert(place, group)
        self._commit({_LISTS + grplist.encode(): _list(groups)})
        return len(groups) == 1

    def remove(self, *, group: str, grplist: str) -> None:
        """Remove a group from a list; a list without groups is gone.

        Raises:
            Condition: NOTFND: there is no such list, or the group is not in it. Otherwise as :meth:`define`.
        """
        groups = self._list_to_change("REMOVE", grplist)
        if not groups:
            raise self._refused("no list", f"there is no list {grplist}", "REMOVE", grplist)
        if group not in groups:
            raise self._refused("not in list", f"list {grplist} has no group {group}", "REMOVE", grplist)
        groups.remove(group)
        self._commit({_LISTS + grplist.encode(): _list(groups)})

    def append(self, *, grplist: str, to: str) -> None:
        """Add the groups of a list that another list does not have to its end.

        Raises:
            Condition: NOTFND: there is no such list. Otherwise as :meth:`add`.
        """
        source = self.lists().get(grplist)
        groups = self._list_to_change("APPEND", to)
        if not source:
            raise self._refused("no list", f"there is no list {grplist}", "APPEND", grplist)
        self._not_a_group(to, "APPEND")
        self._commit({_LISTS + to.encode(): _list(dict.fromkeys((*groups, *source)))})

    def delete_list(self, grplist: str) -> None:
        """Delete a list; its groups stay.

        Raises:
            Condition: NOTFND: there is no such list. Otherwise as :meth:`define`.
        """
        if not self._list_to_change("DELETE", grplist):
            raise self._refused("no list", f"there is no list {grplist}", "DELETE", grplist)
        self._commit({_LISTS + grplist.encode(): None})

    # -- locks ----------------------------------------------------------------------------------------------------

    def lock(self, name: str) -> None:
        """Reserve a group or list, which need not exist, for this user: others may view and copy it.

        Raises:
            Condition: LOCKED: another user has it, or it is IBM's. Otherwise as :meth:`define`.
        """
        self._may_change("LOCK", name)
        self._commit({_LOCKS + name.encode(): self.user.encode()})

    def unlock(self, name: str) -> None:
        """Free a group or list that this user has locked.

        Raises:
            Condition: as :meth:`lock`.
        """
        self._may_change("UNLOCK", name)
        self._commit({_LOCKS + name.encode(): None})

    # -- install --------------------------------------------------------------------------------------------------

    def install(self, kind: str = "", name: str = "", *, group: str = "", grplist: str = "") -> int:
        """Install a definition, a group or a list in the running region.

        Of a group or list, what can be installed is; a resource in use, for example, is not replaced.

        Args:
            kind, name: a single definition; not of a CONNECTION.
            group: its group, or the group to install.
            grplist: the list to install.

        Returns:
            How many resources were installed; those of types that a region does not simulate do not count.

        Raises:
            InstallIncomplete: some were not installed (INCOMPLETE), or the single one was not (INVREQ).
            Condition: NOTFND; NOTAUTH; INVREQ: a name is wrong, or a CONNECTION is to be installed without its group.
        """
        self._allow("INSTALL", Access.UPDATE)
        chosen: tuple[defs.Resource, ...]
        if kind:
            kind = self._kind("INSTALL", kind)
            self._name("INSTALL", "group", group)
            if kind in _IN_GROUPS_ONLY:
                why = f"a {kind} is installed with its whole group: install group {group}"
                raise self._refused("bad type", why, "INSTALL", kind)
            chosen = (self._present("INSTALL", kind, name, group),)
        else:
            chosen = tuple(self._to_install(group, grplist))
        return self._installed(chosen, single=bool(kind), what=f"{kind}({name})" if kind else group or grplist)

    def of_lists(self, grplist: Iterable[str]) -> list[defs.Resource]:
        """The definitions of lists, in order, as a cold start installs them."""
        lists = self.lists()
        groups = [group for name in grplist for group in lists.get(name, ())]
        return [resource for group in dict.fromkeys(groups) for resource in self.definitions(group=group)]

    def _to_install(self, group: str, grplist: str) -> Iterator[defs.Resource]:
        groups: tuple[str, ...] = (group,)
        if grplist:
            self._name("INSTALL", "list", grplist)
            groups = self.lists().get(grplist, ())
            if not groups:
                raise self._refused("no list", f"there is no list {grplist}", "INSTALL", grplist)
        else:
            self._name("INSTALL", "group", group)
        for each in groups:
            found = False
            for resource in self.definitions(group=each):
                found = True
                yield resource
            if not found and not grplist:
                raise self._refused("no group", f"there is no group {group}", "INSTALL", group)

    def _installed(self, chosen: tuple[defs.Resource, ...], *, single: bool, what: str) -> int:
        refused: list[InstallRefused] = []
        first: dict[tuple[str, str], defs.Resource] = {}
        for each in chosen:
            other = first.setdefault((_kind_of(each), each.resource_name), each)
            if other is not each and each.kind:
                why = f"the definition of group {each.group} is not used: group {other.group} comes first"
                refused.append(InstallRefused(each.resource_name, why, kind=each.kind))
        definitions = as_definitions(first.values())
        region = self._home.region
        if region is None:
            raise UsageError("INSTALL needs a region; the next cold start installs the lists of GRPLIST")
        install(region, definitions, agent="CSDAPI", user=self.user, refused=refused)
        if refused:
            cause = "install failed" if single else "partly installed"
            condition = refusal("CSD", cause, "; ".join(map(str, refused[:10])))
            failed = InstallIncomplete(
                condition.resp, condition.resp2, condition.detail, command="CSD INSTALL", resource=what
            )
            failed.refused = tuple(refused)
            raise failed
        return len(definitions.resources)

    # -- checks ---------------------------------------------------------------------------------------------------

    def _allow(self, verb: str, level: Access) -> None:
        """Refuse a call from another thread or after the end, and a user who may not use the command."""
        self._home.check("csd")
        region = self._home.region
        if self._owner or region is None or region.security is None:
            return
        if region.security.permits(self.user, XCMD, "CSD", level):
            return
        report_violation(region, self.user, "", XCMD, "CSD")
        words = f"user {self.user} has no {level.name} access to CSD in class {XCMD}"
        raise Condition(Resp.NOTAUTH, 100, words, command=f"CSD {verb}")

    def _refused(self, cause: str, detail: str, verb: str, resource: str) -> Condition:
        condition = refusal("CSD", cause, detail)
        condition.command, condition.resource = f"CSD {verb}", resource
        return condition

    def _name(self, verb: str, what: str, name: str) -> None:
        from tdqsim.definitions import is_group_name  # pydantic is imported with the first definition

        if not is_group_name(name):
            allowed = "must be 1 to 8 characters (A-Z 0-9 @ # $, upper case only)"
            raise self._refused(f"bad {what}", f"{what} {name!r:.40} {allowed}", verb, "")

    def _kind(self, verb: str, kind: str) -> str:
        from tdqsim.core.spelling import did_you_mean  # needed for an error only
        from tdqsim.facts import table

        known = [row["name"] for row in table("resource_types")]
        if kind.upper() not in known:
            hint = did_you_mean(kind, known) or f"; allowed are {', '.join(known)}"
            raise self._refused("bad type", f"{kind!r:.40} is not a resource type{hint}", verb, "")
        return kind.upper()

    def _may_change(self, verb: str, name: str, of: str = "group") -> None:
        """Check that this user may change a group or list."""
        self._allow(verb, Access.UPDATE)
        self._name(verb, of, name)
        if self._home.store.readonly:
            raise self._refused("cannot be changed", "the region is read-only", verb, name)
        if name.startswith(_IBM):
            why = f"{name} is IBM's; copy its definitions to a {of} of your own"
            raise self._refused("protected", why, verb, name)
        holder = self._meta(_LOCKS + name.encode())
        if holder is not None and holder.decode() != self.user:
            raise self._refused("locked", f"user {holder.decode()} has locked {name}", verb, name)

    def _change(self, verb: str, kind: str, name: str, group: str) -> tuple[str, bytes]:
        """Check the names and the right to change; the type in upper case, and the key of the definition."""
        self._may_change(verb, group)
        kind = self._kind(verb, kind)
        return kind, _key(group, kind, name)

    def _list_to_change(self, verb: str, grplist: str) -> list[str]:
        self._may_change(verb, grplist, "list")
        key = _LISTS + grplist.encode()
        value = self._meta(key)
        return [] if value is None else list(self._groups_in(key, value))

    def _not_a_list(self, group: str, verb: str) -> None:
        if group == _SUPPLIED_LIST or self._meta(_LISTS + group.encode()) is not None:
            raise self._refused("group is a list", f"{group} is the name of a list", verb, group)

    def _not_a_group(self, grplist: str, verb: str) -> None:
        if any(True for _ in self._some(grplist, 1)):
            raise self._refused("list is a group", f"{grplist} is the name of a group", verb, grplist)

    def _present(self, verb: str, kind: str, name: str, group: str) -> defs.Resource:
        found = self._found(kind, name, group)
        if found is None:
            raise self._refused("no resource", f"group {group} has no {kind}({name})", verb, group)
        return found

    def _found(self, kind: str, name: str, group: str) -> defs.Resource | None:
        if group in supplied().groups:
            return next((each for each in supplied().tdqueues if kind == "TDQUEUE" and each.name == name), None)
        key = _key(group, kind, name)
        value = self._meta(key)
        return None if value is None else self._read(key, value)

    # -- making definitions ---------------------------------------------------------------------------------------

    def _taken(self, kind: str, name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
        title = f"{kind}({name})"
        taken = {each.lower(): value for each, value in attributes.items()}
        problems = [
            Problem("<csd>", 0, title, each, str(taken[each]), "is written by the CSD itself")
            for each in _SIGNATURE
            if taken.get(each)
        ]
        if problems:
            raise DefinitionError(problems)
        self._check_handler(title, taken.get("handler"))
        return taken

    def _check_handler(self, title: str, handler: object) -> None:
        if handler and not self.handlers:
            why = "names Python code, which a client may not do; its owner may"
            raise DefinitionError([Problem("<csd>", 0, title, "handler", str(handler), why)])

    def _signed(self, old: defs.Resource | None = None) -> dict[str, Any]:
        """The signature of a definition that is changed now: of a new one, or of one that was there."""
        now = self._home.now().replace(microsecond=0)  # as a listing shows it
        return {
            "definetime": now if old is None else old.definetime,
            "changetime": now,
            "changeusrid": self.user,
            "changeagent": self.agent,
            "changeagrel": self._home.release,
        }

    def _made(self, kind: str, group: str, values: dict[str, Any], signature: dict[str, Any]) -> defs.Resource:
        from tdqsim.definitions import define_resource  # pydantic is imported with the first definition

        made = define_resource(kind, **{**values, "group": group, **signature})
        name = made.resource_name
        if "*" in name or "+" in name:  # of a type that has no class of its own, which would check the name
            raise self._refused("bad name", f"{name!r:.40} is a generic name, which no resource has", "DEFINE", group)
        return made

    def _copied(self, source: defs.Resource, group: str, name: str) -> defs.Resource:
        signature = self._signed()
        if name and name != source.resource_name:
            return self._made(_kind_of(source), group, {**_attributes(source), "name": name}, signature)
        return source.model_copy(update={"group": group, **signature})

    # -- the store ------------------------------------------------------------------------------------------------

    def _meta(self, key: bytes) -> bytes | None:
        return self._home.store.durable.get_meta(key)

    def _metas(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self._home.store.durable.metas(prefix)

    def _some(self, group: str, most: int) -> Iterator[tuple[bytes, bytes]]:
        """The first definitions of a group."""
        found = self._metas(_prefix(group))
        return (pair for pair, _ in zip(found, range(most), strict=False))

    def _read(self, key: bytes, value: bytes) -> defs.Resource:
        store = self._home.store.path
        record = read_entry(store, key, value)
        resource = resource_of(store, key, record)
        idle = record.get("without_effect")
        return resource.model_copy(update={"without_effect": idle}) if idle else resource

    def _groups_in(self, key: bytes, value: bytes) -> tuple[str, ...]:
        return tuple(read_entry(self._home.store.path, key, value)["groups"])

    def _commit(self, changes: Meta) -> None:
        """Write it to the store at once.

        Raises:
            Condition: CSDERR 3: the store has no room for it; nothing has changed.
            StoreError: the store failed.
        """
        if not changes:
            return
        try:
            self._home.commit(changes)
        except StoreFull as error:
            condition = refusal("CSD", "full", str(error))
            condition.command = "CSD"
            raise condition from error


def _prefix(group: str) -> bytes:
    return _DEFINITIONS + group.encode() + b"/"


def _key(group: str, kind: str, name: str) -> bytes:
    return f"{CSD.decode()}definition/{group}/{kind}/{name}".encode()


def _parts(key: bytes) -> tuple[str, str, str]:
    group, kind, name = key[len(_DEFINITIONS) :].decode().split("/", 2)
    return group, kind, name


def _kind_of(resource: defs.Resource) -> str:
    return resource.kind or str(getattr(resource, "resource_type", ""))


def _attributes(resource: defs.Resource) -> dict[str, Any]:
    """The attributes as for DEFINE, without the signature."""
    values = {**resource.attributes(), **resource.without_effect}
    return {name: value for name, value in values.items() if name not in (*_SIGNATURE, "resource_type")}


def _record(resource: defs.Resource) -> bytes:
    kind = str(getattr(resource, "type", "")) if resource.kind == "TDQUEUE" else resource.kind or "OTHER"
    record: dict[str, object] = {"kind": kind, "fields": fields_of(resource)}
    if resource.without_effect:
        record["without_effect"] = dict(resource.without_effect)
    return as_json(record)


def _list(groups: Iterable[str]) -> bytes | None:
    """The record of a list; None, which deletes it, without a group."""
    names = list(groups)
    return as_json({"groups": names}) if names else None


def generic_name(name: str) -> re.Pattern[str]:
    """The pattern of a generic name: ``*`` stands for any characters, ``+`` for one."""
    return re.compile(translate("".join({"+": "?", "?": "[?]", "[": "[[]"}.get(each, each) for each in name)))
