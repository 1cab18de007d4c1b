//! JFFS2 of Linux on its simulated chip, in the ScaleFFS paper's figures 5 to 9: the driver's calls are counted, and take the
//! times of the paper's table IV.

use std::{fs, ops::Sub, path::Path};

use pumice_lab::measured::Figure;
use xtask::{Failure, Guest, Machine};

use crate::measure::Line;

/// The series of its figures, without the kernel's version.
pub(crate) const NAME: &str = "JFFS2";

/// The driver's calls, each with its microseconds by table IV: pages and spare areas read and written, blocks erased.
const CALLS: [(&str, f64); 5] = [
    ("nand_read_page_raw", 55.7),
    ("nand_read_oob_std", 27.0),
    ("nand_write_page_raw", 237.7),
    ("nand_write_oob_std", 237.7),
    ("nand_erase_op", 2005.0),
];
/// The microseconds of a page.
const READ_US: f64 = CALLS[0].1;
const WRITE_US: f64 = CALLS[2].1;
const PAGE: f64 = 512.0;

/// Chips of pages of 512 bytes by their MiB: the byte by which they name themselves.
const CHIPS: [(u32, &str); 3] = [(64, "0x76"), (128, "0x79"), (256, "0x71")];
/// The paper's, of 256 MiB.
const CHIP: &str = CHIPS[2].1;

const SONGS: u32 = 31;
const SONG_MIB: u32 = 5;
const FILM_MIB: u32 = 100;
/// Reads of 4 KiB at random places.
const SEEKS: u32 = 1000;

/// A run, and where its figures belong.
pub(crate) struct Case {
    pub(crate) experiment: &'static str,
    pub(crate) x: String,
    chip: &'static str,
    work: Work,
}

enum Work {
    /// A mount with so many files of so many MiB.
    Mount { files: u32, mib: u32 },
    /// Songs are written and read.
    Transfer,
    /// A film is opened, and read at random places.
    Seek,
}

/// All runs.
pub(crate) fn cases() -> Vec<Case> {
    let mount = |files, mib| Work::Mount { files, mib };
    let case = |experiment, x: u32, chip, work| Case { experiment, x: x.to_string(), chip, work };
    let mut cases = Vec::new();
    cases.extend(CHIPS.map(|(mib, chip)| case("scaleffs-fig5", mib, chip, mount(0, 0))));
    let stored = [0, 50, 100, 150].map(|mb| case("scaleffs-fig6", mb, CHIP, mount(mb / SONG_MIB, SONG_MIB)));
    cases.extend(stored);
    cases.extend([0, 1000, 10_000].map(|files| case("scaleffs-fig7", files, CHIP, mount(files, 0))));
    for (experiment, x, work) in
        [("scaleffs-fig8", "songs", Work::Transfer), ("scaleffs-fig9", "film", Work::Seek)]
    {
        cases.push(Case { experiment, x: x.into(), chip: CHIP, work });
    }
    cases
}

