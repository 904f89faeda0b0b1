"""Certificates of our own for the webhook: each with an authority of its own, whose key is thrown away at once.

So there is no key of an authority to be stolen: whoever reads the Secret can be the webhook until the certificate
ends, and nothing else.
"""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_CLOCKS_DIFFER = timedelta(minutes=5)
_RENEW_AT = 2 / 3
"""Of its life, a certificate gets a successor."""
_MOST_OVERLAP_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate with its key, in PEM.

    Attributes:
        authority: the certificate that a client trusts.
        serve_at: from then on it is served; by then every API server knows its authority.
        end_at: it is good until then.
    """

    certificate: str
    key: str
    authority: str
    serve_at: float
    end_at: float


def make_pair(names: tuple[str, ...], now: float, seconds: float, serve_at: float) -> Pair:
    """A new pair for these DNS names and addresses, good for so long."""
    begin, end = datetime.fromtimestamp(now, UTC), datetime.fromtimestamp(now + seconds, UTC)
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _name(f"tierdeck-injector {begin:%Y-%m-%dT%H:%M:%SZ}")
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only",
         "decipher_only"), False,
    )  # fmt: skip
    authority = (
        _builder(issuer, issuer, begin, end, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, **usage), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    certificate = (
        _builder(issuer, _name(names[0][:64]), begin, end, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    plain = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Pair(_pem(certificate), plain.decode(), _pem(authority), serve_at, now + seconds)


def renewed(pairs: tuple[Pair, ...], names: tuple[str, ...], now: float, seconds: float) -> tuple[Pair, ...]:
    """Those that are still good, with a successor where one is due; the same where nothing is to be done."""
    good = tuple(pair for pair in pairs if pair.end_at > now and covers(pair, names))
    newest = max(good, key=lambda pair: pair.end_at, default=None)
    if newest is not None and newest.end_at - now > (1 - _RENEW_AT) * seconds:
        return good
    # the first one is served at once: there is none that could be served meanwhile
    serve_at = now + min(_MOST_OVERLAP_SECONDS, seconds / 10) if good else now
    return (*good, make_pair(names, now, seconds, serve_at))


def served(pairs: tuple[Pair, ...], now: float) -> Pair | None:
    """The one to serve: the newest whose time has come; None where there is none."""
    ready = [pair for pair in pairs if pair.serve_at <= now < pair.end_at]
    return max(ready, key=lambda pair: pair.serve_at, default=None)


def bundle(pairs: tuple[Pair, ...]) -> str:
    """What a client has to trust: of the next one before it is served, of the last one until it ends."""
    return "".join(pair.authority for pair in pairs)


def covers(pair: Pair, names: tuple[str, ...]) -> bool:
    """It is a certificate for these names."""
    certificate = x509.load_pem_x509_certificate(pair.certificate.encode())
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(one.value) for one in found} == set(names)


def written(pairs: tuple[Pair, ...]) -> str:
    """As the Secret keeps them."""
    names = Pair.__slots__
    return json.dumps([{name: getattr(pair, name) for name in names} for pair in pairs])


def read(text: str) -> tuple[Pair, ...]:
    """What `written` wrote; nothing where it can't be read, so that new ones are made."""
    try:
        return tuple(_pair(one) for one in json.loads(text or "[]"))
    except (ValueError, TypeError, KeyError):
        return ()


def _pair(one: dict[str, object]) -> Pair:
    texts = [str(one[name]) for name in ("certificate", "key", "authority")]
    x509.load_pem_x509_certificate(texts[0].encode())
    return Pair(texts[0], texts[1], texts[2], float(str(one["serve_at"])), float(str(one["end_at"])))


def _builder(
    issuer: x509.Name, subject: x509.Name, begin: datetime, end: datetime, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - _CLOCKS_DIFFER)
        .not_valid_after(end)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
