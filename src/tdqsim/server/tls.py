"""Certificates: those of the user, or one that is generated for the run."""

from __future__ import annotations

import os
import socket
import ssl
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tdqsim import Clock
from tdqsim.server.errors import ServeError

_LIFE = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its key, as PEM files.

    Attributes:
        certificate: the certificate with its chain.
        key: its key.
        generated: whether it was generated for this run, so that clients must be configured to trust it.
    """

    certificate: Path
    key: Path
    generated: bool = False

    def context(self) -> ssl.SSLContext:
        """The TLS context of a server.

        Raises:
            TdqError: the files are not a certificate and its key.
        """
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key, password=lambda: "")
        except (OSError, ssl.SSLError, ValueError) as error:
            reason = getattr(error, "strerror", None) or getattr(error, "reason", None) or error
            raise ServeError(f"certificate {self.certificate} with key {self.key}: {reason}") from error
        return context


def certificate_of_user(certificate: Path, key: Path) -> Certificate:
    """A certificate of the user.

    Raises:
        TdqError: a file cannot be read, or others can read the key.
    """
    for path in (certificate, key):
        if not path.is_file():
            raise ServeError(f"{path}: there is no such file")
    if key.stat().st_mode & 0o077 and os.name == "posix":
        raise ServeError(f"{key}: others can read the key; correct it by chmod 600")
    return Certificate(certificate, key)


def generated_certificate(folder: Path, address: str) -> Certificate:
    """A self-signed certificate for this machine, in a private folder.

    Args:
        folder: the folder of the two files.
        address: the address on which the server listens.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tdqsim")])
    hosts = {"localhost", socket.gethostname()}
    addresses = {ip_address("127.0.0.1"), ip_address("::1"), ip_address(address)}
    names: list[x509.GeneralName] = [x509.DNSName(each) for each in sorted(hosts) if each.isascii()]
    now = Clock(simulated=False).now()
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectAlternativeName([*names, *map(x509.IPAddress, addresses)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate = Certificate(folder / "certificate.pem", folder / "key.pem", generated=True)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for path, data in (
        (certificate.certificate, built.public_bytes(serialization.Encoding.PEM)),
        (certificate.key, private),
    ):
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
            file.write(data)
    return certificate
