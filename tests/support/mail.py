"""A real SMTP server for tests, on a free loopback port."""

from __future__ import annotations

import email
import email.policy
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session


class MailServer:
    """`messages` are those that it took, in turn. `answer`: what it says to each."""

    def __init__(self, answer: str) -> None:
        self.messages: list[EmailMessage] = []
        self.port = 0
        self._answer = answer

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:
        content = envelope.content
        assert isinstance(content, bytes)
        if self._answer.startswith("250"):
            self.messages.append(email.message_from_bytes(content, policy=email.policy.default))
        return self._answer


@contextmanager
def running_mail_server(answer: str = "250 OK") -> Iterator[MailServer]:
    server = MailServer(answer)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server.port = free.getsockname()[1]
    controller = Controller(server, hostname="127.0.0.1", port=server.port)
    controller.start()
    try:
        yield server
    finally:
        controller.stop()
