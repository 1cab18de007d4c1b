# Mounts the volumes $first to $count - 1, of $bytes bytes each, that stand one behind the other in /dev/vda.
modprobe loop
i=$first
while [ "$i" -lt "$count" ]; do
    echo "begin $i"
    losetup -o $((i * bytes)) --sizelimit "$bytes" /dev/loop0 /dev/vda
    if mount -t f2fs /dev/loop0 /mnt; then
        echo "mounted $i"
        timeout -s KILL 30 ls -laR /mnt >/dev/null 2>&1
        umount /mnt
    fi
    losetup -d /dev/loop0
    echo "end $i"
    i=$((i + 1))
done
