# idemrace as one static binary in an otherwise empty image, run by nobody.
#
#   docker build -t idemrace .
#   docker run --rm --network host -v "$PWD:/work" -w /work idemrace run --config idemrace.yaml --store embedded --gate
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /idemrace ./cmd/idemrace

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /idemrace /idemrace
USER 65534:65534
ENTRYPOINT ["/idemrace"]
