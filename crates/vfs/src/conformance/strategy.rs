//! The frequency of each operation, and its arguments.

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::op::{Name, Node, Op, Pick, Pool, XattrName};
use crate::{FileKind, RenameMode, Seek, SetAttr, SpaceMode, Timestamp, XattrMode};

/// One operation.
pub(super) fn op() -> impl Strategy<Value = Op> {
    let mut arms = naming();
    arms.extend(content());
    arms.extend(attributes());
    arms.extend(whole());
    Union::new_weighted(arms)
}

type Arms = Vec<(u32, BoxedStrategy<Op>)>;

fn naming() -> Arms {
    Vec::from([
        (18, (dir(), name(), node()).prop_map(|(dir, name, node)| Op::Create { dir, name, node }).boxed()),
        (4, (any_inode(), dir(), name()).prop_map(|(node, dir, name)| Op::Link { node, dir, name }).boxed()),
        (7, (dir(), name()).prop_map(|(dir, name)| Op::Unlink { dir, name }).boxed()),
        (5, (dir(), name()).prop_map(|(dir, name)| Op::Rmdir { dir, name }).boxed()),
        (14, rename().boxed()),
        (4, (dir(), looked_up()).prop_map(|(dir, name)| Op::Lookup { dir, name }).boxed()),
        (1, dir().prop_map(|dir| Op::Parent { dir }).boxed()),
        (1, any_inode().prop_map(|node| Op::Readlink { node }).boxed()),
        (3, (dir(), 1..20u8).prop_map(|(dir, at_once)| Op::Readdir { dir, at_once }).boxed()),
        (1, dir().prop_map(|dir| Op::StreamOpen { dir }).boxed()),
        (3, (1..5u8).prop_map(|count| Op::StreamStep { count }).boxed()),
        (2, any_inode().prop_map(|node| Op::Hold { node }).boxed()),
        (2, any::<u8>().prop_map(|index| Op::Release { index }).boxed()),
    ])
}

fn content() -> Arms {
    let write = (file(), offset(), 1..=40_960u32, any::<u8>());
    let small_write = (file(), offset(), 1..=200u32, any::<u8>());
    let to_write = |(file, offset, len, seed)| Op::Write { file, offset, len, seed };
    let allocate = (file(), space_mode(), offset(), prop_oneof![1..100_000u64, Just(4096), 0..10u64]);
    Vec::from([
        (7, write.prop_map(to_write).boxed()),
        (6, small_write.prop_map(to_write).boxed()),
        (
            9,
            (file(), offset(), 0..=50_000u32)
                .prop_map(|(file, offset, len)| Op::Read { file, offset, len })
                .boxed(),
        ),
        (
            5,
            (file(), offset())
                .prop_map(|(node, size)| Op::SetAttr {
                    node,
                    change: SetAttr { size: Some(size), ..SetAttr::default() },
                })
                .boxed(),
        ),
        (
            6,
            allocate
                .prop_map(|(file, mode, offset, length)| Op::Allocate { file, mode, offset, length })
                .boxed(),
        ),
        (
            4,
            (file(), offset(), select(&[Seek::Data, Seek::Hole]))
                .prop_map(|(file, offset, what)| Op::Seek { file, offset, what })
                .boxed(),
        ),
    ])
}

fn attributes() -> Arms {
    let modes = &[XattrMode::Either, XattrMode::Either, XattrMode::Create, XattrMode::Replace];
    let value_len =
        prop_oneof![6 => 0..100u32, 2 => 100..5000u32, 1 => select(&[4096, 65_535, 65_536, 65_537][..])];
    let set = (any_inode(), xattr_name(), value_len, any::<u8>(), select(modes));
    Vec::from([
        (2, any_inode().prop_map(|node| Op::Attr { node }).boxed()),
        (5, (any_inode(), change()).prop_map(|(node, change)| Op::SetAttr { node, change }).boxed()),
        (
            5,
            set.prop_map(|(node, name, len, seed, mode)| Op::SetXattr { node, name, len, seed, mode })
                .boxed(),
        ),
        (2, (any_inode(), xattr_name()).prop_map(|(node, name)| Op::Xattr { node, name }).boxed()),
        (1, any_inode().prop_map(|node| Op::ListXattr { node }).boxed()),
        (2, (any_inode(), xattr_name()).prop_map(|(node, name)| Op::RemoveXattr { node, name }).boxed()),
    ])
}

