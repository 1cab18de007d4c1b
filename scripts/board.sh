#!/usr/bin/env bash
# Builds a whole program with nandfs for a microcontroller, with the calls of littlefs and with all of them. Prints the
# bytes of code and constants of each, and fails if they are more than its ceiling, which may only fall. It is some 2 % above what one
# compiler made, for others differ.
set -euo pipefail
cd "$(dirname "$0")/.."
chip=thumbv7em-none-eabihf
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}

# held WHAT CEILING [OPTION...]
held() {
    local program=$CARGO_TARGET_DIR/$chip/release/xtask-board size sum=0
    cargo build --quiet --locked --manifest-path xtask/board/Cargo.toml --release --target $chip "${@:3}"
    for size in $(readelf -SW "$program" | sed -En 's/.* \.(text|rodata) +PROGBITS +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) .*/\2/p'); do
        sum=$((sum + 16#$size))
    done
    echo "a program with $1 for $chip: $sum bytes of code and constants, at most $2"
    [ "$sum" -gt 0 ] && [ "$sum" -le "$2" ]
}

held "the calls of littlefs" 276000
held "all calls, checks and repairs" 458000 --features all
