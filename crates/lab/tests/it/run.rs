//! Runs: counters, traces played, many at a time.

use std::{fs, path::Path, sync::Mutex};

use pumice_lab::{
    LabError,
    run::{Access, Amount, Progress, Record, Room, Setup, TraceFile, plan, simulate, sweep},
    trace::Reading,
};
use pumice_media::ChipSpec;

fn setup(access: Access) -> Setup {
    let chip = ChipSpec::named("intel-s2plus-24m").unwrap();
    let [victim, placement, wear] = ["greedy", "m1", "none"];
    Setup::cat(access, victim.parse().unwrap(), placement.parse().unwrap(), wear.parse().unwrap(), chip)
}

fn pattern(name: &str) -> Setup {
    setup(Access::Pattern(name.parse().unwrap()))
}

fn trace(path: &Path, compact: bool) -> Setup {
    setup(Access::Trace(TraceFile { path: path.to_owned(), reading: Reading::Detect, compact }))
}

#[test]
fn the_papers_identity_holds() {
    for name in ["sequential", "random", "locality:90/10", "zipf:0.99+churn:5%"] {
        let record = simulate(&pattern(name), &()).unwrap();
        assert_eq!(
            (record.user_writes, record.parameters.segments, record.parameters.segment_blocks),
            (49152, 192, 31)
        );
        let rewritten = (49152 + record.blocks_copied).div_ceil(31);
        assert!((rewritten - 19).abs_diff(record.erasures) <= 1, "{name}: {record:?}");
        assert_eq!(record.victim_utilization.iter().sum::<u64>(), record.erasures, "{name}");
    }
}

#[test]
fn time_is_the_chips() {
    let record = simulate(&pattern("random"), &()).unwrap();
    assert_eq!(record.time.erase_ns, record.erasures * 700_000_000);
    assert_eq!(record.time.program_ns, (49152 + record.blocks_copied) * 31_200_000);
    assert_eq!(record.time.read_ns, record.blocks_copied * 832_000);
    // On 2 KiB pages and erase blocks of 128 KiB a block of 4 KiB is two, a segment of 256 KiB two.
    let chip = ChipSpec::named("slc-2k-2g").unwrap();
    let mut coarse = Setup { chip, ..pattern("random") };
    coarse.store.segment = 256 << 10;
    let record = simulate(&coarse, &()).unwrap();
    assert_eq!(record.time.erase_ns, record.erasures * 2 * 2_000_000);
    assert_eq!(record.time.read_ns, record.blocks_copied * 2 * 25_000);
}

#[test]
fn requests_that_come_seldom_take_as_long_as_their_work() {
    let seldom = Setup { rate: Some(1e-5), ..pattern("random") };
    let record = simulate(&seldom, &()).unwrap();
    let queue = record.queue.unwrap();
    let work = record.time.read_ns + record.time.program_ns + record.time.erase_ns;
    // A few of the 49152 still meet.
    assert!(queue.response_mean_ns.abs_diff(work / 49152) < 50_000, "{queue:?} {work}");
    let often = simulate(&Setup { rate: Some(100.0), ..seldom }, &()).unwrap().queue.unwrap();
    assert!(often.response_mean_ns > 100 * queue.response_mean_ns, "{often:?}");
}

#[test]
fn warming_up_is_not_counted() {
    let cold = Setup { write: Some(Amount::Turnovers(2.0)), ..pattern("random") };
    let warm = Setup { warm_up: Amount::Turnovers(2.0), ..cold.clone() };
    let both = Setup { write: Some(Amount::Turnovers(4.0)), ..cold.clone() };
    let [cold, warm, both] = [cold, warm, both].map(|setup| simulate(&setup, &()).unwrap());
    assert_eq!((warm.user_writes, warm.parameters.warm_up_writes), (10712, 10712));
    assert_eq!(cold.erasures + warm.erasures, both.erasures);
    assert!((both.wear_mean - warm.wear_mean).abs() < 1e-12);
}

