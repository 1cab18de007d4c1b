//! Damages of single members and at random: whatever `fsck.f2fs` finds is found here, and nothing that the kernel refuses
//! or flags is called sound.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    process::Command,
    sync::Arc,
};

use pumice_f2fs::check::{Code, check};
use pumice_knobs::{BLESS, F2FS_INJECTED};
use xtask::{
    Machine,
    f2fs::{Verdict, judge},
};

use super::{
    patient::{Disk, Patient},
    subject::{Damaged, Subject},
};

/// Damages where nothing else is asked for: two rounds of all members.
const USUAL: u64 = 124;
/// The number of damages among them that the kernel judges, too: it must mount each that is called sound.
const USUAL_IN_KERNEL: u64 = 48;

/// The volumes that are damaged.
const SUBJECTS: [&str; 5] = ["basic", "features", "compress", "crash-fsync", "fragmented"];

/// The findings here, if any.
fn found_here(patient: &Patient) -> Vec<String> {
    match check(vec![Box::new(patient.disk.clone())], 2, &mut |_, _| ()) {
        Ok(report) => report
            .findings
            .iter()
            .map(|finding| format!("{}: {}: {}", finding.code.name(), finding.object, finding.detail))
            .collect(),
        Err(error) => vec![error.to_string()],
    }
}

/// A place in a file that has a volume in it.
struct Copy {
    file: File,
    start: u64,
}

impl Copy {
    fn fill(&self, subject: &Subject) {
        for (block, bytes) in subject.image.chunks(1 << 16).enumerate() {
            if bytes.iter().any(|byte| *byte != 0) {
                self.file.write_all_at(bytes, self.start + ((block as u64) << 16)).unwrap();
            }
        }
    }

    fn change(&self, damaged: &Damaged) {
        for (at, bytes) in damaged.patient.disk.changes() {
            self.file.write_all_at(bytes, self.start + *at as u64).unwrap();
        }
    }

    fn restore(&self, damaged: &Damaged, subject: &Subject) {
        for (at, bytes) in damaged.patient.disk.changes() {
            self.file.write_all_at(&subject.image[*at..at + bytes.len()], self.start + *at as u64).unwrap();
        }
    }
}

fn copy_of(path: &Path, subject: &Subject) -> Copy {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap();
    file.set_len(subject.image.len() as u64).unwrap();
    let copy = Copy { file, start: 0 };
    copy.fill(subject);
    copy
}

/// The findings of `fsck.f2fs`: its lines about them, and its exit status if it is not 0.
fn found_by_peer(image: &Path) -> Vec<String> {
    let output = Command::new("fsck.f2fs").arg("--dry-run").arg(image).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let tells = |line: &&str| ["Fail", "ASSERT", "FIX"].iter().any(|word| line.contains(word));
    let mut lines: Vec<String> = text.lines().filter(tells).map(str::to_owned).collect();
    if !output.status.success() {
        lines.push(output.status.to_string());
    }
    lines
}

/// The kernel mounts volumes that are called sound, and finds nothing to flag in them. Some damages that it must refuse
/// are among them, so that it is known to look.
#[test]
fn the_kernel_takes_what_is_called_sound() {
    let Some(machine) = Machine::for_test() else { return };
    let subjects = SUBJECTS.map(Subject::new);
    let bytes = subjects[0].image.len();
    assert!(subjects.iter().all(|subject| subject.image.len() == bytes));
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let seeds = F2FS_INJECTED.seeds(0..USUAL_IN_KERNEL);
    for batch in seeds.clone().collect::<Vec<_>>().chunks(200) {
        let damaged = batch.iter().map(|seed| (seed, subjects[which(*seed)].damage(*seed)));
        let all = damaged.map(|(seed, damaged)| (seed, found_here(&damaged.patient), damaged));
        let (sound, found): (Vec<_>, Vec<_>) = all.partition(|(_, found, _)| found.is_empty());
        let tried: Vec<_> = sound.into_iter().chain(found.into_iter().step_by(4)).collect();
        let disk = place.path().join("volumes");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&disk).unwrap();
        file.set_len((bytes * tried.len()) as u64).unwrap();
        for (index, (seed, _, damaged)) in tried.iter().enumerate() {
            let start = (index * bytes) as u64;
            let copy = Copy { file: file.try_clone().unwrap(), start };
            copy.fill(&subjects[which(**seed)]);
            copy.change(damaged);
        }
        let verdicts = judge(&machine, &disk, bytes as u64, tried.len() as u64).unwrap();
        let (mut wrong, mut told) = (Vec::new(), 0);
        for (index, ((seed, found, damaged), verdict)) in tried.iter().zip(&verdicts).enumerate() {
            let mut after = vec![0; bytes];
            file.read_exact_at(&mut after, (index * bytes) as u64).unwrap();
            let flags = flags(after);
            if *verdict == Verdict::Mounted && flags.is_empty() {
                continue;
            }
            told += 1;
            if found.is_empty() {
                let (name, what) = (subjects[which(**seed)].name, &damaged.what);
                wrong.push(format!(
                    "PUMICE_SEED={seed}: {name}: {}: {what}: {verdict:?}, {flags:?}",
                    damaged.member
                ));
            }
        }
        assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), tried.len());
        assert!(batch.len() < 48 || told > 0, "the kernel finds nothing at all");
    }
    F2FS_INJECTED.ran(seeds.clone(), seeds.end - seeds.start);
}

