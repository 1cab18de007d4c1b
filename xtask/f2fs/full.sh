# Filled to the last block, then a little removed and filled again.
make
mounted
mkdir d
n=0; while text 1000000 >d/file-$n 2>/dev/null; do n=$((n + 1)); done
rm d/file-3 d/file-9
n=0; while text 20000 >d/small-$n 2>/dev/null; do n=$((n + 1)); done
sync
done_
