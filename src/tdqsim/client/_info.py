"""The results of INQUIRE for a queue in a server, with the same names and values as for a local region."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, cast

if TYPE_CHECKING:
    from tdqsim.client.answers.tdqueue import CvdaValue, TdqueueOptions, TdqueueState


class RemoteCvda(int):
    """A CVDA: its number, which is that of ``tdqsim.Cvda``.

    Attributes:
        name: its name, such as ``ENABLED``.
    """

    name: str

    def __new__(cls, value: CvdaValue) -> Self:
        """The CVDA of an answer."""
        self = super().__new__(cls, value["value"])
        self.name = value["cvda"]
        return self

    def __repr__(self) -> str:
        return f"<{self.name}: {int(self)}>"

    @property
    def value(self) -> int:
        """Its number."""
        return int(self)


class RemoteInfo(dict[str, "RemoteCvda | int | str"]):
    """The result of an INQUIRE by option: ``info.numitems`` and ``info["NUMITEMS"]`` are the same."""

    __slots__ = ()

    def __missing__(self, option: str) -> RemoteCvda | int | str:
        if option.upper() == option:
            raise KeyError(option)
        return self[option.upper()]

    def as_dict(self, *, plain: bool = False) -> dict[str, RemoteCvda | int | str]:
        """The values by option name.

        Args:
            plain: whether to return CVDAs by name and text without trailing blanks, for JSON.
        """
        return {name: _plain(value) for name, value in self.items()} if plain else dict(self)


def _attribute(info: RemoteInfo, name: str) -> RemoteCvda | int | str:
    try:
        return info[name.upper()]
    except KeyError:
        there = ", ".join(info) or "no values"
        raise AttributeError(f"{name.upper()} was not requested, or is not an option; available are {there}") from None


setattr(RemoteInfo, "__getattr__", _attribute)  # noqa: B010  (hidden from type checkers)


def _plain(value: RemoteCvda | int | str) -> RemoteCvda | int | str:
    if isinstance(value, RemoteCvda):
        return value.name
    return value.rstrip() if isinstance(value, str) else value


def info_values(state: TdqueueState | TdqueueOptions) -> dict[str, RemoteCvda | int | str]:
    """The options of an answer, CVDAs as :class:`RemoteCvda`."""
    values = cast("dict[str, CvdaValue | int | str]", {name: each for name, each in state.items() if name != "name"})
    return {name: RemoteCvda(each) if isinstance(each, dict) else each for name, each in values.items()}
