# Compressed files of every algorithm and several cluster sizes, with checksums and without.
make -O extra_attr,inode_checksum,compression
for how in lzo lzo-rle lz4 lz4:9 zstd zstd:10; do
    for size in 2 3,compress_chksum 4; do
        mounted "noatime,compress_algorithm=$how,compress_mode=fs,compress_log_size=$size"
        dir=$(echo "$how-$size" | tr ':,' '--')
        mkdir "$dir"; f2fs_io setflags compression "$dir" >/dev/null
        text 150001 >"$dir/text"
        noise 20000 >"$dir/noise"
        { noise 20000; text 100000; head -c 70000 /dev/zero; text 5; } >"$dir/mixed"
        head -c 70000 /dev/zero >"$dir/zeros"
        truncate -s 300000 "$dir/holes"; text 40000 | dd of="$dir/holes" bs=4096 seek=20 conv=notrunc 2>/dev/null
        text 60000 >"$dir/small"; truncate -s 30001 "$dir/small"
        text 90000 >"$dir/overwritten"; echo new | dd of="$dir/overwritten" bs=1 seek=40000 conv=notrunc 2>/dev/null
        sync
        text 90000 >"$dir/released"; sync; f2fs_io release_cblocks "$dir/released" >/dev/null
        done_
    done
done
