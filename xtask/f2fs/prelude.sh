# What every recipe begins with. A recipe makes a volume on /dev/vda and leaves it unmounted, or cuts the power.
set -eu
umask 022
disk=/dev/vda
# make [MKFS-OPTION...]: formats; with the same identity each time.
make() { mkfs.f2fs -q -f -U 5ca1ab1e-0000-4000-8000-00000000f2f5 "$@" $disk >/dev/null; }
mounted() { mount -t f2fs -o "${1:-noatime}" $disk /mnt; cd /mnt; }
done_() { cd /; umount /mnt; }
# The power goes: nothing more is written.
cut() { echo b >/proc/sysrq-trigger; sleep 60; }
# text BYTES: bytes that compress, different at every place.
seq 1000000 2000000 >/tmp/text
text() { head -c "$1" /tmp/text; }
# noise BYTES: bytes that do not.
noise() { head -c "$1" /dev/urandom; }

# A tree with something of everything, in the directory $1.
varied() {
    mkdir "$1" "$1/dir" "$1/empty-dir" "$1/many"
    # Sizes around inline data, a block, and what an inode points to directly (923 blocks, less with more attributes).
    for size in 0 1 100 3400 3487 3488 3489 3600 3691 3692 3693 4095 4096 4097 8192 65537 3780607 3780608 3780609; do
        text $size >"$1/size-$size"
    done
    noise 30000 >"$1/noise"
    # Holes, and a block in each region of the index: direct, indirect, twice, three times.
    truncate -s 5000000 "$1/hole-only"
    text 5000 >"$1/hole-at-end"; truncate -s 900000 "$1/hole-at-end"
    for block in 0 922 923 1941 1942 2959 2960 1039000 2075607 2075608; do
        printf 'block %s' $block | dd of="$1/sparse" bs=4096 seek=$block conv=notrunc 2>/dev/null
    done
    truncate -s 40000000000 "$1/huge"; printf end | dd of="$1/huge" bs=4096 seek=9000000 conv=notrunc 2>/dev/null
    fallocate -l 100000 "$1/reserved"; : >"$1/reserved-beyond"; fallocate -n -l 100000 "$1/reserved-beyond"
    text 200000 >"$1/punched"; fallocate -p -o 8192 -l 16384 "$1/punched"
    text 200000 >"$1/zeroed"; fallocate -z -o 5000 -l 50000 "$1/zeroed"
    text 90000 >"$1/collapsed"; fallocate -c -o 4096 -l 8192 "$1/collapsed"
    text 90000 >"$1/inserted"; fallocate -i -o 4096 -l 8192 "$1/inserted"
    text 9000 >"$1/cut"; truncate -s 5001 "$1/cut"; truncate -s 20000 "$1/cut"
    # Other kinds.
    ln -s target "$1/link"; ln -s /absolute "$1/dir/link"; ln -s "$(printf '%01000d' 0)" "$1/long-link"
    ln -s "$(printf '%04000d' 0)" "$1/longest-link"
    ln "$1/size-100" "$1/dir/hard"; mkfifo "$1/fifo"; mknod "$1/chr" c 1 3; mknod "$1/blk" b 7 300
    guest-control socket "$1/socket"
    # Names.
    for name in ' ' 'with space' 'quo"te' 'back\slash' '%41' 'ünï' "$(printf '\001\377')" "$(printf '%0255d' 7)"; do
        echo "$name" >"$1/dir/$name"
    done
    # Directories that grow, and shrink in part.
    for n in $(seq 1 400); do : >"$1/many/entry-number-$n"; done
    for n in $(seq 3 3 400); do rm "$1/many/entry-number-$n"; done
    # Owners, modes, times.
    echo o >"$1/owner"; chown 1000:2000 "$1/owner"; echo m >"$1/mode"; chmod 4711 "$1/mode"; chmod 1777 "$1/dir"
    echo t >"$1/old"; touch -d '1960-01-02 03:04:05' "$1/old"; echo t >"$1/far"; touch -d '2100-01-02 03:04:05' "$1/far"
    # Attributes.
    echo x >"$1/xattr"; setfattr -n user.short -v v "$1/xattr"; setfattr -n user.empty "$1/xattr"
    setfattr -n trusted.t -v "$(printf '%01500d' 1)" "$1/xattr"; setfattr -n security.s -v s "$1/xattr"
    setfattr -n user.dir -v "$(printf '%0300d' 1)" "$1/dir"
    echo a >"$1/acl"; setfacl -m u:1000:rw,g:2000:r "$1/acl"; mkdir "$1/acl-dir"; setfacl -d -m u:1000:rwx "$1/acl-dir"
    echo i >"$1/acl-dir/inherits"
    for flag in A a c d i S; do
        echo $flag >"$1/flag-$flag"; chattr +$flag "$1/flag-$flag" 2>/dev/null || true
    done
}
