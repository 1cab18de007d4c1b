#!/usr/bin/env bash
# Brings in what `make demo`, `make test` and `make soak` need beyond a Rust toolchain, and nothing that is there already; says how long
# that took. What is built here is kept in `target/tools`.
# Usage: scripts/setup.sh demo|test|soak
set -euo pipefail
cd "$(dirname "$0")/.."

tools="${CARGO_TARGET_DIR:-target}/tools"

say() { echo "setup: $*" >&2; }
is_root() { [ "$(id -u)" = 0 ]; }

# Prints the Debian packages whose files are missing.
missing_packages() {
    command -v cc >/dev/null || echo gcc libc6-dev
    command -v fusermount3 >/dev/null || echo fuse3
    [ "$1" != demo ] || return 0
    [ "$1" = test ] || command -v sbatch >/dev/null || echo slurm-wlm
    command -v setfacl >/dev/null || echo acl
    administrators_tool sload.f2fs || echo f2fs-tools
    command -v zstd >/dev/null || echo zstd
    command -v strace >/dev/null || echo strace
    command -v setfattr >/dev/null || echo attr
    command -v parallel >/dev/null || echo parallel
    administrators_tool mkfs.ext4 || echo e2fsprogs
    administrators_tool mkfs.vfat || echo dosfstools
    command -v mcopy >/dev/null || echo mtools
    # pjdfstest links with it.
    [ -e /usr/include/sys/acl.h ] || echo libacl1-dev
    has_guests || return 0
    command -v qemu-system-x86_64 >/dev/null || echo qemu-system-x86
    command -v busybox >/dev/null || echo busybox-static
    administrators_tool nanddump || echo mtd-utils
    command -v fsverity >/dev/null || echo fsverity
    command -v xz >/dev/null || echo xz-utils
}

# True where Debian's kernel can be had and runs our programs.
has_guests() { [ "$(uname -m)" = x86_64 ] && command -v apt-get >/dev/null; }

administrators_tool() { command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ]; }

packages() {
    local missing
    missing=$(missing_packages "$1" | xargs)
    [ -n "$missing" ] || return 0
    if ! is_root || ! command -v apt-get >/dev/null; then
        say "please install: $missing"
        return 0
    fi
    say "apt-get install $missing"
    # A list that cannot be refreshed may still be good enough; the installation itself must succeed.
    apt-get -q update >&2 || true
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing >&2
}

# The compiler's own parts: formatter, linter, and the core library of a microcontroller.
toolchain() {
    if ! command -v rustup >/dev/null; then
        say "no rustup: rustfmt, clippy and the core library of thumbv7em-none-eabihf must be there already"
        return 0
    fi
    cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
    cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
    [ -d "$(rustc --print target-libdir --target thumbv7em-none-eabihf)" ] ||
        rustup target add thumbv7em-none-eabihf
}

# Tests, and what tries packages, build without the network.
crates() {
    cargo fetch --quiet --locked
}

# helper NAME VERSION: a published test program, built once, into the target directory.
helper() {
    local stamp="$tools/$1-$2.stamp"
    [ -e "$stamp" ] && return 0
    say "cargo install $1 $2"
    CARGO_TARGET_DIR="$tools/build" cargo install --quiet --locked --root "$tools" "$1@$2"
    rm -rf "$tools/build"
    touch "$stamp"
}

# Debian's kernel, unpacked and not installed: tests boot it in QEMU.
kernel() {
    local place="$tools/linux" package
    if ! has_guests || [ -e "$place" ]; then return 0; fi
    package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: //p' | head -1)
    say "unpacking ${package:-a kernel} for tests in QEMU"
    rm -rf "$place.new"
    mkdir -p "$place.new"
    # apt-get lets a user of its own fetch, who may not be able to write here; that it says so is no failure.
    if (cd "$place.new" && apt-get -q download "$package" >&2 && dpkg-deb -x ./*.deb . && rm ./*.deb); then
        mv "$place.new" "$place"
    else
        rm -rf "$place.new"
        say "no kernel could be had: the tests in QEMU are skipped"
    fi
}

# What QEMU boots: the kernel unpacked here, as an emulated processor takes five seconds for it at each boot; the
# packed kernel where no xz is in it.
kernel_image() {
    local place="$tools/linux" packed start
    if [ ! -e "$place" ] || [ -e "$place/vmlinux" ]; then return 0; fi
    packed=$(cd "$place" && echo boot/vmlinuz-*)
    start=$(LC_ALL=C grep -abo $'\xfd7zXZ' "$place/$packed" | head -1 | cut -d: -f1 || true)
    if [ -n "$start" ] && xz -dc --single-stream < <(tail -c "+$((start + 1))" "$place/$packed") >"$place/vmlinux.new"; then
        mv "$place/vmlinux.new" "$place/vmlinux"
    else
        rm -f "$place/vmlinux.new"
        ln -sf "$packed" "$place/vmlinux"
    fi
}

# Two users are needed that own nothing: pjdfstest acts in their names.
users() {
    getent passwd nobody >/dev/null || useradd --system --no-create-home nobody
    getent passwd tests >/dev/null || useradd --system --no-create-home --user-group tests
}

case "${1:-}" in
demo)
    packages demo
    ;;
test | soak)
    packages "$1"
    toolchain
    crates
    kernel
    kernel_image
    if is_root && [ -e /dev/fuse ]; then
        users
        helper pjdfstest 0.2.2
        helper fsx 0.3.2
    else
        say "the end-to-end tests are skipped: they need root and /dev/fuse"
    fi
    ;;
*)
    echo "usage: $0 demo|test|soak" >&2
    exit 2
    ;;
esac
say "$1 took $SECONDS s"
