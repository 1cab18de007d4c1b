#!/usr/bin/env bash
# What `make quick` runs: format and lints, the tests of the crates that changed since BASE, uncommitted changes included,
# and the unit tests of the crates that stand on them. Linux is not booted.
# Usage: [BASE=COMMIT] scripts/quick.sh
set -euo pipefail
cd "$(dirname "$0")/.."

# The last commit that is in BASE, too, or else in main.
base() {
    local main
    for main in ${BASE:-origin/main main}; do
        git merge-base "$main" HEAD 2>/dev/null && return
    done
    echo "quick: no commit in common with ${BASE:-main}; name one: make quick BASE=COMMIT" >&2
    return 1
}

# The names of all files that changed.
changed_files() {
    git diff --name-only "$1"
    git ls-files --others --exclude-standard
}

# The place of the crate that a file belongs to: that of the nearest manifest above it, none for files of the whole workspace.
place() {
    local place=$1
    while place=$(dirname "$place") && [ "$place" != . ]; do
        [ ! -e "$place/Cargo.toml" ] || { echo "$place"; return; }
    done
}

name() { sed -n 's/^name = "\(.*\)"/\1/p' "$1/Cargo.toml" | head -1; }

# The packages that stand on one.
dependants() {
    cargo tree --offline --workspace --edges normal,build --prefix none --invert "$1" |
        sed -n '2,$s/^\([^ ]*\) v[^ ]* (.*/\1/p'
}

# --test NAME for each test program of the crate in a place.
test_programs() { grep -A1 -F '[[test]]' "$1/Cargo.toml" | sed -n 's/^name = "\(.*\)"/--test \1/p'; }

since=$(base)
files=$(changed_files "$since" | sort -u)
places=$(for file in $files; do place "$file"; done | sort -u | grep -vx fuzz || true)
elsewhere=$(for file in $files; do [ -n "$(place "$file")" ] || echo "$file"; done)
changed=$(for place in $places; do name "$place"; done)
above=$(for name in $changed; do dependants "$name"; done | sort -u | grep -vxF "$changed" || true)
programs=$(for place in $places; do test_programs "$place" || true; done)

# Lists are given to commands and shown as words.
# shellcheck disable=SC2086
{
    echo "quick: since $(git log -1 --format='%h %s' "$since" | cut -c1-80)"
    echo "quick: all tests of" ${changed:-no crate}
    echo "quick: unit tests of" ${above:-no other crate}
    [ -z "$elsewhere" ] || echo "quick: no tests for" $elsewhere
    trap 'echo "quick: $SECONDS s; left out: what boots Linux, other tests of what stands on these crates, other crates, examples in documentation"' EXIT

    cargo fmt --check
    cargo clippy --workspace --all-targets -- -D warnings
    # All is chosen out of the whole workspace, so that dependencies are those that `make test` built.
    [ -z "$changed" ] ||
        PUMICE_NO_GUESTS=1 cargo run --quiet --bin xtask -- test $changed ${above//$'\n'/:units }${above:+:units} -- \
            --workspace --lib --bins $programs
}
