//! F2FS on the disk of a flash memory server on a simulated chip: device time and programs of the whole stack (F2FS
//! paper, figures 3 to 5).
//! `xtask/peers` measures Linux's file systems on such a disk; its figures stand beside these.

use std::path::PathBuf;

use pumice_ftl::{Counters, CreateOptions, Ftl, OpenOptions, create};
use pumice_media::{BlockDevice, Nand, NandStats, SimChip};

use crate::{
    LabError, Medium, Sources,
    disk::BLOCK,
    files::{POSTMARKS, Script, float},
    measured::{Figure, Found, Job, RequestMap, request_figures},
    on_disk::{Mount, Mounted},
    requests::TracedDisk,
    trace::sha256,
};

/// The chip of the F2FS paper's workloads, and its bytes.
const CHIP: &str = "slc-4k-8g";
const FLASH: u64 = 768 << 20;
/// The chip of the CFFS paper's.
const POSTMARK_CHIP: &str = "k9s1208";

/// A run, before it is made.
#[derive(Clone, Debug)]
pub struct Task {
    /// The options of the mount.
    pub mount: Mount,
    /// The workload.
    pub script: Script,
    /// The recorded calls, for the script that makes them.
    pub recorded: Option<Recorded>,
    /// Requests to the disk are measured, in place of their cost.
    pub traced: bool,
    /// The chip, if another was asked for.
    pub medium: Medium,
}

/// A file of recorded calls.
#[derive(Clone, Debug)]
pub struct Recorded {
    path: PathBuf,
    sha256: String,
}

impl Recorded {
    /// The file at this path, as it is now.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn new(path: PathBuf) -> Result<Recorded, LabError> {
        match sha256(&path) {
            Ok(sha256) => Ok(Recorded { path, sha256 }),
            Err(error) => Err(LabError::File { path, error }),
        }
    }
}

/// The chip of a workload, and its bytes.
fn chip(script: Script) -> (&'static str, u64) {
    match script {
        Script::PostMark { mib, .. } => (POSTMARK_CHIP, u64::from(mib) << 20),
        _ => (CHIP, FLASH),
    }
}

/// The disk that all file systems are measured on: blocks of 4 KiB, the server's own policies.
///
/// # Errors
/// If there is no such chip.
pub fn disk(script: Script, medium: &Medium) -> Result<TracedDisk, LabError> {
    let setup = |error: &dyn core::fmt::Display| LabError::Setup(error.to_string());
    let (own, bytes) = chip(script);
    let mut chip = SimChip::new(&medium.spec(own, Some(bytes))?);
    let options = CreateOptions { block_bytes: BLOCK, erased: true, ..CreateOptions::default() };
    create(&mut chip, &options, &mut |_, _| {}).map_err(|error| setup(&error))?;
    Ftl::open(chip, OpenOptions::default()).map(TracedDisk::new).map_err(|error| setup(&error))
}

/// Counters of chip and server at one moment, and the number of requests so far.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    chip: NandStats,
    server: Counters,
    requests: usize,
}

impl Moment {
    /// Now.
    pub fn of(traced: &TracedDisk) -> Moment {
        let disk = traced.disk();
        let requests = traced.requests().len();
        Moment { chip: disk.chip().stats(), server: disk.info().counters, requests }
    }

    /// Requests by then.
    pub fn requests(&self) -> usize {
        self.requests
    }
}

/// The requests to a disk between two moments: their sizes, times and places.
pub fn requests(disk: &TracedDisk, begin: &Moment, end: &Moment) -> Found {
    let asked = disk.requests().get(begin.requests..end.requests);
    debug_assert!(asked.is_some(), "moments of another disk");
    let (asked, blocks) = (asked.unwrap_or_default(), disk.blocks());
    let times = [begin, end].map(|moment| moment.chip.device_ns);
    let map = RequestMap::new(asked, blocks, times);
    Found { figures: request_figures(asked), map: Some(map) }
}

/// The cost of a workload between two moments.
pub fn figures(traced: &TracedDisk, script: Script, begin: &Moment, end: &Moment) -> Vec<(Figure, f64)> {
    let disk = traced.disk();
    let did = end.chip - begin.chip;
    let seconds = float(did.device_ns) / 1e9;
    if let Script::PostMark { .. } = script {
        let mut figures = vec![
            (Figure::Programs, float(did.programs)),
            (Figure::TransactionRate, f64::from(POSTMARKS) / seconds),
        ];
        let cleaned = end.server.cleaned - begin.server.cleaned;
        if cleaned > 0 {
            let pages = u64::from(disk.info().gang_pages) * (end.server.copied - begin.server.copied);
            figures.push((Figure::ExtraWrites, float(pages) / float(cleaned)));
        }
        return figures;
    }
    vec![
        (Figure::Time, seconds),
        (Figure::Space, float(did.programs * u64::from(disk.chip().geometry().page_bytes)) / 1e6),
        (Figure::Erases, float(did.erases)),
    ]
}

impl Job for Task {
    fn names(&self) -> [String; 3] {
        let calls = self.recorded.as_ref().map(|recorded| format!(" of {}", recorded.sha256));
        let traced = if self.traced { ", its requests" } else { "" };
        let (own, bytes) = chip(self.script);
        [
            format!("F2FS, {:?}", self.mount),
            format!("{}, ftl", self.medium.name(own, Some(bytes))),
            format!("{}{}{traced}", self.script, calls.unwrap_or_default()),
        ]
    }

    fn sources(&self) -> Sources {
        Sources::Stack
    }

    fn measure(&self, seed: u64) -> Result<Found, LabError> {
        let mounted = Mounted::new(disk(self.script, &self.medium)?, self.mount)?;
        let now = || mounted.disk().with(Moment::of);
        let recorded = self.recorded.as_ref().map(|recorded| recorded.path.as_path());
        let work = self.script.prepare(mounted.fs(), recorded, seed)?;
        mounted.fs().sync()?;
        let begin = now();
        work()?;
        mounted.fs().sync()?;
        let end = now();
        Ok(mounted.disk().with(|disk| match self.traced {
            true => requests(disk, &begin, &end),
            false => figures(disk, self.script, &begin, &end).into(),
        }))
    }
}
