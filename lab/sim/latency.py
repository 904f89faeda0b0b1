"""How long things take: prefill and decode on the GPU, loads from L1 and L2. Simulated seconds."""

from __future__ import annotations

from dataclasses import dataclass

from tierdeck.sizing.replica import Lookup


@dataclass(frozen=True, slots=True)
class LatencyModel:
    """TTFT = queue + loads + prefill.

    Source: prefill and L2 follow the shape of the article's measurements (about 1,000 tokens until an L2
    hit beats a prefill), the rest is of the usual order of magnitude.
    """

    prefill_seconds_per_token: float = 310e-6
    decode_seconds_per_token: float = 0.025
    l1_fixed_seconds: float = 0.004
    l1_seconds_per_token: float = 1.5e-6
    l2_fixed_seconds: float = 0.2
    l2_seconds_per_token: float = 29e-6
    l2_write_seconds: float = 0.15
    transfer_fixed_seconds: float = 0.01
    transfer_seconds_per_token: float = 3e-6
    step_seconds: float = 0.008

    def load_seconds(self, lookup: Lookup) -> float:
        """Until all that vLLM loads is in GPU memory, reads that fail in the end included."""
        seconds = self.read_seconds(lookup)
        if lookup.l1:
            seconds += self.l1_fixed_seconds + lookup.l1 * self.l1_seconds_per_token
        if lookup.transferred:
            seconds += self.transfer_fixed_seconds + lookup.transferred * self.transfer_seconds_per_token
        return seconds

    def read_seconds(self, lookup: Lookup) -> float:
        """Until what L2 has lies in L1, reads that fail in the end included."""
        from_l2 = lookup.l2 + lookup.unread
        return self.l2_fixed_seconds + from_l2 * self.l2_seconds_per_token if from_l2 else 0.0

    def prefill_seconds(self, lookup: Lookup) -> float:
        """Computing what no tier had."""
        return self.step_seconds + lookup.miss * self.prefill_seconds_per_token

    def decode_seconds(self, answer_tokens: int) -> float:
        """From the first token to the last."""
        return max(0, answer_tokens - 1) * self.decode_seconds_per_token
