"""The opening messages of a connection, before a link's own: the caller, the called system and the kind of link.

::

    OPEN     kind, from, to      from the side that connects: ISC between regions, DDM from one system to another
    OPENED                       accepted; what follows are messages of the link
    REFUSED  reason              not accepted; the connection is closed

Names are verified: ``from`` must be the common name of the certificate of that side, and the side that connects checks
that the certificate of the other side has the expected name.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tdqsim.hosting import FrameDecoder, MessageFrame
from tdqsim.server.errors import ServeError

ISC: Final = "ISC"
DDM: Final = "DDM"
_KINDS: Final[dict[str, dict[str, type]]] = {
    "OPEN": {"kind": str, "from": str, "to": str}, "OPENED": {}, "REFUSED": {"reason": str},
}  # fmt: skip
_LONGEST_REASON: Final = 200


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of this process for links, and the authority that it trusts.

    Attributes:
        certificate: a PEM file; its common name is the APPLID of the region or the name of the system.
        key: the PEM file of its private key.
        authority: the PEM file of the trusted authority, which has also signed this certificate.
    """

    certificate: Path
    key: Path
    authority: Path

    def context(self, *, server: bool) -> ssl.SSLContext:
        """A TLS context in which both sides present certificates.

        Raises:
            TdqError: a file cannot be read, or is invalid.
        """
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.check_hostname = False  # the common name is that of a region or system, not of a machine
        made.verify_mode = ssl.CERT_REQUIRED
        try:
            made.load_cert_chain(self.certificate, self.key)
            made.load_verify_locations(self.authority)
        except (OSError, ssl.SSLError) as error:
            files = f"{self.certificate}, {self.key}, {self.authority}"
            raise ServeError(f"{files}: the certificates of links cannot be used: {error}") from error
        return made


def common_name(certificate: Mapping[str, Any]) -> str:
    """The common name of a certificate in upper case; empty for none."""
    for part in certificate.get("subject", ()):
        for name, value in part:
            if name == "commonName":
                return str(value).upper()
    return ""


def opening(kind: str, here: str, there: str) -> bytes:
    """The opening message of the side that connects."""
    return MessageFrame("OPEN", {"kind": kind, "from": here, "to": there}, number=1).to_bytes()


def acceptance() -> bytes:
    """The answer that begins the link."""
    return MessageFrame("OPENED", number=1, answers=1).to_bytes()


def refusal(reason: str) -> bytes:
    """The answer that ends the connection."""
    return MessageFrame("REFUSED", {"reason": reason[:_LONGEST_REASON]}, number=1, answers=1).to_bytes()


def decoder(*kinds: str) -> FrameDecoder:
    """A decoder of opening messages of these kinds, which have no data part."""
    return FrameDecoder({kind: _KINDS[kind] for kind in kinds}, data_limit=0)
