# The images of the operator: `--target manager` and `--target sidecar`. Nothing is compiled here, so that the images hold
# exactly the binaries that were tested; `make image-context` puts them under bin/linux_<arch>/.

FROM scratch AS base
COPY --chmod=0644 bin/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --chmod=0644 bin/licenses/ /licenses/
WORKDIR /
USER 65532:65532

FROM base AS sidecar
ARG TARGETARCH
COPY --chmod=0755 bin/linux_${TARGETARCH}/sidecar /sidecar
ENTRYPOINT ["/sidecar"]

# A build without --target builds the last stage.
FROM base AS manager
ARG TARGETARCH
COPY --chmod=0755 bin/linux_${TARGETARCH}/manager /manager
ENTRYPOINT ["/manager"]
