"""Alerts on the metrics, from which the rule file for Prometheus and the page of metrics are generated."""

import msgspec

from dra_operator.metrics import PREFIX


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """An alert rule. In `condition`, `%` stands for the prefix of the metrics."""

    name: str
    condition: str
    minutes: int
    severity: str
    summary: str

    @property
    def expression(self) -> str:
        """The condition in PromQL."""
        return self.condition.replace("%", PREFIX)


ALERTS = (
    Alert(
        name="DraSchedulerNoLeader",
        condition='max by (role) (%leading) < 1 or absent(%leading{role="scheduler"})',
        minutes=2,
        severity="critical",
        summary="No replica leads the role {{ $labels.role }}: nothing of it is done. See /readyz of its pods.",
    ),
    Alert(
        name="DraSchedulerPodsWait",
        condition='sum by (reason) (%pending_pods{reason!="Nominated"}) > 0',
        minutes=60,
        severity="info",
        summary="Pods have been pending for an hour: {{ $labels.reason }}. dra explain pod NAME says more.",
    ),
    Alert(
        name="DraSchedulerBindsFail",
        condition='sum(rate(%binds_total{result=~"failed|unfinished"}[10m])) > 0.2 * sum(rate(%binds_total[10m]))',
        minutes=10,
        severity="warning",
        summary="More than a fifth of the binds fail. kubectl get br -A -o wide has the reasons.",
    ),
    Alert(
        name="DraSchedulerCyclesAreSlow",
        condition="histogram_quantile(0.99, sum by (le) (rate(%cycle_seconds_bucket[10m]))) > 3",
        minutes=15,
        severity="warning",
        summary="One scheduling cycle in a hundred takes longer than three seconds.",
    ),
    Alert(
        name="DraSchedulerApiErrors",
        condition='sum(rate(%api_requests_total{code=~"429|5..|none"}[10m])) > 1',
        minutes=10,
        severity="warning",
        summary="More than one request a second is throttled or fails at the API server.",
    ),
    Alert(
        name="DraSchedulerWatchMissedChanges",
        condition="sum by (resource) (increase(%watch_repairs_total[1h])) > 0",
        minutes=0,
        severity="warning",
        summary="A watch of {{ $labels.resource }} had missed a change, which was repaired. Please report it.",
    ),
    Alert(
        name="DraSchedulerInvalidObjects",
        condition="sum by (resource) (increase(%invalid_objects_total[1h])) > 0",
        minutes=0,
        severity="info",
        summary="Objects of {{ $labels.resource }} are invalid and ignored. Their InvalidObject Events say why.",
    ),
)
