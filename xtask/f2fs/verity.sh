# fs-verity: no tree, one level, two levels; both hashes, with salt and without.
make -O verity,extra_attr
mounted
for size in 0 1 4095 4096 4097 524288 524289 3000000; do
    text $size >size-$size; fsverity enable size-$size
done
truncate -s 900000 holes; fsverity enable --salt=00112233 holes
text 300000 >salted; fsverity enable --salt="$(printf '%064d' 7)" salted
text 300000 >sha512; fsverity enable --hash-alg=sha512 sha512
text 10000 >without
done_
