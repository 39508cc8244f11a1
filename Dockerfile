# syntax=docker/dockerfile:1

FROM python:3.13-slim-bookworm AS build
WORKDIR /src
# Everything the lock file names, each with its checked hash; nothing else is there to install from afterwards.
COPY requirements.lock ./
RUN pip download --disable-pip-version-check --quiet --require-hashes --requirement requirements.lock --dest /wheels
COPY pyproject.toml README.md LICENSE ./
COPY scheduling scheduling
COPY binder binder
COPY operator operator
RUN python -m venv /opt/dra-scheduler \
    && /opt/dra-scheduler/bin/pip install --disable-pip-version-check --no-index --find-links /wheels . \
    && /opt/dra-scheduler/bin/pip uninstall --disable-pip-version-check --yes pip

FROM python:3.13-slim-bookworm
COPY --from=build /opt/dra-scheduler /opt/dra-scheduler
# The image knows no user of this number, nor of any other that a cluster may choose; Kopf wants a name.
ENV PATH=/opt/dra-scheduler/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    USER=dra-scheduler
USER 65532:65532
WORKDIR /
EXPOSE 8080
ENTRYPOINT ["dra-operator"]
