//! Power cuts near a checkpoint that has much room: calls write some of it ahead, which nobody may see before it is made.

use std::collections::HashSet;

use pumice_f2fs::read_super_block;
use pumice_knobs::F2FS_FULL_STATES;
use pumice_vfs::{FileKind, FileSystem, Ino, SetAttr};

use super::super::{
    over::Touches,
    power::{Event, Live, Part, Replay, part},
    subject::{filled, node},
    tree::{record, tree},
};
use super::{Promise, Recorded, Run, mount, states};

/// Files that are there, so many that the NAT has several blocks of them.
const FILES: u32 = 3000;
/// One of so many changes, so that each of these blocks does.
const APART: usize = 50;
/// Bytes that are written over at a time until a checkpoint comes near.
const PIECE: usize = 64 * 4096;
/// Calls, at most, until it is made.
const CALLS: usize = 500;
/// Calls behind it.
const BEHIND: usize = 8;
/// States of one workload.
const STATES: usize = 24;

fn path(file: u32) -> String {
    format!("./{file}")
}

impl Run<'_> {
    /// A call that changes little, of one of many files.
    fn change_little(&mut self) {
        let (fs, file) = (self.fs, self.random.u32(0..FILES).to_string());
        let Ok(attr) = fs.lookup(Ino::ROOT, file.as_bytes()) else { return };
        match self.random.u8(0..10) {
            0 => fs.unlink(Ino::ROOT, file.as_bytes()).unwrap(),
            1 => drop(fs.create(Ino::ROOT, format!("{file} again").as_bytes(), &node(FileKind::File))),
            2..=4 => {
                let perm = Some(self.random.u32(0..0o1000));
                fs.set_attr(attr.ino, &SetAttr { perm, ..SetAttr::default() }).unwrap();
            }
            _ => {
                let bytes = vec![self.random.u8(1..); self.random.usize(1..5000)];
                fs.write(attr.ino, self.random.u64(0..2000), &bytes).unwrap();
            }
        }
    }

    fn keep_one_of_many(&mut self) {
        let file = self.random.u32(0..FILES);
        if let Ok(attr) = self.fs.lookup(Ino::ROOT, file.to_string().as_bytes()) {
            self.keep_file(path(file), attr.ino);
        }
    }

    fn made_table(&self, begin: usize) -> bool {
        self.live.log().events[begin..].iter().any(|event| match event {
            Event::Write { first, pages, .. } => part(self.sb, *first, &pages[0]) == Part::Nat,
            Event::Flush | Event::Discard { .. } => false,
        })
    }
}

/// Records the events from the approach of a checkpoint until it is made, and a little more.
fn near(seed: u64) -> Recorded {
    let live = Live::new(filled(144 << 20, FILES, 100));
    let sb = read_super_block(&live).unwrap();
    let fs = mount(&live, false).unwrap();
    let mut random = fastrand::Rng::with_seed(seed);
    let ballast = fs.create(Ino::ROOT, b"ballast", &node(FileKind::File)).unwrap().ino;
    fs.write(ballast, 0, &vec![1; PIECE]).unwrap();
    fs.sync().unwrap();
    let mut promised = tree(&fs);
    for file in (0..FILES).step_by(APART) {
        let ino = fs.lookup(Ino::ROOT, file.to_string().as_bytes()).unwrap().ino;
        fs.set_attr(ino, &SetAttr { perm: Some(0o600), ..SetAttr::default() }).unwrap();
    }
    let mut run = Run {
        fs: &fs,
        live: &live,
        sb: &sb,
        random: random.fork(),
        dirs: Vec::new(),
        far: 0,
        promises: Vec::new(),
        chained: 0,
        before: None,
        cleaned: Vec::new(),
        idle: 0,
        touches: Touches::default(),
    };
    while !run.made_table(0) {
        live.log().events.clear();
        fs.write(ballast, 0, &vec![random.u8(1..); PIECE]).unwrap();
        assert!(!run.made_checkpoint(0), "nothing was written ahead");
        fs.fsync(ballast, true).unwrap();
    }
    promised.insert("./ballast".into(), record(&fs, ballast));
    let base = live.image();
    live.log().events.clear();
    run.promises.push(Promise { begin: 0, end: 0, tree: promised, of: None });
    run.before = Some((0, tree(&fs)));
    let (mut calls, mut left) = (0, BEHIND);
    while left > 0 {
        run.change_little();
        run.note_return();
        if run.random.u8(0..4) == 0 {
            run.keep_one_of_many();
        }
        calls += 1;
        assert!(calls < CALLS, "no checkpoint was made");
        left -= usize::from(run.made_checkpoint(0));
    }
    let Run { promises, chained, cleaned, idle, .. } = run;
    drop(fs);
    let events = std::mem::take(&mut live.log().events);
    Recorded { sb, base, events, promises, chained, cleaned, idle, touches: None }
}

impl Recorded {
    /// Looks at `most` states, half of them behind events of calls that made a checkpoint.
    fn judge_some(&self, most: usize, random: &mut fastrand::Rng, seen: &mut HashSet<u64>) {
        let mut picks = vec![0; self.events.len()];
        for at in 0..most {
            let call = self.cleaned.first().filter(|_| at % 2 == 0).cloned();
            picks[random.usize(call.unwrap_or(0..self.events.len()))] += 1;
        }
        let mut replay = Replay::new(&self.sb, self.base.clone());
        for (number, event) in self.events.iter().enumerate() {
            replay.step(event);
            for _ in 0..picks[number] {
                let (name, image) = replay.one_of_family(random);
                if seen.insert(image.hash()) {
                    self.judge(name, number + 1, image);
                }
            }
        }
    }
}

/// A power cut while a checkpoint is written ahead, call by call.
#[test]
fn a_power_cut_near_a_checkpoint_leaves_what_was_promised() {
    let (most, first) = (states(&F2FS_FULL_STATES, STATES), F2FS_FULL_STATES.first_seed(1));
    let seeds = first..first + most.div_ceil(STATES) as u64;
    let (mut seen, mut made) = (HashSet::new(), 0);
    for seed in seeds.clone() {
        F2FS_FULL_STATES.begin(seed);
        let recorded = near(seed);
        made += recorded.cleaned.len();
        let mut random = fastrand::Rng::with_seed(seed);
        recorded.judge_some(STATES.min(most), &mut random, &mut seen);
    }
    eprintln!("{} states of workloads with {made} checkpoints that were written ahead", seen.len());
    F2FS_FULL_STATES.ran(seeds, seen.len() as u64);
    assert!(made > 0, "no call made a checkpoint");
}
