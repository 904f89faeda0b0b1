"""Who is asking: password or token read from its file at each request, or Amazon's signature."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from requests import PreparedRequest
from requests.auth import AuthBase, HTTPBasicAuth

from tierdeck.errors import UsageError
from tierdeck.server_address import ServerAddress
from tierdeck.settings import Settings

AWS_SERVICE = "aps"


class PasswordFile(AuthBase):
    """Basic credentials; the file is read at each request, since passwords are changed under a running process."""

    def __init__(self, username: str, file: Path) -> None:
        self._username, self._file = username, file

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        password = secret_of(self._file, "TIERDECK_PROMETHEUS_PASSWORD_FILE")
        return HTTPBasicAuth(self._username.encode(), password.encode())(request)


class TokenFile(AuthBase):
    """A bearer token; the file is read at each request, since Kubernetes renews the tokens that it mounts."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        request.headers["Authorization"] = f"Bearer {token_of(self._file)}"
        return request


class AwsSignature(AuthBase):
    """Signs each request (Signature Version 4) with the credentials that AWS tools find on this machine.

    Source: "Signature Version 4 signing process", AWS General Reference: a space in the query is `%20` there.
    """

    def __init__(self, region: str) -> None:
        """Raises UsageError where botocore is not installed or finds no credentials."""
        try:
            from botocore.session import Session  # noqa: PLC0415 an optional package, needed only here
        except ImportError as error:
            raise UsageError(
                "TIERDECK_PROMETHEUS_AWS_REGION needs the package botocore", "Install tierdeck with the extra `aws`."
            ) from error
        self._region = region
        self._credentials = Session().get_credentials()
        if self._credentials is None:
            raise UsageError(
                "No AWS credentials were found",
                "Give this process a role (IRSA, instance profile) or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
            )

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        from botocore.auth import SigV4Auth  # noqa: PLC0415
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

        assert request.url is not None
        parts = urlsplit(request.url)
        request.url = parts._replace(query=parts.query.replace("+", "%20")).geturl()
        signed = AWSRequest(request.method, request.url)
        try:
            frozen = self._credentials.get_frozen_credentials()
        except (BotoCoreError, ClientError) as error:
            raise UsageError(
                f"The AWS credentials can't be renewed ({type(error).__name__})", "Check the role of this process."
            ) from error
        SigV4Auth(frozen, AWS_SERVICE, self._region).add_auth(signed)
        request.headers.update(dict(signed.headers.items()))
        return request


def credentials_of(settings: Settings, address: ServerAddress) -> AuthBase | None:
    """What proves who is asking; the settings hold at most one kind.

    Raises:
        UsageError: a file can't be read, or what the kind needs is not there.
    """
    if address.username:
        return HTTPBasicAuth(address.username.encode(), address.password.encode())
    if settings.prometheus_password_file is not None:
        secret_of(settings.prometheus_password_file, "TIERDECK_PROMETHEUS_PASSWORD_FILE")
        return PasswordFile(settings.prometheus_username, settings.prometheus_password_file)
    if settings.prometheus_token_file is not None:
        token_of(settings.prometheus_token_file)
        return TokenFile(settings.prometheus_token_file)
    return AwsSignature(settings.prometheus_aws_region) if settings.prometheus_aws_region else None


def token_of(file: Path) -> str:
    """The token in a file. Raises UsageError where there is none that a header can hold."""
    token = secret_of(file, "TIERDECK_PROMETHEUS_TOKEN_FILE")
    if not token.isascii():
        raise UsageError(f"TIERDECK_PROMETHEUS_TOKEN_FILE: {file} holds no token", "A token is plain ASCII.")
    return token


def secret_of(file: Path, variable: str) -> str:
    """The one line in a file of credentials. Raises UsageError where there is none."""
    try:
        secret = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not text"
        raise UsageError(
            f"{variable}: {file} can't be read ({why})", "Name a file that this process may read."
        ) from error
    if not secret or not secret.isprintable():
        raise UsageError(f"{variable}: {file} does not hold one line with the secret", "Write it there, and only it.")
    return secret
