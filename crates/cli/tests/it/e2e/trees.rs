//! A tree goes in and comes back, over unmounts and power cuts.

use std::{fs::File, path::Path};

use super::{
    mounting::Bench,
    source::Source,
    walk::{self, Tree},
};

/// Calls fsync on every file and directory, so that a power cut spares them.
fn fsync_all(root: &Path, tree: &Tree) {
    let regular = |path: &&std::path::PathBuf| {
        let found = root.join(path).symlink_metadata().unwrap();
        found.is_file() || found.is_dir()
    };
    for path in tree.keys().filter(regular) {
        File::open(root.join(path)).unwrap().sync_all().unwrap();
    }
    File::open(root).unwrap().sync_all().unwrap();
}

fn comes_back_whole(mut bench: Bench, source: &Source) {
    let wanted = walk::tree(&source.root, &source.names);
    let mnt = bench.path("mnt");
    let compare = |bench: &Bench| {
        source.diff(&bench.path("mnt"));
        walk::assert_same(&wanted, &walk::tree(&bench.path("mnt"), &source.names));
    };
    bench.mount();
    source.copy_to(&mnt);
    compare(&bench);
    bench.unmount();
    bench.check();
    bench.mount();
    compare(&bench);
    bench.kill();
    bench.mount();
    compare(&bench);
    // The way back: out of the mount again.
    let back = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    Source { root: mnt.clone(), names: source.names.clone() }.copy_to(back.path());
    source.diff(back.path());
    walk::assert_same(&wanted, &walk::tree(back.path(), &source.names));
    bench.unmount();
    bench.check();
}

fn survives_a_kill(mut bench: Bench, source: &Source) {
    let wanted = walk::tree(&source.root, &source.names);
    let mnt = bench.path("mnt");
    bench.mount();
    source.copy_to(&mnt);
    fsync_all(&mnt, &wanted);
    bench.kill();
    bench.check();
    bench.mount();
    source.diff(&mnt);
    walk::assert_same(&wanted, &walk::tree(&mnt, &source.names));
    bench.unmount();
    bench.check();
}

#[test]
fn a_large_tree_comes_back_whole() {
    let Some(bench) = Bench::new("1G") else { return };
    let source = Source::large(&bench.path("."));
    comes_back_whole(bench, &source);
}

#[test]
fn a_large_tree_survives_a_kill_after_fsync() {
    let Some(bench) = Bench::new("1G") else { return };
    let source = Source::large(&bench.path("."));
    survives_a_kill(bench, &source);
}

#[test]
fn odd_files_come_back_whole() {
    let Some(bench) = Bench::new("256M") else { return };
    let source = Source::made(&bench.path("."));
    comes_back_whole(bench, &source);
}

#[test]
fn odd_files_survive_a_kill_after_fsync() {
    let Some(bench) = Bench::new("256M") else { return };
    let source = Source::made(&bench.path("."));
    survives_a_kill(bench, &source);
}
