# syntax=docker/dockerfile:1
# The gateway as an image: the published package and its dependencies on plain Node, run by a user without rights, from a
# root file system that may be read-only. What it keeps is in /data.

FROM node:26.10.0-bookworm-slim AS package
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
# What `npm pack` makes is what people install, dashboard included.
RUN npm pack --pack-destination /tmp \
  && mkdir /package \
  && tar -xzf /tmp/turnpike-*.tgz -C /package --strip-components=1

# The Node of the base image is new enough: the one that npm would bring along is optional, and left out.
FROM node:26.10.0-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --omit=dev --omit=optional

# Providers other than OpenAI's kind speak through these. `--build-arg WIRES=` leaves them out.
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
# One folder above: what the package itself does not bring is looked for there.
COPY --from=wires /wires/node_modules /opt/node_modules
RUN install -d -o 1000 -g 1000 -m 700 /data && install -d /etc/turnpike
# turnpike.yaml is read from here, if it is there.
WORKDIR /etc/turnpike
# By number, so that Kubernetes can tell that it is not root.
USER 1000:1000
VOLUME /data
EXPOSE 8080
# Drains: 5 s in which it still takes requests, then up to 120 s for those that are open. Give it 135 s before a kill.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TURNPIKE_PORT}/health`).then(answer => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/opt/turnpike/bin/turnpike.js"]
CMD ["serve"]
