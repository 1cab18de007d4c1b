//! The work of a system at boot: util-linux reads /etc/fstab, checks and mounts.

use xtask::{Guest, Machine, built, installed};

/// Busybox has the same names; those of util-linux are called by their paths.
const SCRIPT: &str = r#"
set -eu
mkdir -p /sbin /etc /data /archive
for tool in mount fsck mkfs; do ln -s /usr/bin/pumice /sbin/$tool.pumice; done
modprobe fuse
for name in data archive; do
    /sbin/mkfs.pumice --chip slc-2k-2g --size 16M /tmp/$name
    echo $name >/tmp/file; pumice put /tmp/$name /tmp/file file
done
cat >/etc/fstab <<END
/tmp/data     /data     pumice  defaults,nofail,relatime,nodev,x-systemd.device-timeout=5,uid=1000,umask=022  0  2
/tmp/archive  /archive  pumice  ro,noatime,lazytime,discard,fsname=cold                                       0  0
/tmp/missing  /mnt      pumice  noauto                                                                        0  0
END
/sbin/fsck.pumice -a /tmp/data
/usr/bin/mount -a -t pumice
grep '^/tmp/data /data fuse.pumice rw,nosuid,nodev,relatime' /proc/mounts
grep '^cold /archive fuse.pumice ro,nosuid,nodev,noatime' /proc/mounts
[ "$(cat /data/file /archive/file)" = "data
archive" ]
[ "$(stat -c %u /data/file)" = 1000 ]
echo more >/data/more
if echo more >/archive/more; then exit 1; fi
/usr/bin/mount -o remount,ro /data
if echo more >/data/again; then exit 1; fi
if /usr/bin/mount /mnt 2>/tmp/said; then exit 1; fi
grep 'missing: no such file' /tmp/said
umount /data; umount /archive
[ "$(pumice ls /tmp/data)" = "file
more" ]
pumice fsck /tmp/data; pumice fsck /tmp/archive
"#;

#[test]
fn fstab_mounts_at_boot() {
    let Some(machine) = Machine::for_test() else { return };
    let guest = Guest::new(&machine).unwrap();
    guest.add_program(&built("pumice").unwrap()).unwrap();
    guest.add_program(&installed("mount").unwrap()).unwrap();
    guest.run(SCRIPT).unwrap().good().unwrap_or_else(|report| panic!("{report}"));
}
