"""Certificates for tests: an authority, and what it issues."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tdqsim.server.links import Identity

_SINCE = datetime(2020, 1, 1, tzinfo=UTC)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


class Authority:
    """An authority of its own, with its files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.path = self._write("authority.pem", self._made("Authority", self.key, True).public_bytes(Encoding.PEM))

    def _made(self, name: str, key: ec.EllipticCurvePrivateKey, is_authority: bool) -> x509.Certificate:
        return (
            x509.CertificateBuilder().subject_name(_named(name)).issuer_name(_named("Authority"))
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(_SINCE).not_valid_after(_SINCE + timedelta(days=36500))
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .sign(self.key, hashes.SHA256())
        )  # fmt: skip

    def _write(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def issue(self, name: str) -> Identity:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._write(f"{name}.pem", self._made(name, key, False).public_bytes(Encoding.PEM))
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return Identity(certificate, self._write(f"{name}.key", private), self.path)
