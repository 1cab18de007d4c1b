//! The scripted workloads, by name.

use pumice_vfs::{FileKind, RenameMode, SpaceMode};

use super::random::Random;
use super::step::{Step, WRITE_MAX};

/// Names of all scenarios.
pub const ALL: [&str; 10] =
    ["names", "appends", "newfiles", "growth", "bigdir", "full", "remounts", "space", "tree", "saves"];

/// Calls of a scenario that is made up from a seed.
const RANDOM_CALLS: u32 = 150;
/// Files of it get about this long, in bytes.
const RANDOM_BYTES: u64 = 60_000;

/// The steps of a scenario; `random7` is made up from the seed 7.
pub fn scenario(name: &str) -> Vec<Step> {
    if let Some(seed) = name.strip_prefix("random") {
        let mut random = Random(seed.parse().unwrap());
        return (0..RANDOM_CALLS).map(|_| random.step(RANDOM_BYTES)).collect();
    }
    match name {
        "names" => names(),
        "appends" => appends(),
        "newfiles" => new_files(),
        "growth" => growth(),
        "bigdir" => big_directory(),
        "full" => full(),
        "remounts" => remounts(),
        "space" => space(),
        "tree" => tree(),
        "saves" => saves(),
        "links" => links(),
        _ => panic!("no scenario {name}"),
    }
}

fn create(path: &str) -> Step {
    Step::Create(path.into())
}

fn mkdir(path: &str) -> Step {
    Step::Make(path.into(), FileKind::Dir)
}

fn write(path: &str, offset: u64, len: u32) -> Step {
    Step::Write(path.into(), offset, len)
}

fn fsync(path: &str) -> Step {
    Step::Fsync(path.into())
}

fn rename(from: &str, to: &str) -> Step {
    Step::Rename(from.into(), to.into(), RenameMode::Replace)
}

fn exchange(from: &str, to: &str) -> Step {
    Step::Rename(from.into(), to.into(), RenameMode::Exchange)
}

fn unlink(path: &str) -> Step {
    Step::Unlink(path.into())
}

/// Every change of names, with files synced before, between and after.
fn names() -> Vec<Step> {
    let mut steps = Vec::new();
    for round in 0..3 {
        let (a, b, d) = (&format!("/a{round}"), &format!("/b{round}"), &format!("/d{round}"));
        let inner = &format!("{d}/inner");
        steps.extend([
            create(a),
            write(a, 0, 900),
            fsync(a),
            create(b),
            write(b, 0, 5000),
            mkdir(d),
            create(inner),
            write(inner, 0, 3000),
            fsync(inner),
            Step::Link(a.clone(), format!("{d}/link")),
            write(a, 500, 700),
            fsync(a),
            exchange(a, b),
            fsync(b),
            rename(inner, &format!("{d}/moved")),
            Step::SetXattr(a.clone(), 1, 40),
            Step::SetXattr(b.clone(), 2, 3000),
            fsync(b),
            rename(a, b),
            fsync(b),
            Step::Make(format!("{d}/symlink"), FileKind::Symlink),
            Step::Make(format!("{d}/fifo"), FileKind::Fifo),
            Step::Make(format!("{d}/device"), FileKind::CharDevice),
            fsync(&format!("{d}/symlink")),
            Step::Chmod(b.clone(), 0o600),
            fsync(b),
            Step::RemoveXattr(b.clone(), 1),
            exchange(&format!("{d}/moved"), b),
            Step::Sync,
            unlink(&format!("{d}/moved")),
            create(&format!("{d}/moved")),
            fsync(&format!("{d}/moved")),
            unlink(&format!("{d}/fifo")),
            rename(d, &format!("/e{round}")),
            fsync(&format!("/e{round}/moved")),
            mkdir(d),
            exchange(d, &format!("/e{round}")),
            unlink(&format!("{d}/link")),
        ]);
    }
    steps
}

