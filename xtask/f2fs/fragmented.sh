# Files written a block at a time by turns, and holes where others were removed.
make
mounted mode=lfs,noatime
for turn in $(seq 1 60); do
    for file in 1 2 3 4 5 6; do text 4096 >>f$file; done
    text 3700 >gone-$turn; sync
done
for turn in $(seq 1 2 60); do rm gone-$turn; done
for block in 50 7 31 2 44 19; do echo over-$block | dd of=f1 bs=4096 seek=$block conv=notrunc 2>/dev/null; done
sync
done_
