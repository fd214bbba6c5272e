# make help lists what there is. Everything runs from this folder.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

# One version for everybody, run through go: nothing to install.
STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := go run golang.org/x/vuln/cmd/govulncheck@v1.9.0

# How long each fuzz target runs: make fuzz FUZZTIME=1m
FUZZTIME ?= 10s
# Which packages: make race PKG=./impl/...
PKG ?= ./...
# Further flags for go test: make race TEST='-run Claim -count=20'
TEST ?=
# The store of the article's reference run.
STORE ?= redis-server

.PHONY: help build install test race lint vet staticcheck fmt fuzz bench vuln tidy examples article ci clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-12s %s\n", $$1, $$2 }'

build: ## build bin/idemrace
	go build -o bin/idemrace ./cmd/idemrace

install: ## put idemrace where go install puts commands
	go install ./cmd/idemrace

test: ## run the tests; says at its end what could not run here
	go test $(TEST) $(PKG)

race: ## run the tests with the race detector, nothing remembered
	go test -race -count=1 -timeout 30m $(TEST) $(PKG)

lint: fmt vet staticcheck ## gofmt, go vet, staticcheck (exceptions: staticcheck.conf)

fmt:
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; }

vet:
	go vet $(PKG)

staticcheck:
	$(STATICCHECK) $(PKG)

fuzz: ## fuzz every target for FUZZTIME (10s) each
	@go list -f '{{$$d := .Dir}}{{range .TestGoFiles}}{{$$d}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$$d}}/{{.}}{{"\n"}}{{end}}' $(PKG) | \
	{ grep -v '^$$' | xargs -r grep -HoE '^func Fuzz[A-Za-z0-9_]+' || true; } | \
	while IFS=: read -r file func; do \
		target=$${func#func }; \
		echo "== $$target in $$(realpath --relative-to=. "$$(dirname "$$file")")"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")" </dev/null; \
	done

bench: ## run the benchmarks; figures are read, never asserted
	go test -run '^$$' -bench . -benchmem $(TEST) $(PKG)

vuln: ## look for known vulnerabilities; needs the network for their list
	$(GOVULNCHECK) $(PKG)

tidy: ## fail if go.mod or go.sum are not what go mod tidy makes of them
	go mod tidy -diff

examples: ## vet and test the projects under examples, each a module of its own
	@for mod in examples/*/go.mod; do \
		dir=$$(dirname "$$mod"); echo "== $$dir"; \
		(cd "$$dir" && go mod tidy -diff && go vet ./... && go test -race -count=1 ./...); \
	done

# The scenarios that the article has tables or rules for; the races behind them are
# not in it.
ARTICLE := in-flight,sequential-retry,key-reuse,provider-error,redis-down,redis-down-closed,scope,retention,key-length,oversize-result,worker-death

article: build ## make results/article: the reference run on Redis 7, in every format
	rm -rf results/article
	bin/idemrace run -q --scenario $(ARTICLE) --impl article --store $(STORE) --save results/article -o /dev/null
	bin/idemrace check -q results/article -o /dev/null
	bin/idemrace report results/article --color never \
		--format table=results/article/table.txt,markdown=results/article/table.md,junit=results/article/junit.xml
	@cat results/article/table.txt

ci: ## what CI runs: installs and starts redis-server and Docker where missing (Debian, root)
	bash .ci/run

clean: ## remove what was built
	rm -rf bin
