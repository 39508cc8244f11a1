import re
from pathlib import Path

import pytest
import yaml

from dra_controlplane.installation import resources
from dra_operating.pages import RULES, SCRAPING, generated
from dra_operator.alerts import ALERTS, Alert
from dra_operator.metrics import METRICS, PREFIX, REGISTRY

ROOT = Path(__file__).parents[2]
SUFFIXES = ("", "_bucket", "_sum", "_count")


@pytest.mark.parametrize(("path", "text"), generated().items(), ids=lambda value: getattr(value, "name", ""))
def test_a_generated_file_is_up_to_date(path: Path, text: str) -> None:
    assert path.read_text() == text, "PYTHONPATH=tests/support python -m dra_operating.pages"


def test_the_table_has_every_metric_of_the_registry() -> None:
    served = {metric.name for metric in REGISTRY.collect()}

    assert {metric.name.removesuffix("_total") for metric in METRICS} == served
    assert all(name.startswith(PREFIX) for name in served)
    assert len({metric.name for metric in METRICS}) == len(METRICS)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_asks_for_metrics_and_labels_that_there_are(alert: Alert) -> None:
    labels = {metric.name + suffix: metric.labels for metric in METRICS for suffix in SUFFIXES}
    asked = re.findall(rf"({PREFIX}\w+)(?:{{([^}}]*)}})?", alert.expression)

    assert asked
    assert {name for name, _ in asked} <= labels.keys()
    matchers = [(name, label) for name, braces in asked for label in re.findall(r"(\w+)(?:=|!=|=~|!~)", braces)]
    assert [(name, label) for name, label in matchers if label not in labels[name]] == []
    said = {label for name, _ in asked for label in labels[name]}
    assert set(re.findall(r"\$labels\.(\w+)", alert.summary)) <= said


def test_alerts_have_names_of_their_own() -> None:
    names = [rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]

    assert len(set(names)) == len(names) == len(ALERTS)


def test_prometheus_finds_every_deployment() -> None:
    (job,) = yaml.safe_load(SCRAPING.read_text())["scrape_configs"]
    kept = {rule["source_labels"][0]: rule["regex"] for rule in job["relabel_configs"] if rule.get("action") == "keep"}
    deployments = [one for one in resources(ROOT / "manifests/overlays/kwok") if one["kind"] == "Deployment"]

    assert deployments
    for deployment in deployments:
        template = deployment["spec"]["template"]
        (container,) = template["spec"]["containers"]
        assert template["metadata"]["labels"]["app.kubernetes.io/part-of"] == "dra-scheduler"
        assert [port["name"] for port in container["ports"]] == ["http"]
        assert deployment["metadata"]["namespace"] in job["kubernetes_sd_configs"][0]["namespaces"]["names"]
    assert kept == {
        "__meta_kubernetes_pod_label_app_kubernetes_io_part_of": "dra-scheduler",
        "__meta_kubernetes_pod_container_port_name": "http",
    }
