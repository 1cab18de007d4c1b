#!/usr/bin/env bash
# What `make test` runs: all that must hold of the code. At the end it says how long each step took.
set -euo pipefail
cd "$(dirname "$0")/.."

took=""

# step NAME COMMAND...: runs it and notes its time, also when it fails.
step() {
    local name=$1 begun=$SECONDS status=0
    shift
    "$@" || status=$?
    took+="$name $((SECONDS - begun)) s, "
    return $status
}

closing() {
    echo "make test: ${took}${SECONDS} s in all"
    echo "Not run here, but once in .ci/run: make docs, make packages, make core (the build for a microcontroller)."
    echo "Not run in full: the campaigns; make soak does that."
}
trap closing EXIT

step setup scripts/setup.sh test
step format cargo fmt --check
step lints cargo clippy --workspace --all-targets -- -D warnings
# Not `cargo xtask`: chosen out of the whole workspace, its dependencies are built as the tests' are, and once.
step tests cargo run --quiet --bin xtask -- test
