"""A Kubernetes API server of our own on loopback: it keeps state, checks preconditions, and can be unkind.

It knows the resources, patches and parameters that an SRE's connector needs, as
https://kubernetes.io/docs/reference/kubernetes-api/ describes them, and refuses what it does not know.
No maintained fake was found on PyPI: what there is patches the client library, so that nothing goes over HTTP.
"""

from tests.factories.fake_kubernetes.cluster import TOKEN, Cluster
from tests.factories.fake_kubernetes.server import FakeKubernetes, fake_kubernetes
from tests.factories.fake_stripe.faults import AFTER, BEFORE, CUT, GARBAGE, HUGE, STATUS

__all__ = [
    "AFTER",
    "BEFORE",
    "CUT",
    "GARBAGE",
    "HUGE",
    "STATUS",
    "TOKEN",
    "Cluster",
    "FakeKubernetes",
    "fake_kubernetes",
]