#[test]
fn a_worn_out_store_ends_the_run() {
    let mut worn = Setup { endurance: Some(50), write: None, ..pattern("random") };
    worn.store.reserve = 1;
    let record = simulate(&worn, &()).unwrap();
    let life = record.lifetime.unwrap();
    let (first, last) = (life.first_death_bytes.unwrap(), life.exhausted_bytes.unwrap());
    assert_eq!(last, record.user_writes * 4096);
    assert!(first <= last && life.dead_segments > 0 && record.wear_max == 50, "{life:?}");
    let short = simulate(&Setup { write: Some(Amount::Bytes(1 << 20)), ..worn }, &()).unwrap();
    assert_eq!(short.lifetime.unwrap().exhausted_bytes, None);
    let none = Setup { endurance: Some(50), ..pattern("random") };
    refused(&none, &["at least one in reserve"]);
}

/// 64 KiB of two volumes: blocks 0, 1 and 2 of one, block 1 of the other; one is trimmed, three are read.
const TWO_VOLUMES: &str = "fio version 2 iolog\na write 0 8192\na write 8192 4096\nb write 4096 4096\n\
                           a read 0 12288\na trim 4096 4096\nb trim 0 4096\na write 0 1\n";

#[test]
fn traces_are_played_block_by_block() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    fs::write(&path, TWO_VOLUMES).unwrap();
    let once = Setup { write: None, ..trace(&path, true) };
    let record = simulate(&once, &()).unwrap();
    // Block 0 of b was never written, so its trim means nothing.
    assert_eq!((record.user_writes, record.user_reads, record.user_trims), (5, 3, 1));
    let again = Setup { write: Some(Amount::Bytes(10 * 4096)), ..once };
    let record = simulate(&again, &()).unwrap();
    assert_eq!((record.user_writes, record.user_reads, record.user_trims), (10, 6, 2));
}

#[test]
fn what_follows_the_last_write_of_a_trace_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    fs::write(&path, format!("{TWO_VOLUMES}a read 0 8192\na trim 8192 4096\n")).unwrap();
    let once = Setup { write: None, ..trace(&path, true) };
    let count = |setup: &Setup| {
        let record = simulate(setup, &()).unwrap();
        (record.user_writes, record.user_reads, record.user_trims)
    };
    assert_eq!(count(&once), (5, 5, 2));
    let twice = Setup { write: Some(Amount::Bytes(10 * 4096)), ..once.clone() };
    assert_eq!(count(&twice), (10, 10, 4));
    // Events before the next write belong to the one before it.
    let four = Setup { write: Some(Amount::Bytes(4 * 4096)), ..once };
    assert_eq!(count(&four), (4, 3, 1));
}

#[test]
fn a_store_that_is_too_full_is_told_what_fits() {
    let policies = [("greedy", "m1"), ("cat", "m6"), ("default", "default"), ("cost-benefit", "sepbit")];
    for (victim, placement) in policies {
        for reserve in [0, 1, 4] {
            let mut setup = Setup {
                victim: victim.parse().unwrap(),
                placement: placement.parse().unwrap(),
                write: Some(Amount::Bytes(16 << 20)),
                ..pattern("random")
            };
            setup.store.reserve = reserve;
            setup.store.room = Room::Fill(0.9999);
            let Err(error) = simulate(&setup, &()) else { continue };
            let error = error.to_string();
            let fits = error.split("--fill ").nth(1).and_then(|rest| rest.split('%').next()).unwrap();
            setup.store.room = Room::Fill(fits.parse::<f64>().unwrap() / 100.0);
            simulate(&setup, &()).unwrap_or_else(|again| panic!("{victim} {placement}: {error}: {again}"));
            setup.store.room = Room::Alpha(1.0001);
            let error = simulate(&setup, &()).unwrap_err().to_string();
            let fits = error.split("--alpha ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
            setup.store.room = Room::Alpha(fits.parse().unwrap());
            simulate(&setup, &()).unwrap_or_else(|again| panic!("{victim} {placement}: {error}: {again}"));
        }
    }
}

#[test]
fn a_trace_sizes_its_store() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    let lines: Vec<_> = (0..3000).map(|at| format!("{at} 0 {} 8 0", (at * 7 % 1000) * 80)).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    let mut setup = Setup { write: None, ..trace(&path, true) };
    setup.store.flash = None;
    setup.store.room = Room::Alpha(1.5);
    let record = simulate(&setup, &()).unwrap();
    assert_eq!(
        (record.parameters.logical_blocks, record.parameters.segments, record.user_writes),
        (1000, 49, 3000)
    );
    let sparse = Setup { access: trace(&path, false).access, ..setup };
    assert_eq!(simulate(&sparse, &()).unwrap().parameters.logical_blocks, 9991);
}

