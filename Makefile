# People and continuous integration use the same targets; `make help` lists them.
#
# `make demo` and `make test` set up everything themselves: a virtual environment in .venv, the compiled module
# in it, and what the tests need. The stamp files in .venv make the second call quick; a changed Rust source
# or pyproject.toml builds again, a changed Python file needs nothing (the package is installed editable).
# Written for GNU make 3.81 and newer, and for a path with spaces: every path here is relative.

# Overridable: make PYTHON=python3.12, make demo FILE=cube.fits, make bench ARGS="--small", make fuzz FUZZ_SECONDS=600.
PYTHON ?=
FILE ?=
ARGS ?=
FUZZ_SECONDS ?= 120
PREFIX ?= target/capi

export PYTHON
export PATH := $(PATH):$(HOME)/.cargo/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# maturin refuses to choose between a conda environment and .venv.
unexport CONDA_PREFIX

VENV := .venv
PY := $(VENV)/bin/python
EXTRAS := plot,test

# Wheels for Linux run on every system with this glibc or a newer one: zig links them against it.
MACHINE := $(shell uname -m)
MANYLINUX := $(if $(filter Linux,$(shell uname -s)),manylinux_2_28)
WHEEL = PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m maturin build --release
PORTABLE_WHEEL := --zig --compatibility $(MANYLINUX)

OLDEST_RUST := $(shell sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
RUST_SOURCES := $(shell find crates -name target -prune -o \( -name '*.rs' -o -name Cargo.toml \) -print)

.DELETE_ON_ERROR:
.PHONY: help demo view test quick check bench bench-full bench-gate docs fuzz soak miri lowest bigendian portable wheel capi clean require

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		awk -F '|' '{ printf "%-14s %s\n", $$1, $$2 }'

demo: $(VENV)/built ## make a cube of a galaxy, measure it, compare with the truth; FILE=cube.fits uses yours
	$(PY) -m examples.galaxy $(if $(FILE),"$(FILE)") $(ARGS)

view: $(VENV)/built ## the galaxy of the demo in the viewer; FILE=cube.fits shows yours
	@test -n "$(FILE)" || test -f demo-output/galaxy.fits || $(PY) -m examples.galaxy
	$(VENV)/bin/tachyfits view "$(or $(FILE),demo-output/galaxy.fits)" $(ARGS)

test: $(VENV)/checkers ## every test: Rust, Python, and both again under each vector tier
	$(PY) tools/steps.py test

quick: $(VENV)/checkers ## in about 90 s what a change touches: lints, types, and the tests that mention it
	$(PY) tools/quick.py

check: $(VENV)/checkers ## formats, lints, types, documentation, architecture; no network but for the set-up
	$(PY) tools/steps.py check

bench: $(VENV)/built ## the benchmarks beside the peers that are installed, for any laptop; ARGS="--small" for answers alone
	$(PY) -m bench setup
	$(PY) -m bench $(ARGS)

bench-full: $(VENV)/built ## the same with inputs as large as in the papers: 28 GB, over an hour
	$(PY) -m bench setup
	$(PY) -m bench --full $(ARGS)

bench-gate: $(VENV)/built ## small inputs, the peers that are there; fails where an answer is wrong or a ratio far below its bar
	$(PY) -m bench --gate $(ARGS)

docs: $(VENV)/checkers ## the documentation as a site that works offline, and the Rust reference
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet
	cargo doc --workspace --no-deps
	@echo "Guides and Python: site/index.html"
	@echo "Rust:              target/doc/tachyfits/index.html"

fuzz: require ## each fuzz target for FUZZ_SECONDS=120
	@tools/require nightly
	@set -e; targets=$$(cargo +nightly fuzz list); for target in $$targets; do \
		echo "fuzz $$target for $(FUZZ_SECONDS) s"; \
		cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS); \
	done

soak: $(VENV)/checkers ## tests that take minutes: faults of servers, too little memory, the viewer for half an hour
	cargo test -p tachyfits-io --features remote,conformance --test remote
	cargo test -p tachyfits --test memory
	$(PY) -m bench.soak $(ARGS)

