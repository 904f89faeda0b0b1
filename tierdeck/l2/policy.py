"""What an endpoint that opted in gets: a claim, where it is mounted, and a few of LMCache's settings."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOUNT_PATH = "/mnt/curvine/l2cache"
HASH_SEED = "0"
MOUNT_PATTERN = r"(/[A-Za-z0-9_][A-Za-z0-9._-]*)+"
"""What LMCache's address can carry: it takes a comma for the end of one path of several."""
CLAIM_PATTERN = r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?"
"""Source: Kubernetes, DNS-1123 subdomain."""


@dataclass(frozen=True, slots=True)
class L2Policy:
    """One endpoint's.

    Attributes:
        origin: what states it, such as `annotations of Pod llm/chat-0`.
        claim: PersistentVolumeClaim in the pods' namespace.
        hash_seed: `PYTHONHASHSEED` of engines that set none.
        min_retrieve_tokens: hits below it are not fetched; None: LMCache's own default.
        exports_metrics: LMCache's internal API server is opened for scraping where nothing says otherwise.
        model_revision: wins over what the model's source says; empty: it does not.
    """

    origin: str
    claim: str
    mount_path: str = MOUNT_PATH
    hash_seed: str = HASH_SEED
    min_retrieve_tokens: int | None = None
    exports_metrics: bool = False
    model_revision: str = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(CLAIM_PATTERN, self.claim):
            raise ValueError(f"{self.claim!r} is no name of a claim")
        if not re.fullmatch(MOUNT_PATTERN, self.mount_path):
            raise ValueError(f"{self.mount_path!r} can't be a mount path: /letters/digits/._- only")
        if self.min_retrieve_tokens is not None and self.min_retrieve_tokens < 0:
            raise ValueError("min_retrieve_tokens can't be negative")
