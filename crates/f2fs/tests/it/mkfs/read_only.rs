//! Volumes that are written once, and then only read: Android's system images.

use std::{fs, path::Path};

use pumice_f2fs::{
    WritableF2fs, WritableOptions,
    layout::Features,
    mkfs::{FormatError, FormatOptions, Plan, Shape, Size},
};
use pumice_media::FileDisk;
use pumice_vfs::Timestamp;
use xtask::{Machine, f2fs};

use super::{
    Dir, THREADS, compressed, empty, make, manifest, mount, no_warnings, options, sample::Sample, sound,
    walk, with_features,
};

/// Blocks of the smallest: two super blocks, six segments of tables, three of the main area.
const SMALLEST: u64 = (2 + 9 * 512) * 4096;

fn read_only(options: FormatOptions) -> FormatOptions {
    let shape = Shape { features: options.shape.features.with(Features::RO), ..options.shape };
    FormatOptions { shape, ..options }
}

#[test]
fn nine_segments_are_enough() {
    let dir = Dir::new();
    let path = dir.at("image");
    for bytes in [SMALLEST, 19 << 20, 64 << 20, 1 << 30] {
        empty(&path, read_only(options()), bytes).unwrap();
        sound(&path);
        let fs = mount(&path);
        let (cp, main) =
            (fs.nodes().volume().checkpoint().raw(), fs.nodes().volume().super_block().main_segments());
        assert_eq!(
            (cp.rsvd_segment_count.get(), cp.overprov_segment_count.get(), cp.free_segment_count.get()),
            (0, 0, main - 2)
        );
        assert_eq!(cp.user_block_count.get(), u64::from(main) * 512);
    }
    let small = empty(&path, read_only(options()), SMALLEST - 4096);
    assert!(matches!(small, Err(FormatError::TooSmall { .. })), "{small:?}");
    let quota = empty(&path, read_only(with_features(&["quota_ino"])), 64 << 20);
    assert!(matches!(quota, Err(FormatError::ReadOnlyQuota)), "{quota:?}");
    for (section, zone) in [(2, 1), (1, 3), (2, 2)] {
        let shape = Shape { section_segments: section, zone_sections: zone, ..options().shape };
        empty(&path, read_only(FormatOptions { shape, ..options() }), 64 << 20).unwrap();
        sound(&path);
    }
}

/// Everything that a tree can hold, with files compressed and not; the smallest volume has room for nothing else.
fn filled(path: &Path, options: FormatOptions) {
    let mut sample = Sample::everything(true);
    compressed::add(&mut sample);
    let plan =
        Plan::new(read_only(options.clone()), sample.tree, &sample.files, Size::Free(0), THREADS).unwrap();
    let made = plan.made();
    assert!(made.free_bytes < 4 << 20, "{made:?}");
    let mut sample = Sample::everything(true);
    compressed::add(&mut sample);
    make(path, read_only(options), sample.tree, &sample.files, Size::Free(0)).unwrap();
}

#[test]
fn linux_reads_them_and_nothing_writes_them() {
    let dir = Dir::new();
    let all =
        ["extra_attr", "inode_checksum", "flexible_inline_xattr", "sb_checksum", "verity", "lost_found"];
    let compressed = compressed::options("lz4", 2, false).compression;
    let compressing = with_features(&["extra_attr", "inode_checksum", "compression"]);
    let cases = [
        ("plain", with_features(&all)),
        ("compressed", FormatOptions { compression: compressed, ..compressing }),
    ];
    let (mut images, mut before) = (Vec::new(), Vec::new());
    for (name, options) in cases {
        let path = dir.at(name);
        filled(&path, options);
        sound(&path);
        let disk = FileDisk::open(&path, 4096, false).unwrap();
        let refused = WritableF2fs::mount(Box::new(disk), WritableOptions::new(Box::new(Timestamp::default)));
        assert!(refused.err().unwrap().to_string().contains("feature ro"));
        before.push(fs::read(&path).unwrap());
        images.push(path);
    }
    let ours: Vec<_> = images.iter().map(|path| walk::records(&mount(path))).collect();
    let Some(machine) = Machine::for_test() else { return };
    let script = "
trap 'dmesg | grep F2FS-fs | grep -v -e \"Allow to mount\" -e \"fsync data on readonly\" | tee /host/dmesg' EXIT
for name in a b; do
    # This mount(8) tries again to read only.
    mount -t f2fs -o rw /dev/vd$name /mnt
    ! touch /mnt/new 2>/dev/null
    umount /mnt
    mount -t f2fs -o ro /dev/vd$name /mnt
    guest-manifest /mnt >/host/$name
    umount /mnt
done
";
    let run = f2fs::run_in_kernel(&machine, &images, script).unwrap();
    assert!(images.iter().zip(before).all(|(path, before)| fs::read(path).unwrap() == before));
    for (ours, name) in ours.iter().zip(["a", "b"]) {
        let kernel = manifest::parse(&run.file(name).unwrap());
        let lines = manifest::differences(ours, &kernel);
        assert!(lines.is_empty() && kernel.len() > 100, "{name}: {:#?}", &lines[..lines.len().min(20)]);
    }
    no_warnings(&run);
}
