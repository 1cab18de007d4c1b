//! A container outlives its process.

use std::io::Write;
use std::process::Command;

use pumice_media::{BlockId, ChipFile, ChipSpec, Nand, PageId, PageState};

/// Contents that tell the page they belong to.
fn contents(at: u32) -> (Vec<u8>, Vec<u8>) {
    let bytes = |n: u32| (0..n).map(|i| (i.wrapping_mul(31) ^ at).to_le_bytes()[0]).collect();
    (bytes(2048), bytes(38))
}

fn program(chip: &mut ChipFile, at: u32) {
    let (data, spare) = contents(at);
    chip.program(PageId(at), &data, &spare).unwrap();
}

fn holds(chip: &mut ChipFile, at: u32) -> bool {
    let (mut data, mut spare) = (vec![0; 2048], vec![0; 38]);
    chip.read(PageId(at), &mut data, &mut spare).unwrap();
    (data, spare) == contents(at)
}

/// Pages of the chip.
const PAGES: u32 = 64 * 1024;
/// The process flushes and tells each of so many pages.
const FLUSHED: u32 = 7;
const VICTIM: &str = "MEDIA_TEST_VICTIM";

/// Not a test by itself: the process that the next test kills while it programs.
#[test]
fn victim() {
    let Some(path) = std::env::var_os(VICTIM) else { return };
    let mut chip = ChipFile::open(path, false).unwrap();
    let mut out = std::io::stdout();
    for at in (0..).map(|n| n % PAGES) {
        if at % 64 == 0 {
            chip.erase(BlockId(at / 64)).unwrap();
        }
        program(&mut chip, at);
        if at % FLUSHED == 0 {
            chip.flush().unwrap();
            writeln!(out, "page {at}").unwrap();
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_that_was_flushed() {
    use std::io::BufRead;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("chip");
    drop(ChipFile::create(&path, &ChipSpec::named("rcffs-128m").unwrap(), false).unwrap());
    for round in 0..3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["killed::victim", "--exact", "--nocapture"])
            .env(VICTIM, &path)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let pages = lines.map_while(Result::ok).filter_map(|l| l.strip_prefix("page ")?.parse::<u32>().ok());
        let mut last = 0;
        for at in pages {
            last = at;
            if at >= 1000 + round * 777 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        let mut chip = ChipFile::open(&path, false).unwrap();
        assert!((0..=last).all(|at| holds(&mut chip, at)), "after round {round}");
        // Of the others it loses the last, and each whole.
        let next = (last + 1..PAGES).find(|at| !holds(&mut chip, *at)).unwrap();
        assert_eq!(chip.page_state(PageId(next)).unwrap(), PageState::Erased, "page {next}, round {round}");
    }
}
