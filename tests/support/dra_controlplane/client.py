"""A small synchronous client of the Kubernetes API: one kept connection a thread, JSON in and out.

A resource is named as ``v1/pods`` or ``resource.k8s.io/v1/resourceclaims``; whole objects find theirs by discovery.
"""

import base64
import http.client
import select
import ssl
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import orjson
import yaml

Json = dict[str, Any]

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

NOT_FOUND = 404


class ApiError(Exception):
    """The server refused; ``code`` is the HTTP status, ``reason`` the word of the Status object, ``body`` all of it."""

    def __init__(self, request: str, code: int, body: Json) -> None:
        self.code = code
        self.reason = str(body.get("reason", ""))
        self.message = str(body.get("message", ""))
        self.body = body
        super().__init__(f"{request}: {code} {self.reason}: {self.message}")


class _Connection(http.client.HTTPSConnection):
    """Closes its socket with the thread or client that it belonged to."""

    def __del__(self) -> None:
        self.close()


class ApiClient:
    """Every verb that tests, demo and benchmark need. May be shared by threads."""

    def __init__(self, url: str, *, tls: ssl.SSLContext, token: str | None = None, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._tls = tls
        self._timeout = timeout
        self._headers = {"Accept": "application/json", "User-Agent": "dra-controlplane"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._local = threading.local()
        self._discovered: dict[tuple[str, str], tuple[str, bool]] = {}

    @classmethod
    def from_kubeconfig(cls, path: Path) -> Self:
        """A client with the rights of the file's current context, whose credentials must be inside the file."""
        config = yaml.safe_load(path.read_text())
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"])["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        tls = ssl.create_default_context(cadata=authority)
        if "client-certificate-data" in user:
            _load_certificate(tls, user["client-certificate-data"], user["client-key-data"])
        return cls(cluster["server"], tls=tls, token=user.get("token"))

    @property
    def tls(self) -> ssl.SSLContext:
        """How this client logs in, for clients of another kind."""
        return self._tls

    # The path is the last word: whatever has no method here is a request.
    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Json:
        """The decoded answer to one request; a body that is not bytes is sent as JSON.

        Raises:
            ApiError: the status is not 2xx.
            OSError, http.client.HTTPException: there was no answer; the write may have happened.
        """
        payload = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        connection = self._connection()
        try:
            connection.request(method, path, payload, {**self._headers, "Accept": accept, "Content-Type": content_type})
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            connection.close()
            raise
        return _decoded(f"{method} {path}", response.status, content)

    def get(self, resource: str, name: str, *, namespace: str | None = None, subresource: str = "") -> Json:
        """One object."""
        return self.request("GET", path_of(resource, name, namespace=namespace, subresource=subresource))

    def find(self, resource: str, name: str, *, namespace: str | None = None) -> Json | None:
        """One object, or None where there is none."""
        try:
            return self.get(resource, name, namespace=namespace)
        except ApiError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    def list(self, resource: str, *, namespace: str | None = None, selectors: Mapping[str, str] | None = None) -> Json:
        """The whole List object; selectors are query parameters such as ``labelSelector`` and ``fieldSelector``."""
        return self.request("GET", _with_query(path_of(resource, namespace=namespace), selectors or {}))

    def items(
        self, resource: str, *, namespace: str | None = None, selectors: Mapping[str, str] | None = None
    ) -> tuple[Json, ...]:
        """The objects of a list, in the server's order."""
        return tuple(self.list(resource, namespace=namespace, selectors=selectors)["items"])

    def create(self, body: Json, *, namespace: str | None = None) -> Json:
        """The object as the server stored it. Its namespace is its own, else the argument, else ``default``."""
        return self.request("POST", self._path_for(body, namespace=namespace, name=""), body)

    def put(self, body: Json, *, subresource: str = "") -> Json:
        """The object as the server stored it, in place of the present one."""
        return self.request("PUT", self._path_for(body, name=body["metadata"]["name"], subresource=subresource), body)

    def apply(self, body: Json, *, namespace: str | None = None, field_manager: str = "dra-controlplane") -> Json:
        """The object as it is after a forced server-side apply with strict validation."""
        path = self._path_for(body, namespace=namespace, name=body["metadata"]["name"])
        query = {"fieldManager": field_manager, "force": "true", "fieldValidation": "Strict"}
        return self.request("PATCH", _with_query(path, query), body, content_type=APPLY_PATCH)

    def patch(self, path: str, patch: object, *, content_type: str = MERGE_PATCH) -> Json:
        """The object at a path of :func:`path_of` after the patch."""
        return self.request("PATCH", path, patch, content_type=content_type)

    def delete(self, resource: str, name: str, *, namespace: str | None = None, options: Json | None = None) -> Json:
        """The object or Status that the server answers with; options are a DeleteOptions object."""
        return self.request("DELETE", path_of(resource, name, namespace=namespace), options)

    def watch(
        self, resource: str, *, namespace: str | None = None, parameters: Mapping[str, str] | None = None
    ) -> Iterator[tuple[str, Json]]:
        """Type and object of each event until the server ends the watch, on a connection of its own.

        Give ``resourceVersion`` and ``timeoutSeconds`` as parameters; the latter also bounds the wait of this side.
        """
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": "60", **(parameters or {})}
        path = _with_query(path_of(resource, namespace=namespace), query)
        connection = self._connect(timeout=float(query["timeoutSeconds"]) + 10.0)
        try:
            connection.request("GET", path, headers=self._headers)
            response = connection.getresponse()
            if response.status != http.client.OK:
                _decoded(f"GET {path}", response.status, response.read())
            while line := response.readline():
                event = orjson.loads(line)
                yield event["type"], event["object"]
        finally:
            connection.close()

    def _path_for(self, body: Json, *, name: str, namespace: str | None = None, subresource: str = "") -> str:
        resource, namespaced = self._discover(body["apiVersion"], body["kind"])
        within = (body["metadata"].get("namespace") or namespace or "default") if namespaced else None
        return path_of(resource, name, namespace=within, subresource=subresource)

    def _discover(self, version: str, kind: str) -> tuple[str, bool]:
        if (version, kind) not in self._discovered:
            for entry in self.request("GET", _root(version))["resources"]:
                if "/" not in entry["name"]:
                    self._discovered[version, entry["kind"]] = f"{version}/{entry['name']}", entry["namespaced"]
        if (version, kind) not in self._discovered:
            raise LookupError(f"the server has no {kind} in {version}")
        return self._discovered[version, kind]

    def _connection(self) -> _Connection:
        kept: _Connection | None = getattr(self._local, "connection", None)
        if kept is None:
            kept = self._local.connection = self._connect(timeout=self._timeout)
        # A kept connection with something to read before it was asked anything has been closed by the server.
        elif kept.sock is not None and select.select([kept.sock], [], [], 0)[0]:
            kept.close()
        return kept

    def _connect(self, *, timeout: float) -> _Connection:
        return _Connection(self._host, self._port, context=self._tls, timeout=timeout)


def path_of(resource: str, name: str = "", *, namespace: str | None = None, subresource: str = "") -> str:
    """The URL path of a collection or object, such as ``/api/v1/namespaces/a/pods/b/status``."""
    version, _, plural = resource.rpartition("/")
    within = f"/namespaces/{namespace}" if namespace is not None else ""
    return "/".join(part for part in (f"{_root(version)}{within}/{plural}", name, subresource) if part)


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _with_query(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _decoded(request: str, status: int, content: bytes) -> Json:
    try:
        body = orjson.loads(content) if content else {}
    except orjson.JSONDecodeError:
        body = {"message": content.decode(errors="replace")}
    if not http.client.OK <= status < http.client.MULTIPLE_CHOICES:
        raise ApiError(request, status, body)
    return body if isinstance(body, dict) else {"value": body}


def _named(entries: list[Json], name: str) -> Json:
    return next(entry for entry in entries if entry["name"] == name)


def _load_certificate(tls: ssl.SSLContext, certificate: str, key: str) -> None:
    # The ssl module reads certificates from files only.
    with tempfile.NamedTemporaryFile() as both:
        both.write(base64.b64decode(certificate) + base64.b64decode(key))
        both.flush()
        tls.load_cert_chain(both.name)
