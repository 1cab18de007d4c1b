SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

# Where cargo builds; logs and helper programs go there too.
target := $(or $(CARGO_TARGET_DIR),target)

# Where `make install` puts things; a package is built with DESTDIR. mount(8) looks for its helpers below /usr only.
PREFIX ?= /usr/local
DESTDIR ?=
place := $(DESTDIR)$(PREFIX)

.PHONY: help demo quick test soak core docs packages bench install

help:
	@echo "make demo   build it, and see a real tree survive a power cut on a simulated chip (2 minutes)"
	@echo "make quick  format, lints and tests of the crates that changed since BASE (main, if not named), and the unit"
	@echo "            tests of the crates that stand on them, without Linux in QEMU (2 to 4 minutes, built before)"
	@echo "make test   all that must hold of the code: format, lints, all tests (17 minutes on two processors, 25 from"
	@echo "            nothing); not the documentation, the packages and the build for a microcontroller: see below"
	@echo "make docs packages core   these, which .ci/run runs once, beside make test (5 minutes)"
	@echo "make soak   every campaign of random and exhaustive tests, round by round (an hour; SOAK_HOURS=10 is a night and runs"
	@echo "            whole what ends; SOAK=ftl or SOAK='nandfs media' some crates; SOAK_SEED=N the seeds of another run)"
	@echo "make bench  the figures of docs/figures.md (minutes)"
	@echo "make install [PREFIX=/usr] [DESTDIR=DIR]   program, links, manual pages, completions"

demo:
	scripts/setup.sh demo
	scripts/demo.sh

quick:
	scripts/quick.sh

test:
	scripts/test.sh

soak:
	scripts/setup.sh soak
	cargo run --quiet --bin xtask -- soak

# The cores of file system and flash memory server stay fit for a microcontroller; F2FS does without ciphers and codecs.
core:
	scripts/setup.sh test
	cargo build -p pumice-flashlog -p pumice-nandfs -p pumice-ftl -p pumice-ecc --no-default-features --target thumbv7em-none-eabihf
	scripts/board.sh
	cargo check -p pumice-f2fs --no-default-features

# Every page of the libraries; their examples run with the tests.
docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# What a registry would be given of the crates that stand alone, and that it builds by itself; nothing is sent.
packages:
	cargo package --offline --allow-dirty -p pumice-media -p pumice-cleaning -p pumice-vfs

bench:
	scripts/figures.sh

# PROGRAM is a program that is built already; otherwise it is built here.
ifndef PROGRAM
PROGRAM := $(target)/release/pumice
install: $(PROGRAM)
.PHONY: $(PROGRAM)
$(PROGRAM):
	cargo build --release -p pumice-cli
endif

install:
	install -Dm755 $(PROGRAM) $(place)/bin/pumice
	install -d $(place)/sbin
	for name in mkfs fsck mount mount.fuse; do ln -sf ../bin/pumice $(place)/sbin/$$name.pumice; done
	pages=$$(mktemp -d); trap 'rm -rf "$$pages"' EXIT; \
	$(PROGRAM) man "$$pages" >/dev/null; \
	install -d $(place)/share/man/man1 $(place)/share/man/man8; \
	install -m644 "$$pages"/*.1 $(place)/share/man/man1; \
	install -m644 "$$pages"/*.8 $(place)/share/man/man8
	install -d $(place)/share/bash-completion/completions $(place)/share/zsh/site-functions \
		$(place)/share/fish/vendor_completions.d
	$(PROGRAM) completions bash >$(place)/share/bash-completion/completions/pumice
	$(PROGRAM) completions zsh >$(place)/share/zsh/site-functions/_pumice
	$(PROGRAM) completions fish >$(place)/share/fish/vendor_completions.d/pumice.fish
