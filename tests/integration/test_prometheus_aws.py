"""Amazon's signature, computed anew from what the server received."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from collectors.prometheus.server import Server
from tests.support.http_replies import Asked, replying, result
from tierdeck.errors import UsageError
from tierdeck.settings import Settings

KEY, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/example", "a-session-token"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of the environment, and none of this machine."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_SESSION_TOKEN": TOKEN,
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)


def signature(asked: Asked, url: str) -> str:
    """What it has to be: path and query are taken apart and put together again as AWS does, a space being %20."""
    parts = urlsplit(asked.target)
    pairs = [pair.split("=") for pair in parts.query.split("&")]
    query = "&".join("=".join(quote(unquote(part), safe="-_.~") for part in pair) for pair in pairs)
    request = AWSRequest("GET", f"{url}{parts.path}?{query}")
    request.headers["X-Amz-Date"] = request.context["timestamp"] = asked.headers["X-Amz-Date"]
    request.headers["X-Amz-Security-Token"] = asked.headers["X-Amz-Security-Token"]
    signer = SigV4Auth(Credentials(KEY, SECRET, TOKEN), "aps", "eu-west-1")
    found: str = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    return found


def test_a_query_is_signed_for_the_service_and_its_region() -> None:
    with replying(result()) as there:
        address = f"{there.url}/workspaces/ws-1/api/v1/query"
        with Server.of(Settings(prometheus_url=address, prometheus_aws_region="eu-west-1")) as server:
            server.instant('sum by (pod) (rate(vllm:x_total{a="b c+d/e~*"}[5m]))', 1)
        (asked,) = there.asked
        assert asked.target.startswith("/workspaces/ws-1/api/v1/query?")
        assert f"Signature={signature(asked, there.url)}" in asked.headers["Authorization"]
        assert f"Credential={KEY}/{asked.headers['X-Amz-Date'][:8]}/eu-west-1/aps/" in asked.headers["Authorization"]
    assert asked.headers["X-Amz-Security-Token"] == TOKEN
    assert asked.parameters["query"] == 'sum by (pod) (rate(vllm:x_total{a="b c+d/e~*"}[5m]))'


def test_without_credentials_it_says_where_to_put_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    with pytest.raises(UsageError, match="No AWS credentials") as caught:
        Server.of(Settings(prometheus_url="http://127.0.0.1:9", prometheus_aws_region="eu-west-1"))
    assert "AWS_ACCESS_KEY_ID" in caught.value.hint


def test_without_its_library_only_amazon_can_not_be_asked() -> None:
    code = (
        "import sys; sys.modules['botocore'] = None\n"
        "from collectors.prometheus.server import Server\n"
        "from tierdeck.errors import UsageError\n"
        "from tierdeck.settings import Settings\n"
        "Server.of(Settings(prometheus_url='http://127.0.0.1:9'))\n"
        "try: Server.of(Settings(prometheus_url='http://127.0.0.1:9', prometheus_aws_region='eu-west-1'))\n"
        "except UsageError as error: print(error.line())"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "extra `aws`" in answer.stdout
