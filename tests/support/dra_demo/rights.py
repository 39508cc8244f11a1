"""What the server says about a client: who it is, and what it may do."""

from dra_controlplane.client import ApiClient


def user_of(api: ApiClient) -> str:
    """Return the name under which the server knows a client."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = api.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    return str(answer["status"]["userInfo"]["username"])


def may(api: ApiClient, verb: str, resource: str) -> bool:
    """Whether a client may do this with a resource of the core group in every namespace."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": verb, "resource": resource, "version": "v1"}},
    }
    answer = api.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    return bool(answer["status"]["allowed"])
