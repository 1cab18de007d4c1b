# Extended attributes in the inode, in a block of their own, and in both, as large as they may be.
make -O extra_attr,flexible_inline_xattr
for size in 0 50 512; do
    mounted "noatime,inline_xattr_size=$((size / 4 + 10))"
    mkdir d$size; cd d$size
    for value in 1 20 200 1000 3000 3500; do
        echo $value >f$value; setfattr -n user.value -v "$(printf "%0${value}d" 1)" f$value
    done
    echo many >many; for n in $(seq 1 40); do setfattr -n user.name-number-$n -v value-$n many; done
    for n in $(seq 2 2 40); do setfattr -x user.name-number-$n many; done
    echo long >long; setfattr -n "user.$(printf '%0200d' 1)" -v v long
    echo changed >changed; setfattr -n user.a -v "$(printf '%02000d' 1)" changed; setfattr -n user.a -v short changed
    done_
done
