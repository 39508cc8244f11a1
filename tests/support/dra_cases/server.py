"""Just enough of an API server to be listed: objects in, pages of lists out."""

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import yaml

PAGE = 2


class ListServer:
    """Serves lists of these objects in pages of two; answers what is in `refusals` with that status instead."""

    def __init__(self, objects: Sequence[dict[str, Any]], refusals: dict[str, int] | None = None) -> None:
        self._lists: dict[str, list[dict[str, Any]]] = {}
        self._refusals = refusals or {}
        self.asked: list[tuple[str, str]] = []
        for value in objects:
            self._lists.setdefault(f"{value['kind'].lower()}{'es' if value['kind'].endswith('s') else 's'}", []).append(
                value
            )
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def kubeconfig(self, folder: Path) -> Path:
        """Return a kubeconfig of this server, with the contexts `here` (the current one) and `nowhere`."""
        url = f"http://127.0.0.1:{self._server.server_port}"
        contexts = [{"name": name, "context": {"cluster": name, "user": "me"}} for name in ("here", "nowhere")]
        file = folder / "kubeconfig"
        servers = {"here": url, "nowhere": "http://127.0.0.1:1"}
        clusters = [{"name": name, "cluster": {"server": server}} for name, server in servers.items()]
        file.write_text(
            yaml.safe_dump({"current-context": "here", "contexts": contexts, "clusters": clusters, "users": []})
        )
        return file

    def answer(self, path: str) -> tuple[int, dict[str, Any]]:
        """Return status and body for a GET of this path."""
        parts = urlsplit(path)
        resource = parts.path.rpartition("/")[2]
        if resource in self._refusals:
            code = self._refusals[resource]
            return code, {"kind": "Status", "message": f"{resource} is forbidden", "code": code}
        start = int(parse_qs(parts.query).get("continue", ["0"])[0])
        items = self._lists.get(resource, [])
        following = str(start + PAGE) if start + PAGE < len(items) else ""
        # As the real server does, a list names kind and version once for all of its items.
        bare = [
            {key: value for key, value in item.items() if key not in {"apiVersion", "kind"}}
            for item in items[start : start + PAGE]
        ]
        return 200, {"kind": "List", "metadata": {"continue": following}, "items": bare}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append((self.command, self.path))
                code, body = server.answer(self.path)
                content = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