fn whole() -> Arms {
    let fsync = (any_inode(), any::<bool>());
    Vec::from([
        (3, fsync.prop_map(|(node, data_only)| Op::Fsync { node, data_only }).boxed()),
        (1, Just(Op::Sync).boxed()),
        (1, Just(Op::Space).boxed()),
        (2, Just(Op::Maintain).boxed()),
        (1, Just(Op::Remount).boxed()),
    ])
}

fn rename() -> impl Strategy<Value = Op> {
    use RenameMode::{Exchange, NoReplace, Replace};
    let modes = select(&[Replace, Replace, NoReplace, Exchange]);
    let sides = (dir(), name(), dir(), name(), modes);
    sides.prop_map(|(dir, name, to_dir, to_name, mode)| Op::Rename { dir, name, to_dir, to_name, mode })
}

fn node() -> impl Strategy<Value = Node> {
    use FileKind::{BlockDevice, CharDevice, Dir, Fifo, File, Socket, Symlink};
    let kinds =
        select(&[File, File, File, File, Dir, Dir, Dir, Symlink, Fifo, Socket, CharDevice, BlockDevice]);
    let target_len = prop_oneof![8 => 1..100u16, 1 => select(&[4095u16, 4096, 0, 512][..])];
    (kinds, perm(), owner(), owner(), target_len).prop_map(|(kind, perm, uid, gid, target_len)| {
        let rdev = if matches!(kind, CharDevice | BlockDevice) { 0x1234_5678 } else { 0 };
        Node { kind, perm, uid, gid, rdev, target_len }
    })
}

fn change() -> impl Strategy<Value = SetAttr> {
    use proptest::option::of;
    let times = (of(time()), of(time()), proptest::option::weighted(0.2, time()));
    let change =
        (of(perm()), of(owner()), of(owner()), times, proptest::option::weighted(0.1, 0..100_000u64));
    change
        .prop_map(|(perm, uid, gid, (atime, mtime, ctime), size)| SetAttr {
            perm,
            uid,
            gid,
            size,
            atime,
            mtime,
            ctime,
        })
        .prop_filter("changes nothing", |change| *change != SetAttr::default())
}

fn space_mode() -> impl Strategy<Value = SpaceMode> {
    use SpaceMode::{PunchHole, Reserve, Zero};
    select(&[
        PunchHole,
        PunchHole,
        Reserve { keep_size: true },
        Reserve { keep_size: false },
        Zero { keep_size: true },
        Zero { keep_size: false },
    ])
}

/// Mostly near the start, sometimes on the edge of a block, rarely far out.
fn offset() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => 0..50_000u64,
        4 => (0..24u64, 0..3u64).prop_map(|(block, by)| (block * 4096 + by).saturating_sub(1)),
        2 => Just(0),
        2 => 0..400_000u64,
        1 => 0..(40u64 << 20),
    ]
}

fn time() -> impl Strategy<Value = Timestamp> {
    let seconds = prop_oneof![8 => 0..1i64 << 33, 1 => Just(-1), 1 => Just(0)];
    (seconds, 0..1_000_000_000u32).prop_map(|(seconds, nanos)| Timestamp { seconds, nanos })
}

fn perm() -> RangeInclusive<u32> {
    0..=0o7777
}

fn owner() -> impl Strategy<Value = u32> {
    select(&[0, 1, 1000, 65_535, 65_536, u32::MAX - 1])
}

/// Mostly one of very few, so that names are met again.
fn name() -> impl Strategy<Value = Name> {
    prop_oneof![45 => 0..3u8, 15 => 0..=Name::GOOD, 1 => 0..=Name::LAST].prop_map(Name)
}

fn looked_up() -> impl Strategy<Value = Name> {
    prop_oneof![4 => 0..3u8, 2 => 0..=Name::GOOD, 1 => 0..=Name::LAST].prop_map(Name)
}

fn xattr_name() -> impl Strategy<Value = XattrName> {
    prop_oneof![15 => 0..2u8, 5 => 0..6u8, 1 => Just(6)].prop_map(XattrName)
}

fn dir() -> impl Strategy<Value = Pick> {
    pick(Pool::Dirs)
}

fn file() -> impl Strategy<Value = Pick> {
    pick(Pool::Files)
}

fn any_inode() -> impl Strategy<Value = Pick> {
    prop_oneof![0..6u8, any::<u8>()].prop_map(|index| Pick { pool: Pool::Any, index })
}

/// Mostly one of `pool`, now and then anything.
fn pick(pool: Pool) -> impl Strategy<Value = Pick> {
    (prop_oneof![30 => Just(pool), 1 => Just(Pool::Any)], any::<u8>())
        .prop_map(|(pool, index)| Pick { pool, index })
}
