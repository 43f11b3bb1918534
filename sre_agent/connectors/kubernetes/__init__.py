"""The platform of the SRE role at a Kubernetes cluster. Its client is an optional extra, imported when it is used."""

from sre_agent.connectors.kubernetes.platform import KubernetesPlatform

__all__ = ["KubernetesPlatform"]
