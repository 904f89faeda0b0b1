"""Who asks which API server: the kubeconfig on a laptop, the service account inside a cluster."""

from __future__ import annotations

import os
from pathlib import Path

from kubernetes import client, config

from controller.api.client import Api
from controller.api.errors import CredentialsError
from tierdeck.settings import Settings

_HINT = "Set TIERDECK_KUBECONFIG and TIERDECK_KUBE_CONTEXT, or run inside a cluster (docs/install.md)."
_MOST_WATCHES = 256


def open_api(settings: Settings) -> Api:
    """The API server of the settings' kubeconfig and context; inside a cluster, where none is named, its own.

    Raises:
        CredentialsError: there is no such file or context, or it can't be used.
    """
    configuration = client.Configuration()
    try:
        if settings.kubeconfig is None and not settings.kube_context and "KUBERNETES_SERVICE_HOST" in os.environ:
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            path = settings.kubeconfig
            if path is not None and not Path(path).is_file():
                raise CredentialsError(f"there is no kubeconfig {path}", _HINT)
            config.load_kube_config(  # type: ignore[no-untyped-call]
                config_file=None if path is None else str(path),
                context=settings.kube_context or None,
                client_configuration=configuration,
                persist_config=False,
            )
    except (config.ConfigException, OSError, ValueError, TypeError, KeyError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CredentialsError(f"the kubeconfig can't be used: {first.rstrip('.')}", _HINT) from error
    configuration.connection_pool_maxsize = _MOST_WATCHES
    return Api.of(client.ApiClient(configuration))