/// One of two names goes, and is promised by the fsync of a file beside it.
fn links() -> Vec<Step> {
    let mut steps = vec![mkdir("/d"), create("/a"), write("/a", 0, 900)];
    steps.extend([Step::Link("/a".into(), "/d/link".into()), Step::Sync]);
    steps.extend([unlink("/a"), create("/a"), write("/a", 0, 300), fsync("/a")]);
    steps.extend([write("/a", 300, 300), fsync("/a"), write("/a", 600, 300), fsync("/a")]);
    steps
}

/// A log that is synced at every line, and a file with blocks overwritten and synced.
fn appends() -> Vec<Step> {
    let mut steps = vec![create("/log"), create("/base"), create("/other")];
    steps.extend((0..4).map(|part| write("/base", part * 30_000, 30_000)));
    steps.push(Step::Sync);
    for line in 0..70 {
        steps.push(write("/log", line * 300, 300));
        steps.push(fsync("/log"));
        if line % 3 == 0 {
            steps.push(write("/base", line * 7919 % 100_000, 4096));
            steps.push(fsync("/base"));
        }
        if line % 7 == 0 {
            steps.push(write("/other", line * 1000, 2500));
        }
        if line % 10 == 9 {
            steps.push(write("/base", line * 1237 % 100_000, 100));
            steps.push(Step::Chmod("/log".into(), 0o600 + line as u32 % 8));
        }
        if line == 40 {
            steps.push(Step::Truncate("/log".into(), 5000));
            steps.push(write("/log", 20_000, 10));
        }
    }
    steps
}

/// New files, each synced, in directories old and new.
fn new_files() -> Vec<Step> {
    let mut steps = vec![mkdir("/old"), Step::Sync];
    for number in 0..40 {
        let path = format!("/old/file{number}");
        steps.extend([create(&path), write(&path, 0, 50 + number * 211), fsync(&path)]);
        if number % 4 == 0 {
            steps.push(write(&path, 2000, 3000));
            steps.push(fsync(&path));
        }
        if number % 8 == 5 {
            let dir = format!("/new{number}");
            let inner = format!("{dir}/inner");
            steps.extend([mkdir(&dir), create(&inner), write(&inner, 0, 4000), fsync(&inner)]);
        }
        if number % 9 == 7 {
            steps.push(unlink(&format!("/old/file{}", number - 2)));
        }
        if number % 10 == 9 {
            steps.push(rename(&path, &format!("/old/renamed{number}")));
            steps.push(create(&path));
            steps.push(fsync(&path));
        }
    }
    steps
}

/// A sparse file that grows through the classes of inodes and shrinks again.
fn growth() -> Vec<Step> {
    let mut steps = vec![create("/f"), create("/g")];
    let blocks: [u64; 12] = [0, 3, 240, 260, 498, 499, 505, 900, 62_700, 124_700, 124_800, 190_000];
    for (at, block) in blocks.into_iter().enumerate() {
        steps.push(write("/f", block * 2048, 2048));
        steps.push(fsync("/f"));
        steps.push(write("/f", block * 2048 + 1000, 3000));
        if at % 3 == 0 {
            steps.push(write("/g", at as u64 * 300_000, 10_000));
            steps.push(fsync("/g"));
        }
        if at % 4 == 3 {
            steps.push(Step::Sync);
        }
        steps.push(write("/f", 0, 5000));
        steps.push(fsync("/f"));
    }
    for block in [124_760, 62_800, 600, 499, 251, 2, 0] {
        steps.push(Step::Truncate("/f".into(), block * 2048 + 77));
        steps.push(write("/f", 100, 200));
        steps.push(fsync("/f"));
        if block % 2 == 1 {
            steps.push(write("/f", 700 * 2048, 100));
        }
    }
    steps.extend([
        Step::Truncate("/f".into(), 0),
        write("/f", 0, 100),
        fsync("/f"),
        unlink("/g"),
        Step::Sync,
    ]);
    steps
}

