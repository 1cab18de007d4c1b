//! One workload on one file system of Linux.

use std::{
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use pumice_ftl::Ftl;
use pumice_lab::{measured::Figure, on_stack};
use pumice_media::{Nand, NandStats, SimChip};
use xtask::{Failure, Guest, Machine, built, installed};

use crate::nbd;

/// A file system of Linux.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// What makes one on a disk, and its options.
    mkfs: &'static str,
    options: &'static str,
}

/// All of them discard what is free, as the paper's did.
pub(crate) const PEERS: [Peer; 4] = [
    Peer { name: "ext4", mkfs: "mkfs.ext4", options: "-q -F -E nodiscard" },
    Peer { name: "btrfs", mkfs: "mkfs.btrfs", options: "-q -f -K" },
    Peer { name: "nilfs2", mkfs: "mkfs.nilfs2", options: "-q -f -K" },
    Peer { name: "f2fs", mkfs: "mkfs.f2fs", options: "-q -f -t 0" },
];

/// A workload, and where its figures belong.
pub(crate) struct Workload {
    pub(crate) experiment: &'static str,
    pub(crate) x: &'static str,
    /// Its name in the laboratory.
    script: &'static str,
    /// The file of recorded calls.
    pub(crate) recorded: Option<&'static str>,
}

const fn plain(experiment: &'static str, x: &'static str) -> Workload {
    Workload { experiment, x, script: x, recorded: None }
}

const fn recorded(x: &'static str, file: &'static str) -> Workload {
    Workload { experiment: "f2fs-fig3", x, script: "recorded", recorded: Some(file) }
}

pub(crate) const WORKLOADS: [Workload; 13] = [
    plain("f2fs-fig3", "iozone SW"),
    plain("f2fs-fig3", "iozone SR"),
    plain("f2fs-fig3", "iozone RW"),
    plain("f2fs-fig3", "iozone RR"),
    plain("f2fs-fig3", "SQLite insert"),
    plain("f2fs-fig3", "SQLite update"),
    plain("f2fs-fig3", "SQLite delete"),
    recorded("Facebook-app", "mobigen-facebook.txt.zst"),
    recorded("Twitter-app", "mobigen-twitter.txt.zst"),
    plain("f2fs-fig4", "videoserver"),
    plain("f2fs-fig4", "fileserver"),
    plain("f2fs-fig4", "varmail"),
    plain("f2fs-fig4", "oltp"),
];

/// The names of files by which the guest says how far it is.
const BEGIN: &str = "begin";
const END: &str = "end";
/// How often they are looked for.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs it, and counts what the chip does between preparation and end.
pub(crate) fn measure(
    machine: &Machine,
    peer: &Peer,
    workload: &Workload,
    recorded: Option<&Path>,
) -> Result<Vec<(Figure, f64)>, Failure> {
    let disk = Mutex::new(on_stack::disk()?);
    let place = tempfile::tempdir()?;
    let socket = place.path().join("disk");
    let mut guest = Guest::new(machine)?;
    guest.add_program(&installed(peer.mkfs)?)?;
    guest.add_program(&built("xtask-peers", "guest-play")?)?;
    guest.add_served_disk(&socket);
    let shared = guest.shared();
    let file = if let Some(path) = recorded {
        fs::copy(path, shared.join("recorded"))?;
        "/host/recorded"
    } else {
        ""
    };
    let script = format!(
        "set -e\nmkdir -p /etc\nln -s /proc/mounts /etc/mtab\nmodprobe {0}\n{1} {2} /dev/vda\nmount -i -t {0} -o noatime,discard /dev/vda /mnt\n\
         guest-play '{3}' /mnt /host/{BEGIN} /host/{END} {file}\numount /mnt\n",
        peer.name, peer.mkfs, peer.options, workload.script
    );
    let listener = nbd::listen(&socket)?;
    let over = AtomicBool::new(false);
    let (report, marks) = thread::scope(|scope| {
        let served = scope.spawn(|| nbd::serve(&listener, &disk, &over));
        let marks = scope.spawn(|| [BEGIN, END].map(|mark| wait(&shared.join(mark), &disk, &over)));
        let report = guest.run(&script);
        over.store(true, Ordering::Relaxed);
        // Whatever came of it, the report says more.
        let _ = served.join();
        (report, marks.join())
    });
    report?.good()?;
    match marks {
        Ok([Some(begin), Some(end)]) => {
            let disk = disk.lock().map_err(|_| "whoever served the disk gave up")?;
            Ok(on_stack::figures(disk.chip(), end - begin))
        }
        _ => Err(format!("{} on {}: the guest never said that it was done", workload.x, peer.name).into()),
    }
}

/// Waits until the guest makes a file, and lets it go on; what the chip had done by then.
fn wait(mark: &Path, disk: &Mutex<Ftl<SimChip>>, over: &AtomicBool) -> Option<NandStats> {
    while !mark.exists() {
        if over.load(Ordering::Relaxed) {
            return None;
        }
        thread::sleep(PAUSE);
    }
    let stats = disk.lock().ok()?.chip().stats();
    fs::remove_file(mark).ok()?;
    Some(stats)
}
