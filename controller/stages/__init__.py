"""The five set-up stages, one file each; they are numbered as they follow on each other."""

from controller.stage import Stage
from controller.stages.curvine_pool import CURVINE_POOL
from controller.stages.l2_wiring import L2_WIRING
from controller.stages.later import Later

STAGES: tuple[Stage, ...] = (
    Later(1, "Tiered storage enabled on the HyperPod cluster"),
    Later(2, "Inference operator installed, with what it needs"),
    CURVINE_POOL,
    L2_WIRING,
    Later(5, "Verified and measured"),
)
