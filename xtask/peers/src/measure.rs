//! One workload on one file system of Linux.

use std::{collections::BTreeMap, env, fs, path::Path};

use pumice_lab::{
    Medium,
    files::Script,
    measured::{Figure, RequestMap, hot_share},
    nftl::Nftl,
    on_stack::{self, Moment},
    requests::{Kind, TracedDisk},
};
use pumice_media::{BlockDevice, Nand};
use xtask::{Failure, Guest, Machine, installed};

use crate::{
    PLAY,
    play::{BEGIN, END},
    trace::{Event, events},
};

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
    Peer {
        name: "ext4",
        mkfs: "mkfs.ext4",
        options: "-q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0",
        mount: "discard",
    },
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

pub(crate) const WORKLOADS: [Workload; 20] = [
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
    plain(REQUESTS, "iozone RW"),
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

/// The guest's memory: 768 MiB beside its disk, which stands there.
const MEMORY_MIB: u32 = 1536;
/// Nanoseconds of the guest's clock in which its disk answers.
const LATENCY_NS: u32 = 1_000_000;
/// Sectors of 512 bytes of a request, at most: what the kernel gives any disk.
const SECTORS_MOST: u32 = 2560;
/// KiB of the guest's trace.
const TRACE_KIB: u32 = 64 << 10;
/// Bytes of dirty pages at which the guest's kernel begins to write, and at which writers wait: those of a machine of 768 MiB.
const DIRTY: [u32; 2] = [60 << 20, 120 << 20];

/// Runs it, and counts the chip's work between preparation and end.
///
/// The guest's clock counts instructions, and its disk stands in its memory: the host's load changes nothing. The
/// requests that its kernel sent there are then played on the disk that is measured.
pub(crate) fn measure(
    machine: &Machine,
    peer: &Peer,
    workload: &Workload,
    recorded: Option<&Path>,
) -> Result<(Vec<Line>, Option<RequestMap>), Failure> {
    let script: Script = workload.script.parse()?;
    let mut disk = on_stack::disk(script, &Medium::default())?;
    let trace = traced(machine, peer, workload, recorded, disk.blocks() * u64::from(disk.block_bytes()))?;
    let (mut begin, mut end) = (None, None);
    for event in events(&trace) {
        match event? {
            Event::Request(request) => request.play(&mut disk)?,
            Event::Mark(BEGIN) => begin = Some(Moment::of(&disk)),
            Event::Mark(END) => end = Some(Moment::of(&disk)),
            Event::Mark(other) => return Err(format!("the trace has a mark {other:?}").into()),
        }
    }
    let moments = [begin, end].map(|moment| moment.ok_or("the trace ends before the workload"));
    let [begin, end] = moments;
    let moments = [begin?, end?];
    Ok(match workload.experiment {
        REQUESTS => requests(&disk, &moments),
        _ => (lines(workload, script, &disk, &moments)?, None),
    })
}

/// The trace of a guest that makes the file system, on a disk of so many bytes, and plays the workload.
fn traced(
    machine: &Machine,
    peer: &Peer,
    workload: &Workload,
    recorded: Option<&Path>,
    bytes: u64,
) -> Result<String, Failure> {
    let mut guest = Guest::new(machine)?;
    let program = env::current_exe()?;
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    guest.add_program(&program)?;
    for wanted in [peer.mkfs, "addpart"] {
        guest.add_program(&installed(wanted)?)?;
    }
    guest.set_memory(MEMORY_MIB);
    guest.count_instructions();
    let shared = guest.shared();
    if let Some(path) = recorded {
        fs::copy(path, shared.join("recorded"))?;
    }
    let (fetch, file) = if recorded.is_some() { ("cp /host/recorded .", "recorded") } else { ("", "") };
    let ([background, wait], sectors) = (DIRTY, bytes / 512);
    let Peer { name: fs, mkfs, options, mount } = peer;
    let script = workload.script;
    let commands = format!(
        "set -e
mkdir -p /etc
ln -s /proc/mounts /etc/mtab
{fetch}
echo {background} >/proc/sys/vm/dirty_background_bytes
echo {wait} >/proc/sys/vm/dirty_bytes
trace=/sys/kernel/tracing
mount -t tracefs none $trace
modprobe {fs}
# With a small cache, the driver may look for room in it for ever.
modprobe null_blk gb=1 bs=4096 memory_backed=1 discard=1 cache_size=1024 irqmode=2 completion_nsec={LATENCY_NS} max_sectors={SECTORS_MOST}
addpart /dev/nullb0 1 0 {sectors}
echo {TRACE_KIB} >$trace/buffer_size_kb
echo 1 >$trace/events/block/block_rq_complete/enable
{mkfs} {options} /dev/nullb0p1
mount -i -t {fs} -o noatime,{mount} /dev/nullb0p1 /mnt
{name} {PLAY} '{script}' /mnt $trace/trace_marker {file}
echo 0 >$trace/tracing_on
grep -q '^overrun: 0$' $trace/per_cpu/cpu0/stats
cat $trace/trace >/host/trace
umount /mnt
"
    );
    guest.run(&commands)?.good()?;
    Ok(fs::read_to_string(shared.join("trace"))?)
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