/// Runs it.
pub(crate) fn measure(machine: &Machine, case: &Case) -> Result<Vec<Line>, Failure> {
    let mut guest = Guest::new(machine)?;
    guest.count_instructions();
    let calls = CALLS.map(|(call, _)| call).join(" ");
    let (chip, steps) = (case.chip, case.work.steps());
    let commands = format!(
        "set -e
trace=/sys/kernel/tracing
count() {{ cat $trace/kprobe_profile >/host/$1; }}
put() {{ dd if=/dev/zero of=/mnt/$1 bs=1M count=$2 2>/dev/null; }}
again() {{ umount /mnt; echo 3 >/proc/sys/vm/drop_caches; $1; mount -t jffs2 -o ro mtd0 /mnt; }}
mount -t tracefs none $trace
modprobe nandsim first_id_byte=0x98 second_id_byte={chip}
modprobe jffs2
for call in {calls}; do
    echo \"p:$call $call\" >>$trace/kprobe_events
    echo 1 >$trace/events/kprobes/$call/enable
done
mount -t jffs2 -o compr=none mtd0 /mnt
# It erases a new chip by and by.
sleep 600
{steps}
umount /mnt
"
    );
    guest.run(&commands)?.good()?;
    let counts = |name: &str| Counts::read(&guest.shared().join(name));
    let did = |from: &str, to: &str| -> Result<Counts, Failure> { Ok(counts(to)? - counts(from)?) };
    let line = |(figure, value)| Line { experiment: case.experiment, on: String::new(), figure, value };
    let bytes = f64::from(SONGS * SONG_MIB) * f64::from(1 << 20);
    let figures = match case.work {
        Work::Mount { .. } => vec![(Figure::Mount, did("a", "b")?.us() / 1e3)],
        Work::Transfer => {
            let (written, read) = (did("a", "b")?, did("c", "d")?);
            let (write_s, read_s) = (written.us() / 1e6, read.us() / 1e6);
            let share = |us: f64, seconds: f64| bytes / PAGE * us / 1e6 / seconds * 100.0;
            vec![
                (Figure::WriteRate, bytes / 1024.0 / write_s),
                (Figure::ReadRate, bytes / 1024.0 / read_s),
                (Figure::WriteShare, share(WRITE_US, write_s)),
                (Figure::ReadShare, share(READ_US, read_s)),
                (Figure::Written, written.0[2] / (bytes / PAGE)),
            ]
        }
        Work::Seek => vec![
            (Figure::Latency, did("b", "c")?.us() / 1e3 / f64::from(SEEKS)),
            (Figure::ReadTime, did("a", "b")?.us() / 1e6),
        ],
    };
    Ok(figures.into_iter().map(line).collect())
}

impl Work {
    /// Its steps on the mounted file system, as lines of a shell.
    fn steps(&self) -> String {
        match self {
            Work::Mount { files, mib: 0 } => format!(
                "at=0
while [ $at -lt {files} ]; do
    dir=/mnt/$((at / 1000))
    [ -d $dir ] || mkdir $dir
    : >$dir/$at
    at=$((at + 1))
done
again 'count a'
count b"
            ),
            Work::Mount { files, mib } => format!(
                "for at in $(seq {files}); do put $at {mib}; done
again 'count a'
count b"
            ),
            Work::Transfer => format!(
                "count a
for at in $(seq {SONGS}); do put $at {SONG_MIB}; done
sync
count b
again :
count c
cat /mnt/* >/dev/null
count d"
            ),
            Work::Seek => format!(
                "put film {FILM_MIB}
again :
count a
head -c 1 /mnt/film >/dev/null
count b
for at in $(seq 0 {} | shuf | head -n {SEEKS}); do dd if=/mnt/film of=/dev/null bs=4k count=1 skip=$at 2>/dev/null; done
count c",
                FILM_MIB * 256 - 1
            ),
        }
    }
}

/// How often each of [`CALLS`] was made.
struct Counts([f64; 5]);

impl Counts {
    /// From a table of the kernel: a line for each call, with its name and its count.
    fn read(path: &Path) -> Result<Counts, Failure> {
        let text = fs::read_to_string(path)?;
        let count = |wanted: &str| -> Result<f64, Failure> {
            let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            let count =
                rows.filter(|row| row.first() == Some(&wanted)).find_map(|row| row.get(1)?.parse().ok());
            count.ok_or_else(|| format!("{wanted} was not counted").into())
        };
        let mut counts = [0.0; 5];
        for (sum, (call, _)) in counts.iter_mut().zip(CALLS) {
            *sum = count(call)?;
        }
        Ok(Counts(counts))
    }

    /// Microseconds of the chip.
    fn us(&self) -> f64 {
        self.0.iter().zip(CALLS).map(|(count, (_, us))| count * us).sum()
    }
}

impl Sub for Counts {
    type Output = Counts;

    fn sub(self, before: Counts) -> Counts {
        let mut counts = self.0;
        for (count, before) in counts.iter_mut().zip(before.0) {
            *count -= before;
        }
        Counts(counts)
    }
}
