"""PUT, GET, DELETE and MOVE CONTAINER, and browsing the containers of a channel.

Without CHANNEL a command uses the current channel: the one that LINK, XCTL, START or RETURN has passed to the program,
if any. PUT creates the channel that it names; the other commands require an existing channel. Source: PUT CONTAINER
(CHANNEL), GET CONTAINER (CHANNEL), DELETE CONTAINER (CHANNEL), MOVE CONTAINER (CHANNEL), STARTBROWSE CONTAINER (IBM
Docs).
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from tdqsim.cics.kernel.channels import Channel, Container, checked_name
from tdqsim.cics.kernel.command import Flag, From, Fullword, FullwordOrNone, Name16OrNone, Opt, command
from tdqsim.cics.kernel.conditions import Condition, check_sent
from tdqsim.cics.kernel.levels import level_of
from tdqsim.cics.kernel.task import TaskBase, open_browses
from tdqsim.core.named import NamedTuple
from tdqsim.facts import Resp

ContainerName = Annotated[str, Opt("name", 16, "CONTAINER")]
ChannelName = Annotated[str | None, Opt("name", 16, "CHANNEL")]
FlengthOrNone = Annotated[int | None, Opt("fullword", 4, "FLENGTH")]
CodepageOrNone = Annotated[str | None, Opt("name", 56)]
CvdaOrNone = Annotated[int | None, Opt("cvda", 4)]
NewName = Annotated[str, Opt("name", 16, "AS")]
_CONDITIONS: Final = "CCSIDERR CHANNELERR CODEPAGEERR CONTAINERERR INVREQ LENGERR LOCKED"
_KINDS: Final = ("BIT", "CHAR")


class Contents(NamedTuple):
    """The result of GET CONTAINER.

    Attributes:
        data: the contents of the container; None with NODATA.
        length: its length in bytes.
    """

    data: bytes | None
    length: int

    def as_dict(self) -> dict[str, Any]:
        """The receivers by option."""
        received: dict[str, Any] = {"FLENGTH": self.length, "CCSID": 0}
        return received if self.data is None else {**received, "INTO": self.data, "SET": self.data}


def _named(task: TaskBase, channel: str | None) -> Channel:
    """An existing channel.

    Raises:
        Condition: INVREQ 4: there is no current channel. CHANNELERR 2: the program has no channel of that name.
    """
    level = level_of(task)
    if channel is None:
        if level.channel is None:
            raise Condition(Resp.INVREQ, 4, "the program has no current channel, and the command names none")
        return level.channel
    name = channel.rstrip(" ")
    result = level.channels.get(name)
    if result is None:
        raise Condition(Resp.CHANNELERR, 2, f"channel {name} is not known to program {level.program}")
    return result


def _container(channel: Channel, name: str) -> Container:
    result = channel.containers.get(name.rstrip(" "))
    if result is None:
        raise Condition(Resp.CONTAINERERR, 10, f"channel {channel.name} has no container {name.rstrip()}")
    return result


@command("PUT CONTAINER", _CONDITIONS)
def put_container(
    task: TaskBase,
    container: ContainerName,
    from_: From,
    *,
    channel: ChannelName = None,
    length: FlengthOrNone = None,
    bit: Flag = False,
    char: Flag = False,
    fromccsid: FullwordOrNone = None,
    fromcodepage: CodepageOrNone = None,
    append: Flag = False,
    prepend: Flag = False,
    nohandle: Flag = False,
) -> None:
    """Put data into a container; the container and its channel are created if they do not exist.

    Args:
        container: 1 to 16 characters.
        from_: the data.
        channel: the channel; the current one when not given.
        length: the number of bytes of ``from_`` (FLENGTH).
        bit, char: the type of the data; by default CHAR if a code page is named, else BIT.
        fromccsid, fromcodepage: the code page of the data; accepted without effect: the data is not converted.
        append, prepend: add to the contents of the container instead of replacing them.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: CHANNELERR 1, CONTAINERERR 18: the name is not valid. INVREQ 4: there is no current channel. INVREQ
            33: the container exists with the other type. LENGERR 1: FLENGTH is negative.
    """
    name = checked_name(container, Resp.CONTAINERERR, 18)
    size = len(from_) if length is None else length
    check_sent(from_, length)
    if size < 0:
        raise Condition(Resp.LENGERR, 1, f"FLENGTH is {size}; allowed are 0 and more")
    target = _made(task, channel)
    wanted = _kind(char=char, given=bit or char)
    kind = wanted or ("CHAR" if fromccsid is not None or fromcodepage is not None else None)
    data, before = bytes(from_[:size]), target.containers.get(name)
    if before is None:
        target.containers[name] = Container(data, kind or "BIT")  # type: ignore[arg-type]
        return
    if kind is not None and kind != before.kind:
        raise Condition(Resp.INVREQ, 33, f"container {name} is {before.kind}, not {kind}")
    before.data = before.data + data if append else data + before.data if prepend else data


def _kind(*, char: bool, given: bool) -> str | None:
    return _KINDS[char] if given else None


def _made(task: TaskBase, channel: str | None) -> Channel:
    if channel is None:
        return _named(task, None)
    name = checked_name(channel, Resp.CHANNELERR, 1)
    return level_of(task).channels.setdefault(name, Channel(name))


@command(
    "GET CONTAINER",
    _CONDITIONS,
    {
        "INTO": Opt("data"),
        "SET": Opt("pointer", 4),
        "FLENGTH": Opt("fullword", 4),
        "CCSID": Opt("fullword", 4),
    },
    otherwise=b"",
)
def get_container(
    task: TaskBase,
    container: ContainerName,
    *,
    channel: ChannelName = None,
    length: FlengthOrNone = None,
    nodata: Flag = False,
    byteoffset: Fullword = 0,
    intoccsid: FullwordOrNone = None,  # data is not converted
    intocodepage: CodepageOrNone = None,
    convertst: CvdaOrNone = None,
    nohandle: Flag = False,
) -> Contents | bytes:
    """Get the data of a container; the container stays.

    Args:
        container: 1 to 16 characters.
        channel: the channel; the current one when not given.
        length: the length of the area (FLENGTH) in bytes; if not given, all data is returned.
        nodata: return only the length.
        byteoffset: the offset of the first byte to return, from 0; a negative one means 0.
        intoccsid, intocodepage, convertst: accepted without effect: the data is not converted.
        nohandle: raise nothing; the response is in the EIB.

    Returns:
        The data and its length; ``b""`` after a condition that was not raised.

    Raises:
        Condition: CHANNELERR 2, CONTAINERERR 10, INVREQ 4. LENGERR 11, with truncated data: it is longer than FLENGTH.
    """
    data = _container(_named(task, channel), container).data[max(byteoffset, 0) :]
    if nodata:
        return Contents(None, len(data))
    if length is not None and len(data) > length:
        cut = data[: max(length, 0)]
        raise Condition(
            Resp.LENGERR,
            11,
            f"FLENGTH is {length}, the container has {len(data)} bytes",
            data=cut,
            length=len(data),
            brings={"INTO": cut, "SET": cut, "FLENGTH": len(data)},
        )
    return Contents(data, len(data))


@command("DELETE CONTAINER", _CONDITIONS)
def delete_container(
    task: TaskBase, container: ContainerName, *, channel: ChannelName = None, nohandle: Flag = False
) -> None:
    """Delete a container.

    Raises:
        Condition: CHANNELERR 2, CONTAINERERR 10, INVREQ 4.
    """
    owner = _named(task, channel)
    _container(owner, container)
    del owner.containers[container.rstrip(" ")]


@command("MOVE CONTAINER", _CONDITIONS)
def move_container(
    task: TaskBase,
    container: ContainerName,
    as_: NewName,
    *,
    channel: ChannelName = None,
    tochannel: Name16OrNone = None,
    nohandle: Flag = False,
) -> None:
    """Rename a container or move it to another channel, replacing a container of the same name.

    Args:
        container: the container.
        as_: its new name.
        channel: its channel; the current one when not given.
        tochannel: its new channel; the current channel if not given.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: CHANNELERR 1, 2, CONTAINERERR 10, 18, INVREQ 4.
    """
    source = _named(task, channel)
    moved = _container(source, container)
    name = checked_name(as_, Resp.CONTAINERERR, 18)
    target = _made(task, tochannel)
    del source.containers[container.rstrip(" ")]
    target.containers[name] = moved


# -- browsing -----------------------------------------------------------------------------------------------------


@command("STARTBROWSE CONTAINER", "ACTIVITYERR CHANNELERR INVREQ", {"BROWSETOKEN": Opt("fullword", 4)})
def startbrowse_container(task: TaskBase, *, channel: ChannelName = None, nohandle: Flag = False) -> int:
    """Start a browse of the present containers of a channel.

    Returns:
        BROWSETOKEN, for the commands that follow.

    Raises:
        Condition: CHANNELERR 2, INVREQ 4.
    """
    names = iter(tuple(_named(task, channel).containers))
    browses = open_browses(task).setdefault("CONTAINER", {})
    token = max(browses, default=0) + 1
    browses[token] = names
    return token


def _browse(task: TaskBase, token: int) -> Any:
    browse = open_browses(task).get("CONTAINER", {}).get(token)
    if browse is None:
        raise Condition(Resp.TOKENERR, 3, f"no browse has token {token}")
    return browse


@command("GETNEXT CONTAINER", "END INVREQ TOKENERR", {"CONTAINER": Opt("name", 16)}, otherwise="")
def getnext_container(task: TaskBase, browsetoken: Fullword, *, nohandle: Flag = False) -> str:
    """Get the next container of a browse.

    Returns:
        Its name.

    Raises:
        Condition: END 2: there are no more. TOKENERR 3: there is no such browse.
    """
    name = next(_browse(task, browsetoken), None)
    if name is None:
        raise Condition(Resp.END, 2, "there are no more containers")
    return str(name)


@command("ENDBROWSE CONTAINER", "INVREQ TOKENERR")
def endbrowse_container(task: TaskBase, browsetoken: Fullword, *, nohandle: Flag = False) -> None:
    """End a browse.

    Raises:
        Condition: TOKENERR 3: there is no such browse.
    """
    _browse(task, browsetoken)
    del open_browses(task)["CONTAINER"][browsetoken]
