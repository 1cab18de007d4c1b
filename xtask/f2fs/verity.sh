# fs-verity: no tree, one level, two levels.
make -O verity,extra_attr
mounted
for size in 0 1 4095 4096 4097 524288 524289 3000000; do
    text $size >size-$size; f2fs_io set_verity size-$size >/dev/null
done
truncate -s 900000 holes; f2fs_io set_verity holes >/dev/null
text 10000 >without
done_