/// A directory with buckets that are split and joined.
fn big_directory() -> Vec<Step> {
    let name = |number: u32| format!("/dir/{number:03}-{}", "n".repeat(70));
    let mut steps = vec![mkdir("/dir"), Step::Sync];
    for number in 0..120 {
        steps.push(create(&name(number)));
        if number % 10 == 3 {
            steps.push(write(&name(number), 0, 100));
            steps.push(fsync(&name(number)));
        }
        if number % 25 == 24 {
            steps.push(fsync("/dir"));
        }
    }
    for number in 0..115 {
        steps.push(unlink(&name(number * 7 % 120)));
        if number % 20 == 19 {
            steps.push(create(&name(number * 7 % 120)));
            steps.push(fsync(&name(number * 7 % 120)));
            steps.push(Step::Sync);
        }
    }
    steps
}

/// A chip filled to the brim, then blocks overwritten all over it, so that cleaning works.
fn full() -> Vec<Step> {
    let mut steps = Vec::new();
    let files = 22;
    for number in 0..files {
        let path = format!("/fill{number}");
        steps.extend([create(&path), write(&path, 0, WRITE_MAX)]);
    }
    steps.push(Step::Sync);
    for round in 0..150u64 {
        let path = format!("/fill{}", round * round % files);
        steps.push(write(&path, round * 7919 % 60_000, 3000));
        match round % 6 {
            0 => steps.push(fsync(&path)),
            3 => steps.push(Step::Maintain),
            5 => steps.push(write(&path, 8192, 9000)),
            _ => {}
        }
        if round % 30 == 29 {
            steps.push(unlink(&path));
            steps.push(create(&path));
            steps.push(write(&path, 0, 40_000));
        }
    }
    steps
}

/// Unmounts and mounts in the middle, open files without names, and work of idle times.
fn remounts() -> Vec<Step> {
    let mut steps = Vec::new();
    for round in 0..8 {
        let (a, b) = (&format!("/a{round}"), &format!("/b{round}"));
        steps.extend([create(a), write(a, 0, 9000), create(b), write(b, 0, 300), fsync(b)]);
        steps.extend([Step::Hold(a.clone(), 1), unlink(a), write(b, 300, 4000), fsync(b), Step::Maintain]);
        if round % 2 == 0 {
            steps.push(Step::Release(1));
        }
        if round % 3 == 1 {
            steps.push(Step::Sync);
        }
        steps.push(Step::Remount);
        steps.extend([Step::Maintain, Step::Remount, write(b, 100, 100), fsync(b), Step::Maintain]);
        steps.extend((0..3).map(|_| Step::Maintain));
    }
    steps
}

/// Lengths, holes and reserved space.
fn space() -> Vec<Step> {
    let mut steps = vec![create("/f"), create("/g"), write("/g", 0, 30_000), Step::Sync];
    let modes = [
        SpaceMode::Reserve { keep_size: false },
        SpaceMode::PunchHole,
        SpaceMode::Zero { keep_size: true },
        SpaceMode::Reserve { keep_size: true },
        SpaceMode::Zero { keep_size: false },
    ];
    for (round, mode) in (0u64..).zip(modes.into_iter().cycle().take(20)) {
        for path in ["/f", "/g"] {
            steps.push(write(path, round * 997 % 40_000, 2000 + 100 * round as u32));
            steps.push(Step::Allocate(path.into(), mode, round * 1511 % 30_000, 1 + round * 700));
            if round % 2 == 0 {
                steps.push(fsync(path));
            }
            steps.push(Step::Truncate(path.into(), 10_000 + round * 1234));
            if round % 3 == 0 {
                steps.push(fsync(path));
            }
            steps.push(write(path, 45_000, 10 + round as u32));
            steps.push(fsync(path));
        }
    }
    steps
}

