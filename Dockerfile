# One image for every process; the command picks it: python -m collectors, python -m db upgrade, …
# Runs as a plain user on a read-only root; needs a writable /tmp only. Whoever runs it asks whether it is well
# (compose and the Helm chart do), so that there is no HEALTHCHECK here.

FROM python:3.11-slim AS build
RUN pip install --no-cache-dir "uv>=0.9" && python -m venv /opt/venv
WORKDIR /app
COPY pyproject.toml requirements.lock ./
# The lock also pins what developers need. As constraints it fixes versions and hashes, and pyproject.toml
# alone says what is installed: no test or lint tool reaches the image.
RUN uv pip install --no-cache --compile-bytecode --python /opt/venv/bin/python \
    --verify-hashes --constraints requirements.lock --requirements pyproject.toml --extra aws
COPY . .
RUN uv pip install --no-cache --python /opt/venv/bin/python --no-deps --editable . \
    && /opt/venv/bin/python -m compileall -q .

FROM python:3.11-slim
LABEL org.opencontainers.image.title="Tierdeck" \
      org.opencontainers.image.description="Operators' console for tiered KV caches of vLLM fleets" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin tierdeck
ENV PATH=/opt/venv/bin:$PATH HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 TIERDECK_HOME=/tmp/tierdeck
WORKDIR /app
USER 10001
CMD ["tierdeck", "--help"]
