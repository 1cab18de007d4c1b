# The tree of volumes that f2fs-tools fill, made in the current directory: what a larger block moves. $1 is its size.
set -eu
umask 022
block=$1
text() { seq 1000000 9999999 | head -c "$1"; }
mkdir dir empty many
# Sizes around inline data, a block, some blocks.
for size in 0 1 100 3488 3692 4095 4096 $((block - 900)) $((block - 600)) $((block - 500)) $((block - 400)) \
    $((block - 300)) $((block - 1)) "$block" $((block + 1)) $((3 * block + 5)) 200000; do
    text "$size" >"size-$size"
done
# Further than an inode points to: direct nodes.
for index in $(seq 1 $((block / 4 - 80))); do printf "%-${block}d" "$index"; done >direct
# More names than fit into one bucket of the directory's first level, and a directory inside its inode.
for number in $(seq 1 700); do : >"many/entry-number-$number"; done
echo inline >dir/inline; echo longest >"dir/$(printf '%0255d' 7)"
ln -s target link; ln -s "$(printf '%01000d' 0)" dir/long-link
chmod 4711 size-1; chmod 1777 dir
find . -exec touch -h -d @1612325106 {} +
