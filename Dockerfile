# syntax=docker/dockerfile:1
# The operator's image:  docker build -t registry.example.com/app-operator:0.2.0 --build-arg VERSION=0.2.0 .
# By digest: the release builds on the same image each time. Dependency updates replace it.
ARG NODE_IMAGE=node:24-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

# Production dependencies only.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY imports ./imports
COPY constructs ./constructs
COPY jobs ./jobs
COPY tools/jobs ./tools/jobs
COPY tools/bundle ./tools/bundle
COPY runner ./runner
COPY cli ./cli
RUN node tools/jobs/build.ts && node node_modules/typescript/bin/tsc -p tsconfig.json --declaration false --sourceMap false --incremental false --tsBuildInfoFile null && node dist/lib/tools/bundle/build.js

FROM ${NODE_IMAGE}
ARG VERSION=dev
LABEL org.opencontainers.image.title="app-operator" \
      org.opencontainers.image.description="Kubernetes operator for benches and sites of the Frappe Framework" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
# glibc keeps unused memory in every arena but the first, and 60 MiB of it after large lists: with a fixed
# threshold, large buffers are mapped, and given back when they are freed.
ENV NODE_ENV=production MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist/lib ./dist/lib
COPY package.json ./
# A numeric user, so that the kubelet can verify runAsNonRoot. Group 0 suits platforms that assign user ids.
USER 1001:0
# HTTPS and health. Plain metrics (8080) are served on --metrics-bind-address.
EXPOSE 8443 8081
# The live heap is small: an early garbage collection costs little and halves the memory.
ENTRYPOINT ["node", "--max-semi-space-size=2", "--heap-growing-percent=20", "dist/lib/operator/main.js"]
