//! Every code of the checker, provoked: one structure of a sound volume is altered, then a checkpoint is made.

use alloc::{
    collections::{BTreeSet, VecDeque},
    format,
    string::String,
    vec,
    vec::Vec,
};

use pumice_media::{Faults, Nand, PageId, SimChip};
use pumice_vfs::{FileKind, Result, XattrMode};

use crate::addr::Addr;
use crate::api::check;
use crate::blocks::{State, Told, Usage};
use crate::bucket::{self, Entry};
use crate::ids::Ids;
use crate::namespace::orphan_name;
use crate::node::{Body, Index, IndexBody, Map};
use crate::nodes::{ORPHANS, ROOT};
use crate::pages::Spare;
use crate::testing::{chip_of, formatted, mounted};
use crate::volume::Volume;

type Vol = Volume<'static>;

/// A node id that nobody has.
const NOBODY: u32 = 60_000;

/// A sound volume with something of everything.
fn sample() -> Vol {
    let mut volume = mounted(formatted("2048+64:16:96"), 1 << 20);
    volume.begin().unwrap();
    let many = volume.make(ROOT, "many", FileKind::Dir);
    for n in 0..200 {
        volume.make(many, &format!("a name that takes a little room {n}"), FileKind::File);
    }
    let dir = volume.make(ROOT, "dir", FileKind::Dir);
    volume.make(dir, "below", FileKind::Dir);
    for name in ["data", "other"] {
        let file = volume.make(dir, name, FileKind::File);
        volume.files.write_file(&mut volume.log, file, 0, &vec![7; 30_000]).unwrap();
        volume.files.write_file(&mut volume.log, file, 600_000, &vec![8; 3_000]).unwrap();
        volume
            .files
            .xattr_set(&mut volume.log, file, b"user.long", Some(&[9; 500]), XattrMode::Either)
            .unwrap();
    }
    let small = volume.make(dir, "small", FileKind::File);
    volume.write(small, 0, b"few bytes");
    volume.checkpoint(true).unwrap();
    mounted(chip_of(volume), 1 << 20)
}

impl Vol {
    fn at(&mut self, way: &str) -> u32 {
        way.split('/').fold(ROOT, |dir, name| {
            self.files.dir_find(&mut self.log, dir, name.as_bytes()).unwrap().unwrap().0
        })
    }

    fn map_of(&mut self, way: &str) -> &mut Map {
        let ino = self.at(way);
        match &mut self.files.inode_mut(&mut self.log, ino).unwrap().body {
            Body::Mapped(map) => map,
            Body::Inline(_) => panic!("{way} has no map"),
        }
    }

    /// The index node of a file.
    fn index_node_of(&mut self, way: &str) -> (u32, &mut Index) {
        let nid = self.map_of(way).children[0];
        (nid, self.files.nodes.index_mut(&mut self.log.pages, nid).unwrap())
    }

    /// Adds raw entries to the small directory.
    fn enter(&mut self, entries: &[(u32, FileKind, &[u8])]) {
        let dir = self.at("dir");
        let inode = self.files.inode_mut(&mut self.log, dir).unwrap();
        inode.size += entries.len() as u64;
        let Body::Inline(bytes) = &mut inode.body else { panic!("the small directory has grown") };
        for (ino, kind, name) in entries {
            bucket::push(bytes, &Entry { ino: *ino, kind: *kind, born: 0, name });
        }
    }

    fn buckets(&mut self) -> Vec<u32> {
        let many = self.at("many");
        self.buckets_of(many)
    }

    fn buckets_of(&mut self, dir: u32) -> Vec<u32> {
        (0..1024)
            .filter(|block| self.files.map_get(&mut self.log, dir, *block).unwrap() != Addr::NONE)
            .collect()
    }

    fn usage(&mut self, block: u32, change: impl FnOnce(&mut Usage)) {
        self.log.update(block, change).unwrap();
    }

    fn told(&mut self, change: fn(&mut Told)) {
        let mut told = self.log.blocks.tell(&[], usize::MAX);
        change(&mut told);
        self.log.blocks.resume(told);
    }

    /// An erase block with data.
    fn data_block(&mut self) -> u32 {
        let page = self.map_of("dir/data").direct[0].page;
        self.log.params.block_of(page)
    }

    /// Changes the window; returns the block that `change` names.
    fn window(&mut self, change: fn(&mut VecDeque<Spare>) -> u32) -> u32 {
        let mut window = self.log.pages.window().clone();
        let block = change(&mut window);
        self.log.pages.set_window(window);
        block
    }

    fn head(&self) -> (u32, u32) {
        self.log.pages.places().flatten().next().unwrap()
    }
}

