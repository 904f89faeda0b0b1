"""KV events from an engine's socket file to a port of the loopback.

vLLM binds a TCP address for its events on all interfaces or not at all, and vllm-router takes TCP only. The bytes of
ZeroMQ's protocol are the same on both, so that they can be passed on as they are.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

_PIECE = 2**16


async def relay(port: int, socket: Path) -> asyncio.Server:
    """Serve the socket's stream at the port until closed."""

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            events, asked = await asyncio.open_unix_connection(socket)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pump(reader, asked), _pump(events, writer))

    return await asyncio.start_server(connect, "127.0.0.1", port)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one side hangs up."""
    try:
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
