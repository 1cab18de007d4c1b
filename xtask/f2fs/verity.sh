# fs-verity: no tree, one level, two levels; both hashes, with salt and without.
make -O verity,extra_attr
mounted
for size in 0 1 4095 4096 4097 524288 524289 3000000; do
    text $size >size-$size; guest-control verity size-$size 1 ''
done
truncate -s 900000 holes; guest-control verity holes 1 00112233
text 300000 >salted; guest-control verity salted 1 "$(printf '%064d' 7)"
text 300000 >sha512; guest-control verity sha512 2 ''
text 10000 >without
done_
