"""The opening messages of a connection, before a link's own: the caller, the called system and the kind of link.

::

    OPEN     kind, from, to      the side that dialled: ISC between regions, DDM from one system's queues to another
    OPENED                       it is taken; what follows is the link's
    REFUSED  reason              it is not; the connection is closed

Nobody is believed by his word: ``from`` must be the common name of the certificate that the side has shown, and the
side that dialled looks for the name that it dialled for.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tdqsim.core.messages import FrameDecoder, Kinds, MessageError, MessageFrame, encode
from tdqsim.server.errors import ServeError

__all__ = ["DDM", "ISC", "Identity", "common_name", "decoder", "opening", "read_opening", "refusal", "taken"]

ISC: Final = "ISC"
DDM: Final = "DDM"
_KINDS: Final[Kinds] = {"OPEN": {"kind": str, "from": str, "to": str}, "OPENED": {}, "REFUSED": {"reason": str}}
_LONGEST_REASON: Final = 200


@dataclass(frozen=True, slots=True)
class Identity:
    """Who this process is to the processes at the other ends, and whom it believes.

    Attributes:
        certificate: a PEM file; its common name is the APPLID of the region or the name of the system.
        key: the PEM file of its private key.
        authority: the PEM file of the authority whose certificates are believed, its own among them.
    """

    certificate: Path
    key: Path
    authority: Path

    def context(self, *, server: bool) -> ssl.SSLContext:
        """A context in which both sides show certificates.

        Raises:
            TdqError: a file cannot be read, or is not what it should be.
        """
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.check_hostname = False  # the common name is the name of a region or system, whatever machine it is on
        made.verify_mode = ssl.CERT_REQUIRED
        try:
            made.load_cert_chain(self.certificate, self.key)
            made.load_verify_locations(self.authority)
        except (OSError, ssl.SSLError) as error:
            files = f"{self.certificate}, {self.key}, {self.authority}"
            raise ServeError(f"{files}: the certificates of links cannot be used: {error}") from error
        return made


def common_name(certificate: Mapping[str, Any]) -> str:
    """Whose certificate it is, in capitals; empty when it does not say."""
    for part in certificate.get("subject", ()):
        for name, value in part:
            if name == "commonName":
                return str(value).upper()
    return ""


def opening(kind: str, here: str, there: str) -> bytes:
    """The opening message of the side that connects."""
    return encode(MessageFrame("OPEN", {"kind": kind, "from": here, "to": there}, number=1))


def taken() -> bytes:
    """The answer that begins the link."""
    return encode(MessageFrame("OPENED", number=1, answers=1))


def refusal(reason: str) -> bytes:
    """The answer that ends the connection."""
    return encode(MessageFrame("REFUSED", {"reason": reason[:_LONGEST_REASON]}, number=1, answers=1))


def read_opening(decoder: FrameDecoder, data: bytes, kinds: tuple[str, ...]) -> tuple[MessageFrame, bytes] | None:
    """The one message that an opening has from either side, and what is the link's after it; None: more has to come.

    Raises:
        MessageError: it is none of these kinds.
    """
    found = decoder.first(data)
    if found is not None and found[0].kind not in kinds:
        raise MessageError(f"{' or '.join(kinds)} is due, not {found[0].kind}")
    return found


def decoder() -> FrameDecoder:
    """For what the other side says; it has no data beside it."""
    return FrameDecoder(_KINDS, data_limit=0)
