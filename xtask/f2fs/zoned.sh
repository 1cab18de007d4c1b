# A disk of zones of 2 MiB that are written from front to back only, but for those of the metadata; made in memory, and
# copied to the disk that stays. The kernel mounts it from such a disk only, so it is described here.
modprobe null_blk nr_devices=0
mount -t configfs none /sys/kernel/config
zoned=/sys/kernel/config/nullb/nullb0
mkdir $zoned
for setting in size=128 blocksize=4096 memory_backed=1 zoned=1 zone_size=2 zone_nr_conv=10; do
    echo "${setting#*=}" >"$zoned/${setting%%=*}"
done
echo 1 >$zoned/power
disk=/dev/nullb0
make -m
mounted
varied tree
sync
# What the cleaner moves.
rm tree/size-3780607 tree/noise
text 2000000 >text
done_
mounted
guest-manifest . >/host/manifest
done_
dd if=$disk of=/dev/vda bs=1M 2>/dev/null
