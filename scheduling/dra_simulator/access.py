"""A live cluster, read and never written: every object that a scheduling cycle sees."""

from collections.abc import Iterator, Mapping, Sequence

import yaml
from pykube import HTTPClient, KubeConfig
from pykube.exceptions import KubernetesError

from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.kinds import REGISTRY, ApiKind
from dra_scheduling.wire import InvalidObjectError, KubernetesObject, read
from dra_simulator.problems import InputProblem, UnusableInputError

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
        for kind in REGISTRY:
            for raw in self._list(kind, kind.api_versions):
                try:
                    # Objects of a former version look the same.
                    yield read({**raw, "apiVersion": kind.api_versions[0], "kind": kind.name})
                except InvalidObjectError as error:
                    self.skipped.append(InputProblem("cluster", error.subject, error.path, error.problem))

    def _list(self, kind: ApiKind, versions: Sequence[str]) -> Iterator[Mapping[str, object]]:
        following, plural = "", kind.plural
        while True:
            parameters = {"limit": PAGE, **({"continue": following} if following else {})}
            try:
                response = self._client.get(version=versions[0], url=plural, params=parameters)
                if response.status_code == NOT_FOUND and _may_be_missing(kind):
                    yield from self._list(kind, versions[1:]) if versions[1:] else ()
                    return
                page = response.json()
            except (KubernetesError, OSError, ValueError) as error:
                raise _unusable(plural, f"expected an answer of {self._client.url}: {error}") from error
            if not response.ok:
                refusal = _unusable(plural, f"expected a list: {page.get('message', response.reason)}")
                if response.status_code == FORBIDDEN and _may_be_missing(kind):
                    self.skipped.extend(refusal.problems)
                    return
                raise refusal
            yield from page.get("items") or ()
            following = page.get("metadata", {}).get("continue", "")
            if not following:
                return


def _may_be_missing(kind: ApiKind) -> bool:
    """Whether a cluster can be looked at without the kind, as before our definitions are applied."""
    return kind.is_optional or kind.model is BindRequest


def _unusable(subject: str, message: str) -> UnusableInputError:
    return UnusableInputError(InputProblem("cluster", subject, "-", message))
