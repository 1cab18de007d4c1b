#!/usr/bin/env bash
# Runs the benchmarks, shows their tables, and writes them into docs/figures.md.
set -euo pipefail
cd "$(dirname "$0")/.."
page=docs/figures.md

# renew NAME PACKAGE BENCHMARK [WORD...]: the tables of a package's benchmark, between the marks of this name. Goals in a
# last column `wanted` are left out; a table with one column of figures becomes a list.
renew() {
    local tables
    tables=$(mktemp)
    cargo bench -p "$2" --bench "$3" -- "${@:4}" | tee /dev/stderr |
        awk '/[|]/ { if ($0 !~ /^[|]/) $0 = /^-/ ? "|" $0 "|" : "| " $0 " |"
                     if (!inside) { goals = /[|] wanted [|]$/; list = goals && bars($0) == 4 }
                     if (goals) sub(/[|][^|]*[|]$/, "|")
                     if (list) { item($0, !inside) } else print
                     table = inside = 1; next }
             { inside = 0 }
             table && /^$/ { print }
             function bars(row) { return gsub(/[|]/, "", row) }
             # A row of two cells as an item; the head, where it says something, as the line before the list.
             function item(row, is_head,   cells) {
                 split(row, cells, / *[|] */)
                 if (is_head && cells[2] != "figure") printf "%s:\n\n", cells[2]
                 if (is_head || row ~ /^[|]-/) return
                 sub(/: - /, ", ", cells[2])
                 if (!sub(/^- /, "  - ", cells[2])) cells[2] = "- " cells[2]
                 printf "%s: %s\n", cells[2], cells[3]
             }' >"$tables"
    if ! grep -q . "$tables"; then
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
renew f2fs-write pumice-cli mounts write
