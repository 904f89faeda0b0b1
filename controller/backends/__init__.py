"""The ways of deploying that are known, one file each; the most particular comes first."""

from controller.backend import Backend
from controller.backends.curvine import CURVINE
from controller.backends.deployment import DEPLOYMENT
from controller.backends.hyperpod import HYPERPOD, HYPERPOD_JUMPSTART
from controller.backends.production_stack import PRODUCTION_STACK
from controller.backends.production_stack_helm import PRODUCTION_STACK_HELM

BACKENDS: tuple[Backend, ...] = (
    HYPERPOD,
    HYPERPOD_JUMPSTART,
    PRODUCTION_STACK,
    PRODUCTION_STACK_HELM,
    CURVINE,
    DEPLOYMENT,
)
