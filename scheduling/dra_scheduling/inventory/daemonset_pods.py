"""The newest living pod of each DaemonSet: what admission made of the template is seen on it."""

from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.node_state import DAEMON_SET


class DaemonSetPods:
    """Living pods by DaemonSet. What changes something returns the DaemonSets that may have another newest pod now."""

    __slots__ = ("_daemon_of", "_living", "_newest")

    def __init__(self) -> None:
        self._living: dict[ObjectKey, dict[ObjectKey, Pod]] = {}
        self._daemon_of: dict[ObjectKey, ObjectKey] = {}
        self._newest: dict[ObjectKey, Pod] = {}

    def newest(self, daemon: ObjectKey) -> Pod | None:
        """Return the youngest pod of the DaemonSet that runs, or is going to."""
        return self._newest.get(daemon)

    def apply(self, pod: Pod) -> tuple[ObjectKey, ...]:
        """Take over a pod's state."""
        owner = pod.metadata.controller
        is_living = not (pod.is_finished or pod.metadata.is_deleting)
        if owner is None or owner.kind != DAEMON_SET or not is_living:
            return self.remove(pod.key)
        daemon = ObjectKey(pod.metadata.namespace, owner.name)
        before = () if self._daemon_of.get(pod.key) == daemon else self.remove(pod.key)
        self._daemon_of[pod.key] = daemon
        self._living.setdefault(daemon, {})[pod.key] = pod
        newest = self._newest.get(daemon)
        if newest is None or newest.key == pod.key or _age(newest) <= _age(pod):
            self._newest[daemon] = pod
            return (*before, daemon)
        return before

    def remove(self, key: ObjectKey) -> tuple[ObjectKey, ...]:
        """Forget a pod."""
        daemon = self._daemon_of.pop(key, None)
        if daemon is None:
            return ()
        left = self._living[daemon]
        del left[key]
        if self._newest[daemon].key != key:
            return ()
        del self._newest[daemon]
        if left:
            self._newest[daemon] = max(left.values(), key=_age)
        else:
            del self._living[daemon]
        return (daemon,)


def _age(pod: Pod) -> tuple[str, str]:
    return pod.metadata.creation_timestamp, pod.metadata.name
