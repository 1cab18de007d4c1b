# Mounts the volumes $first to $count - 1, of $bytes bytes each, that stand one behind the other in /dev/vda. A walk that
# has not ended after some $seconds is stuck.
modprobe loop
i=$first
while [ "$i" -lt "$count" ]; do
    echo "begin $i"
    losetup -o $((i * bytes)) --sizelimit "$bytes" /dev/loop0 /dev/vda
    if mount -t f2fs /dev/loop0 /mnt; then
        echo "mounted $i"
        # What ls cannot read is no matter here, but it must come to an end: 137 is what `timeout` says after a kill.
        timeout -s KILL "$seconds" ls -laR /mnt >/dev/null 2>&1
        [ $? -eq 137 ] && echo "stuck $i"
        umount /mnt
    fi
    losetup -d /dev/loop0
    echo "end $i"
    i=$((i + 1))
done
