# Transom in a container, without the SDKs, which only the demo, the doctor and the tests use.
#
#   docker build -t transom .
#
# README.md says how to run it. Every package is a wheel for 64-bit x86 and 64-bit Arm alike, so
# the same file builds for both (docker buildx build --platform linux/amd64,linux/arm64 .).
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
WORKDIR /src
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY deploy/serve.lock deploy/build.lock deploy/
RUN python -m venv /opt/transom \
 && /opt/transom/bin/pip install --require-hashes --only-binary :all: -r deploy/serve.lock \
 && python -m venv /opt/build \
 && /opt/build/bin/pip install --require-hashes --only-binary :all: -r deploy/build.lock
COPY pyproject.toml README.md LICENSE config.example.toml ./
COPY policies policies
COPY proxy proxy
RUN /opt/build/bin/hatchling build -t wheel -d dist \
 && /opt/transom/bin/pip install --no-deps --no-index dist/*.whl \
 && /opt/transom/bin/pip uninstall --yes pip setuptools

FROM python:${PYTHON}-slim
LABEL org.opencontainers.image.title="Transom" \
      org.opencontainers.image.description="A reverse proxy for LLM APIs: frames untrusted tool results, keeps secrets at home." \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 1000 transom \
 && useradd --uid 1000 --gid 1000 --no-create-home --home-dir /var/lib/transom \
      --shell /usr/sbin/nologin transom \
 && install --directory --mode 0700 --owner transom --group transom /var/lib/transom
COPY --from=build /opt/transom /opt/transom
# State, its key and the control socket lie in $XDG_STATE_HOME/transom, the volume; nothing else is
# ever written, so the root file system may be read-only.
ENV PATH=/opt/transom/bin:$PATH \
    XDG_STATE_HOME=/var/lib \
    PYTHONSAFEPATH=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 1000:1000
WORKDIR /var/lib/transom
VOLUME ["/var/lib/transom"]
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 CMD ["transom", "health"]
ENTRYPOINT ["transom"]
CMD ["serve"]
