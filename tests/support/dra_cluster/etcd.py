"""Objects as they come to be in old clusters: stored by a server that let pass what today's would refuse."""

import base64
import json
import urllib.request

from dra_controlplane.client import Json


def overwrite(etcd_url: str, path: str, before: str, after: str) -> None:
    """Changes a text inside a stored object, which must stay as long as it was; the server's watches tell of it.

    `path` is that of the object in the store, such as `deviceclasses/gpu.example.com`.

    Raises:
        LookupError: there is no such object, or the text is not in it.
    """
    key = f"/registry/{path}".encode()
    found = _ask(etcd_url, "range", {"key": _encoded(key)}).get("kvs") or []
    if len(before) != len(after) or len(found) != 1:
        raise LookupError(f"{path}: {len(found)} objects; {before!r} and {after!r} must be of equal length")
    value = base64.b64decode(found[0]["value"])
    if before.encode() not in value:
        raise LookupError(f"{before!r} is not in {path}")
    _ask(etcd_url, "put", {"key": _encoded(key), "value": _encoded(value.replace(before.encode(), after.encode()))})


def _ask(etcd_url: str, method: str, body: Json) -> Json:
    request = urllib.request.Request(f"{etcd_url}/v3/kv/{method}", data=json.dumps(body).encode(), method="POST")  # noqa: S310
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        decoded: Json = json.loads(answer.read())
        return decoded


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()