miri: require ## the tests of the format and kernels crates under Miri, which finds undefined behaviour
	@tools/require miri
	PROPTEST_CASES=2 MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p tachyfits-format --lib
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p tachyfits-kernels --test twins -- \
		checksum:: transpose:: tiers:: columns::bits columns::bytes

lowest: require ## compiles and tests the crates with the lowest versions of dependencies that their manifests allow
	@tools/require lowest
	rm -rf target/lowest && git clone --quiet . target/lowest
	cd target/lowest && cargo +nightly update --quiet -Z direct-minimal-versions
	cd target/lowest && cargo check --locked --workspace --all-targets --all-features --target-dir ../lowest-build
	cd target/lowest && cargo test --locked -p tachyfits-format -p tachyfits-io --target-dir ../lowest-build

bigendian: export PROPTEST_CASES := 16
bigendian: export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER := s390x-linux-gnu-gcc
bigendian: export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER := qemu-s390x -L /usr/s390x-linux-gnu
bigendian: require ## these and the tests of records on a big-endian machine (s390x), emulated by QEMU
	@tools/require s390x
	cargo test -p tachyfits-format -p tachyfits-kernels --target s390x-unknown-linux-gnu
	cargo test -p tachyfits-records --test records --target s390x-unknown-linux-gnu -- --skip large

portable: require ## type-checks with the oldest supported Rust, and for macOS, Windows and WebAssembly
	@tools/require targets
	cargo +$(OLDEST_RUST) check --workspace
	cargo check --no-default-features -p tachyfits -p tachyfits-records --target aarch64-apple-darwin
	cargo check --no-default-features -p tachyfits-format -p tachyfits-kernels --target x86_64-pc-windows-gnu
	cargo check --no-default-features -p tachyfits-format -p tachyfits-kernels --target wasm32-unknown-unknown

wheel: $(VENV)/environment ## wheels in target/wheels: for this machine, tried in an environment of its own, and for x86-64 and aarch64 Linux
	rm -rf target/wheels target/wheel-test
	$(if $(MANYLINUX),$(PY) -m pip install --quiet ziglang auditwheel)
	$(WHEEL) $(if $(MANYLINUX),$(PORTABLE_WHEEL) --target $(MACHINE)-unknown-linux-gnu)
	$(if $(MANYLINUX),$(PY) tools/check_wheels.py $(MANYLINUX) target/wheels)
	$(PY) -m venv target/wheel-test
	target/wheel-test/bin/python -m pip install --quiet "$$(ls target/wheels/*.whl)[server]"
	cd target/wheel-test && bin/python ../../tools/try_wheel.py
	@set -e; for machine in $(filter-out $(MACHINE),$(if $(MANYLINUX),x86_64 aarch64)); do \
		if tools/require "wheel-$$machine"; then \
			$(WHEEL) $(PORTABLE_WHEEL) --target "$$machine-unknown-linux-gnu"; \
			$(PY) tools/check_wheels.py $(MANYLINUX) target/wheels; \
		fi; \
	done

capi: require ## the library for C, C++ and Fortran, installed in PREFIX=target/capi
	"$$(tools/require python)" tools/install_capi.py "$(PREFIX)"

clean: ## remove what was made here (the environment, builds, pictures)
	rm -rf $(VENV) target fuzz/target site demo-output bench/build
	find python -name '*.so' -exec rm {} +

# The set-up. The checks of `require` run each time (a few milliseconds); being order-only they rebuild nothing.

require:
	@tools/require python rust linker >/dev/null

$(VENV)/environment: | require
	rm -rf $(VENV)
	"$$(tools/require python)" -m venv $(VENV)
	$(PY) -m pip install --quiet 'maturin>=1.9,<2'
	@touch $@

$(VENV)/built: $(RUST_SOURCES) Cargo.toml Cargo.lock pyproject.toml $(VENV)/environment | require
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(PY) -m maturin develop --release --extras $(EXTRAS)
	@touch $@

$(VENV)/checkers: pyproject.toml $(VENV)/built
	$(PY) -m pip install --quiet mypy pyright ruff mkdocs-material 'mkdocstrings[python]'
	if command -v npm >/dev/null; then for tools in web tests/services; do \
		npm install --prefix $$tools --silent --no-package-lock --ignore-scripts || exit; done; fi
	@touch $@
