//! One workload on one file system of Linux.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use pumice_lab::{
    Medium,
    files::Script,
    measured::{Figure, RequestMap, hot_share},
    nftl::Nftl,
    on_stack::{self, Moment},
    requests::{Kind, TracedDisk},
};
use pumice_media::{BlockDevice, Nand};
use xtask::{Failure, Guest, Machine, built, installed};

use crate::nbd;

/// A file system of Linux.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// The program that makes one on a disk, and its options.
    mkfs: &'static str,
    options: &'static str,
    mount: &'static str,
}

/// All of them discard free blocks, as the F2FS paper's did.
pub(crate) const PEERS: [Peer; 4] = [
    Peer { name: "ext4", mkfs: "mkfs.ext4", options: "-q -F -E nodiscard", mount: "discard" },
    Peer { name: "btrfs", mkfs: "mkfs.btrfs", options: "-q -f -K", mount: "discard" },
    Peer { name: "nilfs2", mkfs: "mkfs.nilfs2", options: "-q -f -K", mount: "discard" },
    Peer { name: "f2fs", mkfs: "mkfs.f2fs", options: "-q -f -t 0", mount: "discard" },
];
/// Those of the CFFS paper, which knew of no discard; written at once, as far as they can be, for its page cache was made to
/// matter little.
pub(crate) const SMALL_PEERS: [Peer; 2] = [
    Peer { name: "ext2", mkfs: "mkfs.ext2", options: "-q -F -E nodiscard", mount: "sync" },
    Peer { name: "vfat", mkfs: "mkfs.vfat", options: "-S 4096 -r 2048", mount: "sync" },
];

/// A workload, and where its figures belong.
pub(crate) struct Workload {
    pub(crate) experiment: &'static str,
    pub(crate) x: &'static str,
    /// Its name in the laboratory.
    script: &'static str,
    /// The size of the chip, where there are several.
    size: &'static str,
    /// The file of recorded calls.
    pub(crate) recorded: Option<&'static str>,
}

const fn plain(experiment: &'static str, x: &'static str) -> Workload {
    Workload { experiment, x, script: x, size: "", recorded: None }
}

const fn recorded(x: &'static str, file: &'static str) -> Workload {
    Workload { experiment: "f2fs-fig3", x, script: "recorded", size: "", recorded: Some(file) }
}

const fn postmark(x: &'static str, size: &'static str, script: &'static str) -> Workload {
    Workload { experiment: "cffs-table4", x, script, size, recorded: None }
}

impl Workload {
    /// The file systems that it is for.
    pub(crate) fn peers(&self) -> &'static [Peer] {
        if self.experiment == "cffs-table4" { &SMALL_PEERS } else { &PEERS }
    }
}

pub(crate) const WORKLOADS: [Workload; 19] = [
    plain("f2fs-fig3", "iozone SW"),
    plain("f2fs-fig3", "iozone SR"),
    plain("f2fs-fig3", "iozone RW"),
    plain("f2fs-fig3", "iozone RR"),
    plain("f2fs-fig3", "SQLite insert"),
    plain("f2fs-fig3", "SQLite update"),
    plain("f2fs-fig3", "SQLite delete"),
    recorded("Facebook-app", "mobigen-facebook.txt.zst"),
    recorded("Twitter-app", "mobigen-twitter.txt.zst"),
    plain(REQUESTS, "fileserver"),
    plain("f2fs-fig4", "videoserver"),
    plain("f2fs-fig4", "fileserver"),
    plain("f2fs-fig4", "varmail"),
    plain("f2fs-fig4", "oltp"),
    postmark("1:10", "64 MB", "PostMark 1:10, 64 MB"),
    postmark("1:3", "64 MB", "PostMark 1:3, 64 MB"),
    postmark("1:2", "64 MB", "PostMark 1:2, 64 MB"),
    postmark("1:10", "22 MB", "PostMark 1:10, 22 MB"),
    postmark("1:3", "22 MB", "PostMark 1:3, 22 MB"),
];

/// A figure of a workload on a file system, and where it belongs.
pub(crate) struct Line {
    pub(crate) experiment: &'static str,
    /// The layer under the file system, unless that is the server as in all of the experiment.
    pub(crate) on: String,
    pub(crate) figure: Figure,
    pub(crate) value: f64,
}

/// The experiment that shows the requests to the disk.
const REQUESTS: &str = "f2fs-fig5";

