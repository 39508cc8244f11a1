"""A live cluster, read and never written: every object that a scheduling cycle sees."""

from collections.abc import Iterator, Mapping

import yaml
from pykube import HTTPClient, KubeConfig
from pykube.exceptions import KubernetesError

from dra_scheduling.wire import InvalidObjectError, KubernetesObject, read
from dra_simulator.problems import InputProblem, UnusableInputError

PLURALS = {
    "Node": ("v1", "nodes"),
    "Namespace": ("v1", "namespaces"),
    "Pod": ("v1", "pods"),
    "ResourceClaim": ("resource.k8s.io/v1", "resourceclaims"),
    "ResourceClaimTemplate": ("resource.k8s.io/v1", "resourceclaimtemplates"),
    "ResourceSlice": ("resource.k8s.io/v1", "resourceslices"),
    "DeviceClass": ("resource.k8s.io/v1", "deviceclasses"),
    "DeviceTaintRule": ("resource.k8s.io/v1", "devicetaintrules"),
    "NodePool": ("karpenter.sh/v1", "nodepools"),
    "NodeClaim": ("karpenter.sh/v1", "nodeclaims"),
    "InstanceType": ("dra-scheduler.dev/v1alpha1", "instancetypes"),
    "DaemonSet": ("apps/v1", "daemonsets"),
    "PodDisruptionBudget": ("policy/v1", "poddisruptionbudgets"),
    "BindRequest": ("scheduling.run.ai/v1alpha2", "bindrequests"),
}
# A cluster without our CRDs, or one that plans no nodes, can be looked at all the same.
OPTIONAL = frozenset(
    {
        "BindRequest",
        "DeviceTaintRule",
        "NodePool",
        "NodeClaim",
        "InstanceType",
        "DaemonSet",
        "PodDisruptionBudget",
    }
)
# Kubernetes 1.36 serves taint rules as a beta, where it does at all; they look the same.
OLDER = {"DeviceTaintRule": "resource.k8s.io/v1beta2"}
PAGE = 500
FORBIDDEN, NOT_FOUND = 403, 404


class LiveCluster:
    """The cluster of one context of the kubeconfig, or the one that this process runs in."""

    __slots__ = ("_client", "namespace", "skipped")

    def __init__(self, context: str | None) -> None:
        """Raises `UnusableInputError` where there is no such configuration."""
        try:
            configuration = KubeConfig.from_env()
            if context is not None:
                configuration.set_current_context(context)
            self._client = HTTPClient(configuration)
            self.namespace: str = configuration.namespace
        except (KubernetesError, OSError) as error:
            raise _unusable("kubeconfig", f"expected access to a cluster: {error}") from error
        except KeyError as error:
            raise _unusable("kubeconfig", f"expected access to a cluster: there is no entry {error}") from error
        except (AttributeError, TypeError, ValueError, yaml.YAMLError) as error:
            # pykube takes the shape of the file for granted.
            raise _unusable("kubeconfig", f"expected the YAML of a kubeconfig: {error}") from error
        self.skipped: list[InputProblem] = []

    def objects(self) -> Iterator[KubernetesObject]:
        """Yield everything, kind by kind. What cannot be read is noted in `skipped`, as a scheduler would pass it over.

        Raises `UnusableInputError` where the server cannot be reached or refuses.
        """
        for kind, (version, plural) in PLURALS.items():
            for raw in self._list(kind, version, plural):
                try:
                    yield read({**raw, "apiVersion": version, "kind": kind})
                except InvalidObjectError as error:
                    self.skipped.append(InputProblem("cluster", error.subject, error.path, error.problem))

    def _list(self, kind: str, version: str, plural: str) -> Iterator[Mapping[str, object]]:
        following = ""
        while True:
            parameters = {"limit": PAGE, **({"continue": following} if following else {})}
            try:
                response = self._client.get(version=version, url=plural, params=parameters)
                if response.status_code == NOT_FOUND and kind in OPTIONAL:
                    older = OLDER.get(kind, version)
                    yield from self._list(kind, older, plural) if older != version else ()
                    return
                page = response.json()
            except (KubernetesError, OSError, ValueError) as error:
                raise _unusable(plural, f"expected an answer of {self._client.url}: {error}") from error
            if not response.ok:
                refusal = _unusable(plural, f"expected a list: {page.get('message', response.reason)}")
                if response.status_code == FORBIDDEN and kind in OPTIONAL:
                    self.skipped.extend(refusal.problems)
                    return
                raise refusal
            yield from page.get("items") or ()
            following = page.get("metadata", {}).get("continue", "")
            if not following:
                return


def _unusable(subject: str, message: str) -> UnusableInputError:
    return UnusableInputError(InputProblem("cluster", subject, "-", message))
