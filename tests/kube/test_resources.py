import pytest

from dra_kube.resources import Resource, Target
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Node

NODES = Resource(kind=Node, group="", version="v1", plural="nodes")
CLAIMS = Resource(kind=ResourceClaim, group="resource.k8s.io", version="v1", plural="resourceclaims")


def test_paths_of_the_core_and_of_a_group() -> None:
    assert NODES.object_path(ObjectKey("", "n"), "status") == "/api/v1/nodes/n/status"
    assert CLAIMS.path == "/apis/resource.k8s.io/v1/resourceclaims"
    assert CLAIMS.collection_path("a") == "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims"
    assert CLAIMS.object_path(ObjectKey("a", "b")) == "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims/b"
    assert (NODES.api_version, CLAIMS.api_version) == ("v1", "resource.k8s.io/v1")


@pytest.mark.parametrize(
    ("path", "resource", "name"),
    [
        ("/api/v1/nodes", "nodes", ""),
        ("/api/v1/nodes/n", "nodes", "n"),
        ("/api/v1/namespaces/a", "namespaces", "a"),
        ("/api/v1/namespaces/a/pods/b/binding", "pods/binding", "a/b"),
        ("/apis/resource.k8s.io/v1/namespaces/a/resourceclaims", "resourceclaims", "a"),
        ("/apis/resource.k8s.io/v1/namespaces/a/resourceclaims/b/status", "resourceclaims/status", "a/b"),
        ("/apis/resource.k8s.io/v1", "", ""),
        ("/api/v1/pods?limit=1", "pods", ""),
    ],
)
def test_a_path_is_named_for_people(path: str, resource: str, name: str) -> None:
    assert Target.of(path) == (resource, name)