/// The names of files by which the guest says how far it is.
const BEGIN: &str = "begin";
const END: &str = "end";
/// The interval of looking for them.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs it, and counts the chip's work between preparation and end.
pub(crate) fn measure(
    machine: &Machine,
    peer: &Peer,
    workload: &Workload,
    recorded: Option<&Path>,
) -> Result<(Vec<Line>, Option<RequestMap>), Failure> {
    let script: Script = workload.script.parse()?;
    let disk = Mutex::new(on_stack::disk(script, &Medium::default())?);
    let place = tempfile::tempdir()?;
    let socket = place.path().join("disk");
    let mut guest = Guest::new(machine)?;
    guest.add_program(&installed(peer.mkfs)?)?;
    guest.add_program(&built("guest-play")?)?;
    guest.add_served_disk(&socket);
    let shared = guest.shared();
    let file = if let Some(path) = recorded {
        fs::copy(path, shared.join("recorded"))?;
        "/host/recorded"
    } else {
        ""
    };
    let commands = format!(
        "set -e\nmkdir -p /etc\nln -s /proc/mounts /etc/mtab\nmodprobe {0}\n{1} {2} /dev/vda\nmount -i -t {0} -o noatime,{4} /dev/vda /mnt\n\
         guest-play '{3}' /mnt /host/{BEGIN} /host/{END} {file}\numount /mnt\n",
        peer.name, peer.mkfs, peer.options, workload.script, peer.mount
    );
    let listener = nbd::listen(&socket)?;
    let over = AtomicBool::new(false);
    let (report, marks) = thread::scope(|scope| {
        let served = scope.spawn(|| nbd::serve(&listener, &disk, &over));
        let marks = scope.spawn(|| [BEGIN, END].map(|mark| wait(&shared.join(mark), &disk, &over)));
        let report = guest.run(&commands);
        over.store(true, Ordering::Relaxed);
        // The report says more than this result.
        let _ = served.join();
        (report, marks.join())
    });
    report?.good()?;
    match marks {
        Ok([Some(begin), Some(end)]) => {
            let traced = disk.into_inner().map_err(|_| "the server of the disk gave up")?;
            let moments = [begin, end];
            Ok(match workload.experiment {
                REQUESTS => requests(&traced, &moments),
                _ => (lines(workload, script, &traced, &moments)?, None),
            })
        }
        _ => Err(format!("{} on {}: the guest never said that it was done", workload.x, peer.name).into()),
    }
}

/// The requests to the disk.
fn requests(traced: &TracedDisk, [begin, end]: &[Moment; 2]) -> (Vec<Line>, Option<RequestMap>) {
    let found = on_stack::requests(traced, begin, end);
    let line = |(figure, value)| Line { experiment: REQUESTS, on: String::new(), figure, value };
    (found.figures.into_iter().map(line).collect(), found.map)
}

/// The figures of a run. Those of PostMark include the cost of the same writes on a block-mapped layer on the same
/// chip.
fn lines(
    workload: &Workload,
    script: Script,
    traced: &TracedDisk,
    [begin, end]: &[Moment; 2],
) -> Result<Vec<Line>, Failure> {
    let line = |on: &str, (figure, value)| Line {
        experiment: workload.experiment,
        on: if on.is_empty() { String::new() } else { format!(" over {on} of {}", workload.size) },
        figure,
        value,
    };
    let figures = on_stack::figures(traced, script, begin, end);
    if !matches!(script, Script::PostMark { .. }) {
        return Ok(figures.into_iter().map(|figure| line("", figure)).collect());
    }
    let mut lines: Vec<Line> = figures.into_iter().map(|figure| line("ftl", figure)).collect();
    let disk = traced.disk();
    let geometry = disk.chip().geometry();
    let mut nftl = Nftl::new(geometry.pages_per_block as usize, geometry.blocks as usize);
    let pages = (disk.block_bytes() / geometry.page_bytes) as usize;
    let mut before = nftl.did();
    let mut counts = BTreeMap::<usize, u32>::new();
    for (at, request) in traced.requests().iter().enumerate() {
        if at == begin.requests() {
            before = nftl.did();
        }
        let writes = Some(request).filter(|request| request.kind == Kind::Write);
        for block in writes.into_iter().flat_map(|request| request.first..request.first + request.blocks) {
            let block = usize::try_from(block)?;
            if !(block * pages..(block + 1) * pages).all(|page| nftl.write(page)) {
                return Err(format!("block {block} is beyond the end of the block-mapped disk").into());
            }
            if (begin.requests()..end.requests()).contains(&at) {
                *counts.entry(block).or_default() += 1;
            }
        }
    }
    let did = nftl.did();
    let programs = did.programs - before.programs;
    lines.push(line("nftl", (Figure::Programs, float(programs))));
    if did.erases > before.erases {
        let extra = float(did.copied - before.copied) / float(did.erases - before.erases);
        lines.push(line("nftl", (Figure::ExtraWrites, extra)));
    }
    let share = hot_share(counts.into_values()).map(|share| line("ftl", (Figure::HotBlocks, share)));
    lines.extend(share.map(|line| Line { experiment: "cffs-fig4", ..line }));
    Ok(lines)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn float(number: u64) -> f64 {
    number as f64
}

/// Waits until the guest makes a file, and lets it go on; how far all was by then.
fn wait(mark: &Path, disk: &Mutex<TracedDisk>, over: &AtomicBool) -> Option<Moment> {
    while !mark.exists() {
        if over.load(Ordering::Relaxed) {
            return None;
        }
        thread::sleep(PAUSE);
    }
    let found = Moment::of(&*disk.lock().ok()?);
    fs::remove_file(mark).ok()?;
    Some(found)
}
