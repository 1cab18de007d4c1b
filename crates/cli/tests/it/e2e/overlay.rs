//! A mount as the upper layer of overlayfs, as container engines have it. The same changes, made there and in a plain
//! copy of the lower layer, give the same tree, before and after the mount has gone and come back.

use std::process::Command;

use super::mounting::{Bench, run};
use crate::common::can_overlay;

/// The lower layer, and a root file system to be unpacked.
const MAKE: &str = "
    mkdir -p lower/dir/deep lower/gone/below lower/again lower/moves rootfs/usr/bin rootfs/etc rootfs/dev rootfs/var/log
    for number in $(seq 40); do echo file $number >lower/dir/file-$number; done
    echo deep >lower/dir/deep/file; echo gone >lower/gone/below/file; echo old >lower/again/old; echo moves >lower/moves/file
    ln lower/dir/file-1 lower/second-name; ln -s dir/file-2 lower/soft
    setfattr -n user.kept -v value lower/dir/file-3
    for number in $(seq 200); do head -c $((number * 97)) /dev/zero | tr '\\0' a >rootfs/usr/bin/tool-$number; done
    ln rootfs/usr/bin/tool-1 rootfs/usr/bin/tool; ln -s usr/bin rootfs/bin
    chmod 4755 rootfs/usr/bin/tool-2; chmod 1777 rootfs/var/log; chown 7:8 rootfs/etc
    mknod rootfs/dev/null c 1 3; mkfifo rootfs/dev/initctl
    tar -cf rootfs.tar -C rootfs .
    cp -a lower plain";

/// Changes in the directory at hand.
const CHANGE: &str = "
    echo more >>dir/file-4; chmod 600 dir/file-5; chown 7:8 dir/file-6; truncate -s 3 dir/file-7
    setfattr -n user.new -v other dir/file-8
    rm dir/file-9 dir/file-10 soft; rm -r gone
    rm -r again; mkdir again; echo new >again/new
    mv dir/file-11 dir/renamed; mv dir/file-12 moves/file-12; mv -f dir/file-13 dir/file-14
    mv moves moved; mv dir/deep/file dir/file-15
    echo gone >gone; rm gone; mkdir gone
    mkdir root; tar -xpf ../rootfs.tar -C root; rm -r root/usr/bin/tool-1*; mv root/etc root/var/etc";

const OVERLAY: &str = "
    mkdir -p merged mnt/upper mnt/work
    mount -t overlay overlay -o lowerdir=lower,upperdir=mnt/upper,workdir=mnt/work merged";

/// Content, kinds, owners, modes, attributes, device numbers and links of both trees.
const COMPARE: &str = "
    for tree in merged plain; do
        tar --format=posix --pax-option=exthdr.name=%f,delete=atime,delete=ctime --sort=name --xattrs --numeric-owner --mtime=@0 -cf $tree.tar -C $tree .
    done
    cmp merged.tar plain.tar";

/// Runs a script in the directory of a bench, in a namespace of its own, with which its mounts go.
fn script(bench: &Bench, parts: &[&str]) {
    let text = format!("set -eu\n{}", parts.join("\n"));
    run(Command::new("unshare").args(["--mount", "sh", "-c", &text]).current_dir(bench.path(".")));
}

fn upper_layer(bench: Option<Bench>) {
    let Some(mut bench) = bench.filter(|_| can_overlay()) else { return };
    script(&bench, &[MAKE]);
    bench.mount();
    let both = format!("(cd merged; {CHANGE}\n)\n(cd plain; {CHANGE}\n)");
    // Names of the lower layer are gone by whiteouts.
    let whiteouts = "test $(find mnt/upper -type c -size 0 ! -path '*/dev/*' | wc -l) -ge 6";
    script(&bench, &[OVERLAY, &both, COMPARE, whiteouts, "umount merged"]);
    bench.unmount();
    bench.pumice(&["fsck", "image"]);
    bench.mount();
    script(&bench, &[OVERLAY, COMPARE, "umount merged"]);
    bench.unmount();
}

#[test]
fn nandfs_is_an_upper_layer() {
    upper_layer(Bench::new("64M"));
}

#[test]
fn f2fs_is_an_upper_layer() {
    upper_layer(Bench::of_f2fs("128M"));
}
