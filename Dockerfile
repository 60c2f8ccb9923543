# syntax=docker/dockerfile:1
# The gateway as an image: the published package and its dependencies on the official Node image. It runs as an
# unprivileged user, its root file system may be read-only, and its data is in /data.

FROM node:26.10.0-bookworm-slim AS package
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
# The package that `npm pack` builds, including the dashboard, is what users install.
RUN npm pack --pack-destination /tmp \
  && mkdir /package \
  && tar -xzf /tmp/turnpike-*.tgz -C /package --strip-components=1

# The base image has the right version of Node, so the optional package that contains Node is omitted.
FROM node:26.10.0-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --omit=dev --omit=optional

# Packages for the provider kinds other than openai. `--build-arg WIRES=` omits them.
FROM node:26.10.0-bookworm-slim AS wires
WORKDIR /wires
ARG WIRES="@ai-sdk/amazon-bedrock@5.0.101 @ai-sdk/anthropic@4.0.102 @ai-sdk/cohere@4.0.52 @ai-sdk/google@4.0.117 @ai-sdk/google-vertex@5.0.98"
# hadolint ignore=DL3016,SC2086
RUN mkdir node_modules \
  && if [ -n "$WIRES" ]; then npm install --ignore-scripts --no-audit --no-fund --no-package-lock $WIRES; fi

FROM node:26.10.0-bookworm-slim
ENV TURNPIKE_HOST=0.0.0.0 \
    TURNPIKE_PORT=8080 \
    TURNPIKE_DATA_DIR=/data
COPY --from=package /package /opt/turnpike
COPY --from=dependencies /app/node_modules /opt/turnpike/node_modules
# One folder above the package, where Node looks for modules that the package does not contain.
COPY --from=wires /wires/node_modules /opt/node_modules
# The command `turnpike`, for `docker exec`.
RUN install -d -o 1000 -g 1000 -m 700 /data \
  && install -d /etc/turnpike \
  && ln -s /opt/turnpike/bin/turnpike.js /usr/local/bin/turnpike
# turnpike.yaml is read from this folder if it exists.
WORKDIR /etc/turnpike
# A number, so that Kubernetes can verify that it is not root.
USER 1000:1000
VOLUME /data
EXPOSE 8080
# SIGTERM drains: requests are served for 5 s more, open ones get 120 s, settlements 30 s. Allow 170 s before a kill.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TURNPIKE_PORT}/health`).then(answer => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/opt/turnpike/bin/turnpike.js"]
CMD ["serve"]