type Harm = (&'static str, fn(&mut Vol));

const NODES: &[Harm] = &[
    ("table-page", |v| v.files.nodes.table.roots[0].page = 1_000_000),
    ("node-address", |v| {
        let ino = v.at("dir/small");
        v.files.nodes.set_addr(ino, Addr { page: 1, offset: 0, len: 9 });
    }),
    ("node-unreadable", |v| {
        let (one, other) = (v.at("dir/small"), v.at("dir/data"));
        let addr = v.files.nodes.addr(&mut v.log.pages, one).unwrap();
        v.files.nodes.set_addr(other, addr);
    }),
    ("node-id", |v| v.files.nodes.ids = Ids::from(v.files.nodes.end() - 1, 0)),
    ("counter-inodes", |v| v.files.nodes.inodes += 1),
    ("counter-node-bytes", |v| v.files.nodes.bytes -= 1),
    ("counter-data-blocks", |v| v.files.data_blocks += 3),
    ("index-missing", |v| v.map_of("dir/data").children[0] = NOBODY),
    ("index-kind", |v| v.map_of("dir/data").children[0] = ROOT),
    ("index-owner", |v| v.index_node_of("dir/data").1.owner = ROOT),
    ("index-height", |v| {
        v.index_node_of("dir/data").1.body = IndexBody::Nodes { height: 2, children: Vec::new() };
    }),
    ("index-shared", |v| {
        let nid = v.index_node_of("dir/data").0;
        v.map_of("dir/other").children[0] = nid;
    }),
    ("node-lost", |v| {
        let ino = v.at("dir/data");
        v.files.add_index(&mut v.log, Index::new(ino, 1)).unwrap();
    }),
    ("map-odd", |v| {
        let odd = Addr { page: 300, offset: 0, len: 7 };
        v.map_of("dir/data").direct.resize(60, odd);
    }),
    ("data-address", |v| v.map_of("dir/data").direct[1].page = 3),
    ("data-length", |v| {
        let bucket = v.buckets()[0];
        let many = v.at("many");
        let addr = v.files.map_get(&mut v.log, many, bucket).unwrap();
        v.files.map_put(&mut v.log, many, bucket, Addr { len: 5, ..addr }).unwrap();
    }),
    ("data-unreadable", |v| v.map_of("dir/data").direct.swap(0, 1)),
    ("data-beyond-end", |v| {
        let ino = v.at("dir/data");
        v.files.inode_mut(&mut v.log, ino).unwrap().size = 20_000;
    }),
    ("inode-blocks", |v| {
        let ino = v.at("dir/data");
        v.files.inode_mut(&mut v.log, ino).unwrap().blocks += 1;
    }),
    ("inode-size", |v| {
        let ino = v.at("dir/small");
        v.files.inode_mut(&mut v.log, ino).unwrap().size = 3;
    }),
    ("xattr-damaged", |v| {
        let ino = v.at("dir/small");
        v.files.inode_mut(&mut v.log, ino).unwrap().xattr = vec![9; 4];
    }),
    ("xattr-damaged", |v| {
        let ino = v.at("dir/data");
        let hidden = v.files.inode(&mut v.log, ino).unwrap().xattr_ino;
        v.files.inode_mut(&mut v.log, hidden).unwrap().size = 100 << 20;
    }),
    ("xattr-missing", |v| {
        let ino = v.at("dir/data");
        v.files.inode_mut(&mut v.log, ino).unwrap().xattr_ino = NOBODY;
    }),
    ("xattr-missing", |v| {
        let ino = v.at("dir/data");
        v.files.inode_mut(&mut v.log, ino).unwrap().xattr_ino = ROOT;
    }),
    ("xattr-shared", |v| {
        let (ino, other) = (v.at("dir/data"), v.at("dir/other"));
        let hidden = v.files.inode(&mut v.log, ino).unwrap().xattr_ino;
        v.files.inode_mut(&mut v.log, other).unwrap().xattr_ino = hidden;
    }),
    ("xattr-owner", |v| {
        let ino = v.at("dir/data");
        let hidden = v.files.inode(&mut v.log, ino).unwrap().xattr_ino;
        v.files.inode_mut(&mut v.log, hidden).unwrap().parent = ROOT;
    }),
];

const NAMES: &[Harm] = &[
    ("root", |v| v.files.inode_mut(&mut v.log, ROOT).unwrap().kind = FileKind::Fifo),
    ("directory-size", |v| {
        let dir = v.at("many");
        v.files.inode_mut(&mut v.log, dir).unwrap().size += 1;
    }),
    ("bucket-place", |v| {
        let dir = v.at("many");
        v.files.map_put(&mut v.log, dir, 1 << 31, Addr::RESERVED).unwrap();
    }),
    ("bucket-overlap", |v| {
        let dir = v.at("many");
        v.files.map_put(&mut v.log, dir, (1 << 20) + 1, Addr::RESERVED).unwrap();
    }),
    ("bucket-gap", |v| {
        let (dir, bucket) = (v.at("many"), v.buckets()[0]);
        v.files.unmap(&mut v.log, dir, bucket.into(), u64::from(bucket) + 1).unwrap();
    }),
    ("bucket-damaged", |v| {
        let (dir, bucket) = (v.at("many"), v.buckets()[0]);
        v.files.cache.insert(dir, bucket, vec![99; 2048], true);
    }),
    ("entry-hash", |v| {
        let (dir, buckets) = (v.at("many"), v.buckets());
        let mut bytes = vec![0; 2048];
        v.files.read_block(&mut v.log, dir, buckets[0], 0, &mut bytes).unwrap();
        v.files.cache.insert(dir, buckets[1], bytes, true);
    }),
    ("bucket-damaged", |v| {
        let ino = v.at("dir/small");
        v.enter(&[(ino, FileKind::File, b"a/b")]);
    }),
    ("entry-duplicate", |v| {
        let ino = v.at("dir/small");
        v.enter(&[(ino, FileKind::File, b"twice"), (ino, FileKind::File, b"twice")]);
    }),
    ("entry-inode", |v| v.enter(&[(NOBODY, FileKind::File, b"nobody")])),
    ("entry-inode", |v| v.enter(&[(ORPHANS, FileKind::Dir, b"hidden")])),
    ("entry-inode", |v| {
        let nid = v.index_node_of("dir/data").0;
        v.enter(&[(nid, FileKind::File, b"index")]);
    }),
    ("entry-birth", |v| {
        let ino = v.at("dir/small");
        v.files.inode_mut(&mut v.log, ino).unwrap().generation ^= 1;
    }),
    ("entry-kind", |v| {
        let ino = v.at("dir/small");
        v.enter(&[(ino, FileKind::Socket, b"socket")]);
    }),
    ("directory-names", |v| {
        let ino = v.at("many");
        v.enter(&[(ino, FileKind::Dir, b"again")]);
    }),
    ("directory-parent", |v| {
        let ino = v.at("dir/below");
        v.files.inode_mut(&mut v.log, ino).unwrap().parent = ROOT;
    }),
    ("directory-nlink", |v| {
        let ino = v.at("dir");
        v.files.inode_mut(&mut v.log, ino).unwrap().nlink += 1;
    }),
    ("directory-circle", |v| {
        let (top, below) = (v.at("dir"), v.at("dir/below"));
        v.files.dir_remove(&mut v.log, ROOT, b"dir").unwrap();
        v.files.dir_insert(&mut v.log, (below, b"top"), (top, FileKind::Dir)).unwrap();
    }),
    ("inode-lost", |v| {
        let dir = v.at("dir");
        v.files.dir_remove(&mut v.log, dir, b"small").unwrap();
    }),
    ("inode-lost", |v| v.files.dir_remove(&mut v.log, ROOT, b"many").unwrap()),
    ("inode-nlink", |v| {
        let ino = v.at("dir/small");
        v.files.inode_mut(&mut v.log, ino).unwrap().nlink = 2;
    }),
    ("orphan-name", |v| {
        let ino = v.at("dir/small");
        v.files.dir_insert(&mut v.log, (ORPHANS, b"misnamed"), (ino, FileKind::File)).unwrap();
    }),
    ("orphan-named", |v| {
        let ino = v.at("dir/small");
        v.files
            .dir_insert(&mut v.log, (ORPHANS, orphan_name(ino).as_bytes()), (ino, FileKind::File))
            .unwrap();
    }),
    ("orphan-named", |v| {
        let ino = v.at("dir/below");
        v.files.dir_insert(&mut v.log, (ORPHANS, orphan_name(ino).as_bytes()), (ino, FileKind::Dir)).unwrap();
    }),
];

const BLOCKS: &[Harm] = &[
    ("block-valid-count", |v| {
        let block = v.data_block();
        v.usage(block, |usage| usage.valid -= 1);
    }),
    ("block-valid-count", |v| {
        let block = v.data_block();
        v.usage(block, |usage| usage.valid += 1);
    }),
    ("block-state", |v| {
        let block = v.data_block();
        v.usage(block, |usage| usage.state = State::Dirty);
    }),
    ("block-not-erased", |v| {
        let block = v.data_block();
        v.usage(block, |usage| usage.state = State::Erased);
    }),
    ("block-anchor", |v| v.usage(3, |usage| usage.state = State::Used)),
    ("block-anchor", |v| {
        let block = v.data_block();
        v.usage(block, |usage| usage.state = State::Anchor);
    }),
    ("block-checkpoint", |v| {
        let block = v.log.roots.blocks().next().unwrap();
        v.usage(block, |usage| usage.state = State::Failing);
    }),
    ("block-failing", |v| {
        let block = v.data_block();
        v.usage(block, |usage| usage.state = State::Failing);
    }),
    ("block-lost", |v| {
        let block = v.window(|window| window.pop_back().unwrap().block);
        v.usage(block, |usage| usage.state = State::Used);
    }),
    ("block-marked", |v| {
        let block = v.data_block();
        v.log.pages.mark_bad(block).unwrap();
    }),
    ("block-unmarked", |v| {
        let block = v.window(|window| window.pop_back().unwrap().block);
        v.usage(block, |usage| usage.state = State::Bad);
    }),
    ("window-state", |v| {
        let block = v.window(|window| window[window.len() - 1].block);
        v.usage(block, |usage| usage.state = State::Used);
    }),
    ("window-erased", |v| {
        // The last ones go to roots, and never count as erased.
        let block = v.window(|window| {
            window[0].erased = true;
            window[0].block
        });
        v.usage(block, |usage| usage.state = State::Dirty);
    }),
    ("head-state", |v| {
        let (block, _) = v.head();
        v.usage(block, |usage| usage.state = State::Failing);
    }),
    ("head-page", |v| {
        let place = v.head();
        v.log.pages.resume(0, Some((place.0, 0)));
    }),
    ("counter-free", |v| v.told(|told| told.free += 1)),
    ("counter-bad", |v| v.told(|told| told.bad += 1)),
];

fn codes(chip: &mut SimChip) -> Vec<String> {
    let report = check(chip, &mut |_, _| {}).unwrap();
    report.findings.iter().map(|finding| format!("{}: {}", finding.code, finding.detail)).collect()
}

#[test]
fn the_sample_is_sound() {
    let mut volume = sample();
    volume.checkpoint(true).unwrap();
    assert_eq!(codes(&mut chip_of(volume)), [""; 0]);
}

#[test]
fn every_harm_is_found() {
    let mut missed = Vec::new();
    for (place, (code, harm)) in [NODES, NAMES, BLOCKS].into_iter().flatten().enumerate() {
        let mut volume = sample();
        harm(&mut volume);
        volume.checkpoint(true).unwrap_or_else(|error| panic!("{place} {code}: {error}"));
        let found = codes(&mut chip_of(volume));
        if !found.iter().any(|line| line.starts_with(&format!("{code}: "))) {
            missed.push((place, *code, found));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// A file that fsync wrote since the checkpoint; replaying needs the nodes of the checkpoint.
fn crashed() -> Result<SimChip> {
    let mut volume = sample();
    volume.begin()?;
    let ino = volume.at("dir/data");
    volume.files.write_file(&mut volume.log, ino, 4_000, &[1; 3_000])?;
    volume.fsync_node(ino)?;
    Ok(chip_of(volume))
}

#[test]
fn a_volume_that_cannot_be_recovered_is_checked_all_the_same() {
    let mut chip = crashed().unwrap();
    assert_eq!(codes(&mut chip), [""; 0]);
    let pages = chip.geometry().blocks * chip.geometry().pages_per_block;
    let found = (0..pages).any(|page| {
        *chip.faults_mut() = Faults { unreadable: BTreeSet::from([PageId(page)]), ..Faults::none() };
        check(&mut chip, &mut |_, _| {})
            .is_ok_and(|report| report.findings.iter().any(|finding| finding.code == "recovery"))
    });
    assert!(found);
}

#[test]
fn long_lists_are_cut_short() {
    let mut volume = sample();
    let many = volume.at("many");
    volume.files.dir_remove(&mut volume.log, ROOT, b"many").unwrap();
    for block in volume.buckets_of(many) {
        volume.files.cache.insert(many, block, vec![0; 2048], true);
    }
    volume.checkpoint(true).unwrap();
    let found = codes(&mut chip_of(volume));
    assert!(found.iter().any(|line| line == "inode-lost: 1 more of these"), "{found:#?}");
}

#[test]
fn every_code_has_a_harm() {
    let sources = [
        include_str!("../check.rs"),
        include_str!("blocks.rs"),
        include_str!("counters.rs"),
        include_str!("directories.rs"),
        include_str!("inodes.rs"),
        include_str!("links.rs"),
        include_str!("maps.rs"),
        include_str!("nodes.rs"),
        include_str!("tables.rs"),
    ];
    let harms = [NODES, NAMES, BLOCKS].into_iter().flatten().map(|(code, _)| *code);
    let provoked: BTreeSet<&str> = harms.chain(["recovery"]).collect();
    let calls = sources
        .iter()
        .flat_map(|source| [".add(", ".add_of(", ".counter("].map(|call| source.split(call).skip(1)))
        .flatten();
    let codes: BTreeSet<&str> =
        calls.filter_map(|call| call.trim_start().strip_prefix('"')?.split('"').next()).collect();
    assert_eq!(codes, provoked);
}