#[track_caller]
fn refused(setup: &Setup, words: &[&str]) {
    let error = simulate(setup, &()).unwrap_err().to_string();
    assert!(words.iter().all(|word| error.contains(word)) && error.lines().count() == 1, "{error}");
}

#[test]
fn what_cannot_be_played_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    let put = |text: &str| fs::write(&path, text).unwrap();
    put(TWO_VOLUMES);
    refused(&trace(&path, false), &["line 4", "several volumes (0 and 1)", "--compact"]);
    put("0,99999992,4096,w,0\n");
    refused(&trace(&path, false), &["writes to 12500000 blocks", "5356 are there", "--compact"]);
    put("0,99999999999999,4096,w,0\n");
    refused(&trace(&path, false), &["line 1", "2^32"]);
    put("0,1,4096,r,0\n");
    refused(&trace(&path, true), &["no block is written"]);
    put("0,8,4096,w,0\n0,8,4096,x,0\n");
    refused(&trace(&path, true), &["known: fio, "]);
    refused(&trace(&dir.path().join("missing"), true), &["missing", "No such file"]);
    let mut tight = pattern("random");
    tight.store.header = 32;
    refused(&tight, &["no room for data", "131072"]);
    tight.store = pumice_lab::run::Store { block: 0, header: 1, ..tight.store };
    refused(&tight, &["no room for data"]);
    tight.store = pumice_lab::run::Store { block: 4096, flash: None, ..tight.store };
    refused(&tight, &["flash size"]);
    tight.store.flash = Some(u64::MAX);
    refused(&tight, &["too large"]);
}

/// Writes asked for and made.
#[derive(Default)]
struct Count(Mutex<(u64, u64)>);

impl Progress for Count {
    fn expect(&self, writes: u64) {
        self.0.lock().unwrap().0 += writes;
    }

    fn done(&self, writes: u64) {
        self.0.lock().unwrap().1 += writes;
    }
}

#[test]
fn a_sweep_is_the_same_runs_in_order() {
    // The longest first, so that the others are done before it.
    let setups: Vec<_> = [24_u64, 4, 12, 1]
        .map(|mib| Setup { write: Some(Amount::Bytes(mib << 20)), ..pattern("random") })
        .to_vec();
    let (mut records, count) = (Vec::new(), Count::default());
    sweep(&plan(&setups).unwrap(), &count, |at, record| -> Result<(), LabError> {
        assert_eq!(at, records.len());
        records.push(record.clone());
        Ok(())
    })
    .unwrap();
    let single: Vec<Record> = setups.iter().map(|setup| simulate(setup, &()).unwrap()).collect();
    assert_eq!(records, single);
    let (expected, done) = *count.0.lock().unwrap();
    assert_eq!((expected, done), (4 * 5356 + 41 * 256, expected));
}

#[test]
fn the_first_failure_ends_a_sweep() {
    let setups = vec![pattern("random"); 3];
    let mut calls = 0;
    let result = sweep(&plan(&setups).unwrap(), &(), |_, _| {
        calls += 1;
        Err(LabError::Setup("enough".to_owned()))
    });
    assert_eq!((result.unwrap_err().to_string().as_str(), calls), ("enough", 1));
}
