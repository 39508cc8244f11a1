"""The certificates of a throw-away cluster: one authority, one serving certificate, clients by name."""

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(days=30)
# Python 3.13 and newer verify strictly: key identifiers everywhere, and a stated use for the authority.
SIGNS_ONLY = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    """Signs what the cluster needs; every file is written below its folder."""

    __slots__ = ("_folder", "_key", "_name", "certificate")

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dra-control-plane")])
        builder = _builder(self._name, self._key).issuer_name(self._name)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(SIGNS_ONLY, critical=True)
        self.certificate = folder / "ca.crt"
        self.certificate.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))

    def signing_key(self, stem: str) -> Path:
        """A bare private key, as service-account tokens are signed with."""
        return _write_key(self._folder / f"{stem}.key", ec.generate_private_key(ec.SECP256R1()))

    def server(self, stem: str) -> tuple[Path, Path]:
        """Certificate and key of a server on this machine."""
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in ("localhost", "kubernetes.default.svc")]
        names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, stem)])
        return self._issue(stem, subject, ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, group: str | None = None) -> tuple[Path, Path]:
        """Certificate and key of a user, in a group if one is given."""
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
        if group is not None:
            attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
        return self._issue(user.replace(":", "-"), x509.Name(attributes), ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def _issue(
        self, stem: str, subject: x509.Name, usage: x509.ObjectIdentifier, names: list[x509.GeneralName]
    ) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, key).issuer_name(self._name)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(issuer, critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = self._folder / f"{stem}.crt"
        certificate.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))
        return certificate, _write_key(self._folder / f"{stem}.key", key)


def _builder(subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # An hour back: clocks of containers on one machine differ at times.
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> Path:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    return path
