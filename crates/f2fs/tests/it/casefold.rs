//! Case-insensitive look-up of names with a hash of another version of Unicode.

use std::{ops::ControlFlow, sync::Arc};

use crate::common::image::Golden;
use crate::common::medium::Medium;
use pumice_f2fs::{F2fs, Mapped, MountOptions, crypt::Keyring, layout::Inode};
use pumice_vfs::{FileSystem, Ino};

/// The place of the encoding's flags in a super block.
const ENCODING_FLAGS: u64 = 1024 + 2760;

fn mount(medium: Medium) -> F2fs {
    let options = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
    F2fs::mount(vec![Box::new(Arc::new(medium))], options).unwrap()
}

/// A name of letters in a case-insensitive directory that has blocks: the directory, the name, and the place of its
/// hash.
fn entry(fs: &F2fs) -> (Ino, Vec<u8>, u64) {
    let nodes = fs.nodes();
    for ino in (3..1000).map(pumice_f2fs::layout::Nid) {
        let Ok((inode, node)) = nodes.inode(ino) else { continue };
        if !is_wanted(&inode) {
            continue;
        }
        let mut found = None;
        let mut look = |leaf, dentry: &pumice_f2fs::layout::Dentry<'_>| {
            if dentry.name.is_ascii() && dentry.name.iter().any(u8::is_ascii_alphabetic) {
                found = Some((leaf, dentry.slot, dentry.name.to_vec()));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        nodes.each_dentry(&inode, &node, &mut look).unwrap();
        let Some((leaf, slot, name)) = found else { continue };
        let Mapped::At(addr) = nodes.run_at(&inode, &node, leaf, 1).unwrap().mapped else { continue };
        // Behind the bitmap and the reserved bytes; an entry has 11 bytes, the hash first.
        return (Ino(u64::from(ino.0)), name, u64::from(addr.0) * 4096 + 30 + u64::from(slot) * 11);
    }
    unreachable!("the volume has such a directory")
}

fn is_wanted(inode: &Inode) -> bool {
    inode.kind == pumice_vfs::FileKind::Dir && inode.is_casefolded() && !inode.has_inline_dentry()
}

#[test]
fn a_name_with_another_hash_is_found_unless_the_volume_forbids_it() {
    let sound = Medium::new(Golden::own("casefold").bytes());
    let (dir, name, at) = entry(&mount(sound.with(0, Vec::new())));
    let shouted = name.to_ascii_uppercase();
    let damaged = sound.with(at, vec![1, 2, 3, 4]);
    let fs = mount(damaged.with(0, Vec::new()));
    assert!(fs.lookup(dir, &name).is_ok());
    assert!(fs.lookup(dir, &shouted).is_ok());
    assert!(fs.lookup(dir, b"surely not there").is_err());
    let strict = mount(damaged.with(ENCODING_FLAGS, vec![2, 0]));
    assert!(strict.lookup(dir, &shouted).is_err());
}