/// The kernel's marks in a volume.
pub(crate) fn flags(volume: Vec<u8>) -> Vec<String> {
    let Ok(report) = check(vec![Box::new(Disk::new(&Arc::new(volume)))], 2, &mut |_, _| ()) else {
        return vec!["it cannot be opened".into()];
    };
    let noted = [Code::CheckpointFlag, Code::SuperBlockErrors];
    let found = report.findings.into_iter().filter(|finding| noted.contains(&finding.code));
    found.map(|finding| finding.detail).collect()
}

fn which(seed: u64) -> usize {
    usize::try_from(seed).unwrap() % SUBJECTS.len()
}

/// The number of damages of a member, and the number found by each.
#[derive(Default)]
struct Row {
    damages: u32,
    found: u32,
    found_by_peer: u32,
}

/// The members, with how often a damage of each was made, found here, and found by `fsck.f2fs`.
#[derive(Default)]
struct Table(BTreeMap<&'static str, Row>);

impl Table {
    fn add(&mut self, member: &'static str, found: bool, found_by_peer: bool) {
        let row = self.0.entry(member).or_default();
        row.damages += 1;
        row.found += u32::from(found);
        row.found_by_peer += u32::from(found_by_peer);
    }

    /// The part of the table that is the same for every `fsck.f2fs`.
    fn record(&self) -> String {
        let line = |(member, row): (&&str, &Row)| format!("{member:26}{:8}{:8}\n", row.damages, row.found);
        "member                     damages   found\n".to_owned()
            + &self.0.iter().map(line).collect::<String>()
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "member                     damages   found  by fsck.f2fs")?;
        for (member, Row { damages, found, found_by_peer }) in &self.0 {
            writeln!(f, "{member:26}{damages:8}{found:8}{found_by_peer:14}")?;
        }
        Ok(())
    }
}

/// The findings stand on record in `inject.txt`; `PUMICE_BLESS=1` writes it anew.
#[test]
fn what_fsck_f2fs_finds_is_found() {
    let has_peer = Command::new("fsck.f2fs").arg("-V").output().is_ok();
    if !has_peer {
        eprintln!("SKIPPED: f2fs-tools are not installed; nothing was compared");
    }
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let subjects = SUBJECTS.map(Subject::new);
    let copies = subjects.each_ref().map(|subject| copy_of(&place.path().join(subject.name), subject));
    let mut table = Table::default();
    let mut missed = Vec::new();
    let seeds = F2FS_INJECTED.seeds(0..USUAL);
    for seed in seeds.clone() {
        let (subject, copy) = (&subjects[which(seed)], &copies[which(seed)]);
        let damaged = subject.damage(seed);
        let here = found_here(&damaged.patient);
        copy.change(&damaged);
        let peer = if has_peer { found_by_peer(&place.path().join(subject.name)) } else { Vec::new() };
        copy.restore(&damaged, subject);
        table.add(damaged.member, !here.is_empty(), !peer.is_empty());
        if here.is_empty() && !peer.is_empty() {
            let Damaged { member, what, .. } = &damaged;
            missed.push(format!("PUMICE_SEED={seed}: {}: {member}: {what}: {}", subject.name, peer[0]));
        }
    }
    assert!(missed.is_empty(), "{table}{} found by fsck.f2fs alone: {missed:#?}", missed.len());
    F2FS_INJECTED.ran(seeds.clone(), seeds.end - seeds.start);
    if seeds != (0..USUAL) {
        eprintln!("{table}");
        return;
    }
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/check/inject.txt");
    if BLESS.is_set() {
        fs::write(&record, table.record()).unwrap();
    }
    assert_eq!(fs::read_to_string(record).unwrap(), table.record());
}
