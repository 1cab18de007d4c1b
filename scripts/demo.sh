#!/usr/bin/env bash
# A real tree on a simulated chip: put there, mounted, changed, cut off from power, mounted again, compared.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
place=$target/demo
mounted=
mount_pid=
writer_pid=

heading() { printf '\n== %s\n' "$*"; }
# Shows a command as one would type it in the demo's directory, and runs it.
show() { printf '$ %s\n' "$*"; "$@"; }

can_mount() { [ -r /dev/fuse ] && [ -w /dev/fuse ] && { [ "$(id -u)" = 0 ] || command -v fusermount3 >/dev/null; }; }

detach() {
    if [ "$(id -u)" = 0 ]; then umount "$@" mnt; else fusermount3 -u ${1:+-z} mnt; fi
    mounted=
}

cleanup() {
    [ -z "$writer_pid" ] || kill "$writer_pid" 2>/dev/null || true
    [ -z "$mounted" ] || detach -l 2>/dev/null || true
    [ -z "$mount_pid" ] || kill "$mount_pid" 2>/dev/null || true
}
trap cleanup EXIT

# Copies subtrees of this machine, 60 MB or so, to `tree`.
gather() {
    local sum=0 size dir
    mkdir tree
    for dir in /usr/share/*/ /usr/include/*/; do
        size=$(du -sk "$dir" | cut -f1)
        if [ "$size" -gt 40 ] && [ "$((sum + size))" -lt 60000 ]; then
            cp -a "$dir" tree/
            sum=$((sum + size))
        fi
    done
    echo "$(find tree | wc -l) files, directories and links, $((sum / 1000)) MB"
}

mount_chip() {
    printf '$ pumice mount chip mnt &\n'
    pumice mount chip mnt &
    mount_pid=$!
    mounted=yes
    local tries=0
    until mountpoint -q mnt; do
        tries=$((tries + 1))
        [ "$tries" -lt 500 ] || { echo "the mount did not come" >&2; exit 1; }
        sleep 0.02
    done
}

# Changes a tree in the way people do. The same is done to the chip and to the copy it is compared with.
change() {
    local first
    first=$(cd "$1" && find . -mindepth 1 -maxdepth 1 -type d | sort | sed -n 1p)
    mv "$1/$first" "$1/renamed"
    mkdir "$1/new"
    seq 1 200000 >"$1/new/numbers"
    head -c 100000 "$1/new/numbers" >>"$1/new/appended"
    truncate -s 1000 "$1/new/appended"
    ln "$1/new/numbers" "$1/new/hard"
    ln -s numbers "$1/new/soft"
    find "$1" -type f -name '*.h' -size -2 -delete
    # What fsync was called on outlives the power.
    find "$1" -depth \( -type f -o -type d \) -print0 | xargs -0 sync
}

# Writes until the power goes.
write_on() {
    local n=0
    while head -c 3000000 /dev/urandom >"mnt/unfinished-$n"; do n=$((n + 1)); done 2>/dev/null
}

cut_in_the_middle() {
    write_on &
    writer_pid=$!
    sleep 0.7
    echo "(the mount is killed in the middle of writing)"
    kill -9 "$mount_pid"
    wait "$mount_pid" 2>/dev/null || true
    mount_pid=
    wait "$writer_pid" 2>/dev/null || true
    writer_pid=
    detach -l
}

through_fuse() {
    heading "Mounted and changed"
    mount_chip
    change mnt/tree
    change tree
    show df -h mnt
    heading "The power goes"
    cut_in_the_middle
    show pumice fsck -n chip
    heading "Mounted again and compared"
    mount_chip
    show ls mnt
    show diff -r --no-dereference tree mnt/tree
    echo "no difference"
    detach
    wait "$mount_pid"
    mount_pid=
}

# The same without a mount: the command itself is cut off, and the tree on the chip taken out again.
without_fuse() {
    heading "The power goes (no FUSE here: a copy into the image is cut off instead)"
    pumice put chip tree /unfinished &
    mount_pid=$!
    sleep 0.2
    kill -9 "$mount_pid" 2>/dev/null || true
    wait "$mount_pid" 2>/dev/null || true
    mount_pid=
    show pumice fsck -n chip
    heading "Taken out and compared"
    show pumice get chip /tree back
    show diff -r --no-dereference tree back
    echo "no difference"
}

heading "Built"
# Together, for packages built alone would have what they share compiled anew.
show cargo build -p pumice-cli -p pumice-nandfs --bin pumice --bench figures
PATH=$target/debug:$PATH
rm -rf "$place"
mkdir -p "$place/mnt"
cd "$place"

heading "A chip and a real tree"
gather
show pumice mkfs --chip slc-2k-2g chip
show pumice --stats put chip tree /
if can_mount; then through_fuse; else without_fuse; fi

heading "What the chip did in its life"
show pumice fsck -n chip
show pumice info chip
show pumice nand stats chip

heading "The figures of the raw-NAND file system"
cd "$OLDPWD"
show cargo bench --quiet --profile dev -p pumice-cli -p pumice-nandfs --bench figures -- --quick
