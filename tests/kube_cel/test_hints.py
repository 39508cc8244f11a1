import pytest

from kube_cel import DeviceView, EvaluationError, compile_selector, error_text

DEVICE = DeviceView.of(
    "gpu.example.com", {"model": "A", "numa": 0, "slot": 3, "uuid": "x", "net.example.com/speed": 100}, {}
)
OF_GPU = 'device.attributes["gpu.example.com"]'


def failure(expression: str, device: DeviceView) -> str:
    try:
        compile_selector(expression).evaluate(device)
    except EvaluationError as error:
        return error_text(error, device)
    return ""


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (f"{OF_GPU}.modle == 'A'", "no such key: modle (the nearest is model)"),
        (f"{OF_GPU}['Model'] == 'A'", "no such key: Model (the nearest is model)"),
        (f"{OF_GPU}.cores > 1", "no such key: cores (there is model, numa, slot and 1 more)"),
        (
            'device.attributes["gpu.exmaple.com"].model == "A"',
            "no such key: model (nothing there is of that domain, only of gpu.example.com, net.example.com)",
        ),
        ('{"a": 1}.b == 1', "no such key: b (there is a)"),
        (f"[1][{OF_GPU}.slot] == 1", "index '3' out of range in list size '1'"),
        (f"{OF_GPU}.model == 'A'", ""),
    ],
)
def test_a_name_that_is_missing_is_told_with_what_there_is(expression: str, text: str) -> None:
    assert failure(expression, DEVICE) == text


def test_of_a_device_without_anything_nothing_can_be_named() -> None:
    assert failure(f"{OF_GPU}.model == 'A'", DeviceView.of("gpu.example.com", {}, {})) == "no such key: model"
