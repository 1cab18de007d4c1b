#!/usr/bin/env bash
# Runs the benchmarks, shows their tables, and writes them into docs/figures.md.
set -euo pipefail
cd "$(dirname "$0")/.."
page=docs/figures.md

# renew NAME PACKAGE BENCHMARK [WORD...]: the tables of a package's benchmark, between the marks of this name.
renew() {
    local tables
    tables=$(mktemp)
    cargo bench -p "$2" --bench "$3" -- "${@:4}" | tee /dev/stderr |
        awk '/[|]/ { if ($0 !~ /^[|]/) $0 = /^-/ ? "|" $0 "|" : "| " $0 " |"; table = 1; print; next }
             table && /^$/ { print }' >"$tables"
    if ! grep -q '|' "$tables"; then
        echo "SKIPPED: benchmark $1 measured nothing here, its tables in $page stay AS THEY WERE" >&2
        rm "$tables"
        return
    fi
    awk -v name="$1" -v tables="$tables" '
        $0 == "<!-- " name ": end -->" { inside = 0 }
        !inside { print }
        $0 == "<!-- " name ": begin -->" { inside = 1; while ((getline line < tables) > 0) print line }
    ' "$page" >"$page.new"
    mv "$page.new" "$page"
    rm "$tables"
}

renew nandfs pumice-nandfs figures
renew ftl pumice-ftl figures
renew f2fs-write pumice-cli f2fs write