/// Directories made, filled, moved and taken away.
fn tree() -> Vec<Step> {
    let mut steps = Vec::new();
    for top in 0..3 {
        let top = format!("/top{top}");
        steps.push(mkdir(&top));
        for sub in 0..4 {
            let sub = format!("{top}/sub{sub}");
            steps.push(mkdir(&sub));
            for file in 0..3 {
                let path = format!("{sub}/file{file}");
                steps.extend([create(&path), write(&path, 0, 700 * (file + 1))]);
            }
            steps.push(fsync(&format!("{sub}/file1")));
            steps.push(write(&format!("{sub}/file0"), 3000, 2000));
        }
        steps.push(Step::Sync);
        steps.push(rename(&format!("{top}/sub0"), &format!("{top}/sub1/below")));
        steps.push(fsync(&format!("{top}/sub1/below/file0")));
        steps.push(exchange(&format!("{top}/sub1"), &format!("{top}/sub2/file2")));
        steps.push(exchange(&format!("{top}/sub1"), &format!("{top}/sub2/file2")));
        for file in 0..3 {
            steps.push(unlink(&format!("{top}/sub3/file{file}")));
        }
        steps.push(Step::Rmdir(format!("{top}/sub3")));
        steps.push(write(&format!("{top}/sub2/file1"), 100, 5000));
        steps.push(fsync(&format!("{top}/sub2/file1")));
        steps.push(fsync(&top));
    }
    steps
}

/// Files saved as programs do it, over the old ones and beside them; directories moved both ways; links; inodes held
/// open that lose their names; and as many fsyncs as fit between two checkpoints.
fn saves() -> Vec<Step> {
    let mut steps =
        vec![mkdir("/a"), mkdir("/b"), create("/a/document"), write("/a/document", 0, 900), Step::Sync];
    for round in 0..6_u64 {
        for (path, dir, len) in
            [("/a/document", "/a", 300), ("/b/new", "/b", 4096), ("/a/document", "/a", 5000)]
        {
            let tmp = format!("{dir}/.tmp");
            steps.extend([create(&tmp), write(&tmp, 0, len + round as u32), fsync(&tmp)]);
            steps.extend([rename(&tmp, path), fsync(dir)]);
        }
        // Never synced by itself; synced under another name.
        steps.extend([create("/a/x"), write("/a/x", 0, 700), rename("/a/x", "/b/y"), fsync("/b")]);
        steps.extend([write("/b/y", 700, 2500), rename("/b/y", "/a/z"), fsync("/a/z")]);
        steps.extend([mkdir("/a/in"), create("/a/in/f"), write("/a/in/f", 0, 400), fsync("/a/in/f")]);
        steps.extend([rename("/a/in", "/b/in"), fsync("/b"), write("/b/in/f", 100, 3000), fsync("/b/in/f")]);
        steps.extend([rename("/b/in", "/a/in"), fsync("/a"), rename("/b", "/a/in/b"), fsync("/a/in")]);
        steps.extend([rename("/a/in/b", "/b"), fsync("/"), unlink("/a/in/f"), Step::Rmdir("/a/in".into())]);
        steps.extend([fsync("/a"), Step::Link("/a/z".into(), "/b/link".into()), fsync("/b"), fsync("/a/z")]);
        steps.extend([unlink("/a/z"), fsync("/a"), exchange("/b/link", "/a/document"), fsync("/b/link")]);
        steps.extend([Step::Hold("/b/link".into(), 1), unlink("/b/link"), fsync("/b"), create("/b/link")]);
        steps.extend([fsync("/b/link"), Step::Release(1), Step::Chmod("/b".into(), 0o700), fsync("/b")]);
        steps.extend([unlink("/b/link"), create("/b/link"), write("/b/link", 0, 100), fsync("/b/link")]);
        if round == 3 {
            steps.push(Step::Sync);
        }
    }
    steps
}
