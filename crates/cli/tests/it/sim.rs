//! The simulator and the laboratory from the command line.

use std::fs;

use crate::common::{World, document};

#[test]
fn one_run_is_one_document() {
    let world = World::new();
    let text = world.say("sim --access sequential").good();
    assert!(text.lines().any(|line| line == "erasures:   1568"), "{text}");
    let record = document(&world.say("sim --access sequential --json").good(), "sim");
    assert_eq!((&record["erasures"], &record["blocks_copied"]), (&1568.into(), &0.into()));
    assert_eq!(record["victim_utilization"].as_array().unwrap().len(), 20);
    for key in [
        "user_writes",
        "waf",
        "alpha",
        "wear_mean",
        "wear_stddev",
        "wear_max",
        "read_ns",
        "program_ns",
        "erase_ns",
    ] {
        assert!(record[key].is_number(), "{key}");
    }
}

#[test]
fn lists_are_combined_and_each_run_is_a_line() {
    let world = World::new();
    let sweep = "sim --write 4M --fill 80%,90% --victim greedy,cost-benefit --seed 1..3";
    let text = world.say(sweep).good();
    let lines: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(lines[0][..4], ["alpha", "victim", "seed", "erasures"]);
    assert_eq!(lines.len(), 13);
    assert_eq!(lines[2][..3], ["1.2502", "greedy", "2"]);
    assert_eq!(lines[12][..3], ["1.1113", "cost-benefit", "3"]);
    let json = world.say(&format!("{sweep} --json")).good();
    assert_eq!(json.lines().count(), 12);
    let last = document(json.lines().last().unwrap(), "sim");
    assert_eq!((&last["victim"], &last["seed"]), (&"cost-benefit".into(), &3.into()));
    let csv = world.say(&format!("{sweep} --csv")).good();
    let columns: Vec<_> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(columns.len() == 13 && columns.iter().all(|count| *count == columns[0]), "{csv}");
}

#[test]
fn read_only_data_is_named_by_the_workload_and_kept_apart() {
    let world = World::new();
    let run = |placement: &str| {
        format!("sim --access locality:90/10+read-only:30% --victim cat --wear none --placement {placement}")
    };
    let apart = world.say(&run("read-only:m6")).good();
    assert!(
        apart.contains("placement read-only:m6") && apart.contains("read-only:  1607 blocks, copied 0 times"),
        "{apart}"
    );
    let figures = |placement: &str| {
        let record = document(&world.say(&format!("{} --json", run(placement))).good(), "sim");
        ["read_only_blocks", "read_only_copied", "blocks_copied"].map(|key| record[key].as_u64().unwrap())
    };
    let [[_, _, apart], [blocks, copied, together]] = ["read-only:m6", "m6"].map(figures);
    assert!(copied > 2 * blocks && apart < together, "{blocks} {copied} {apart} {together}");
    assert!(!world.say("sim --access random --write 1M").good().contains("read-only:"));
}

#[test]
fn a_wear_rule_changes_nothing_else() {
    let world = World::new();
    let fields = |wear: &str| {
        let record = document(&world.say(&format!("sim --write 8M --json --wear {wear}")).good(), "sim");
        (record["reserve"].clone(), record["wear"].clone())
    };
    assert_eq!(fields("none"), (1.into(), "none".into()));
    assert_eq!(fields("default"), (1.into(), "even".into()));
}

#[test]
fn a_policy_has_one_name_everywhere() {
    let world = World::new();
    let sim = document(&world.say("sim --write 4M --json --placement chain --victim default").good(), "sim");
    world.say("ftl create --geometry 2048+64:16:64 --placement chain --victim default chip").good();
    let disk = document(&world.say("ftl info --json chip").good(), "ftl-info");
    for (axis, name) in [("placement", "chain:4"), ("victim", "declining-cost")] {
        assert_eq!((&sim[axis], &disk[axis]), (&name.into(), &name.into()));
    }
}

#[test]
fn a_seed_is_the_same_run_again() {
    let world = World::new();
    let run = |seed: u32| {
        world.say(&format!("sim --access zipf:0.99+churn:5% --write 8M --json --seed {seed}")).good()
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

/// SepBIT as its authors have it: a log of any size that is collected at a share of garbage.
#[test]
fn garbage_takes_its_share() {
    let world = World::new();
    let sepbit = "sim --victim garbage-age --placement sepbit-published --access zipf:0.99 --json --fill 50% --garbage";
    let of = |garbage: &str| document(&world.say(&format!("{sepbit} {garbage}")).good(), "sim");
    let waf = |record: &serde_json::Value| record["waf"].as_f64().unwrap();
    let (tight, loose) = (of("10%"), of("25%"));
    assert!(waf(&tight) > 1.3 * waf(&loose), "{} {}", tight["waf"], loose["waf"]);
    assert_eq!((&tight["garbage_percent"], &tight["victim"]), (&10.into(), &"garbage-age:15".into()));
}

#[test]
fn the_life_of_a_store_is_drawn() {
    let world = World::new();
    let run = "sim --access zipf:0.99 --write 16M";
    let said = world.say(&format!("{run} --strip life.svg")).good();
    assert_eq!(said, world.say(run).good());
    let svg = fs::read_to_string(world.path("life.svg")).unwrap();
    for words in
        ["192 segments: zipf:0.99, declining-cost, adaptive", "cleaned next", "user writes", "head 1"]
    {
        assert!(svg.contains(words), "{words}");
    }
    // A column for each of its moments, of several stretches.
    assert!(svg.matches("<rect").count() > 3 * 120);
    world.say(&format!("{run} --seed 1..2 --strip life.svg")).bad(2, &["--strip draws one run"]);
    world.say(&format!("{run} --endurance 50 --strip nowhere/life.svg")).bad(1, &["nowhere"]);
    world.say("sim --endurance 50 --strip life.svg").bad(1, &["has to end"]);
}

#[test]
fn traces_are_played() {
    let world = World::new();
    let lines: Vec<_> = (0..2000_u32).map(|at| format!("{at} 0 {} 8 0", at * 7919 % 1000 * 80)).collect();
    fs::write(world.path("trace"), lines.join("\n")).unwrap();
    let record = document(&world.say("sim --access trace:trace --compact --alpha 1.25 --json").good(), "sim");
    assert_eq!((&record["user_writes"], &record["logical_blocks"]), (&2000.into(), &1000.into()));
    let by_hand = r"sim --access trace:trace --compact --alpha 1.25 --json --pattern (?<time>\d+).0.(?<sector>\d+).(?<sectors>\d+).(?<op>0)";
    world.say(by_hand).bad(1, &["line 1", "op is `0`"]);
    world.say("sim --access trace:trace --format msr").bad(1, &["trace", "line 1", "msr", "time"]);
    world.say("sim --access trace:trace").bad(1, &["9991 blocks", "5356 are there", "--compact"]);
}

#[test]
fn wrong_words_are_named_on_one_line() {
    let world = World::new();
    for (words, named) in [
        ("--victim best", "unknown victim `best` (known: declining-cost, greedy"),
        ("--victim mine.was", "or a module FILE.wasm or FILE.wat"),
        ("--garbage 15", "want a percentage from 1% to 99%"),
        ("--garbage 0%", "want a percentage from 1% to 99%"),
        ("--victim garbage-age:100", "want garbage-age:1 to garbage-age:99"),
        ("--placement m7", "unknown placement `m7` (known: adaptive, m1"),
        ("--wear out", "unknown wear rule `out`"),
        ("--placement read-only:midas", "`midas` cannot be inside (can: m1"),
        ("--access zipf", "unknown workload `zipf`"),
        ("--access random+read-only:100%", "unknown workload `random+read-only:100%`"),
        ("--fill 100%", "invalid --fill `100%`"),
        ("--fill 0.5", "invalid --fill `0.5` (want a percentage such as 90%"),
        ("--alpha 0.5", "invalid --alpha `0.5` (want a number above 1)"),
        ("--flash 24X", "invalid size `24X`"),
        ("--write 1y", "invalid --write `1y`"),
        ("--warm-up=-1x", "invalid --warm-up `-1x`"),
        ("--seed 4..1", "invalid --seed `4..1`"),
        ("--seed 1..99999999999", "99999999999 runs are too many at a time (want at most 100000)"),
        ("--seed 0..18446744073709551615 --fill 80%,90%", "runs are too many"),
        ("--rate 0", "invalid --rate `0`"),
        ("--chip none", "unknown chip `none`"),
        ("--access trace:x --format y", "unknown trace format `y`"),
        ("--access trace:x --pattern (", "bad pattern"),
    ] {
        let words: Vec<_> = std::iter::once("sim").chain(words.split_inclusive(' ').map(str::trim)).collect();
        world.run(&words).bad(2, &[named]);
    }
    world.say("sim --victim missing.wat").bad(1, &["missing.wat: no such file"]);
    world.say("sim --access trace:missing").bad(1, &["missing: no such file"]);
    world.say("sim --segment 4K").bad(1, &["no room for data"]);
    world.say("sim --reserve 192").bad(1, &["192 segments in reserve are too many, of 192"]);
    world.say("sim --flash 64T").bad(1, &["2^32"]);
    assert_eq!(world.say("sim --endurance 0").code, 2);
    world
        .say("sim --fill 99.99%")
        .bad(1, &["99.98 % full leaves nothing to reclaim (want --fill 98.95% or less)"]);
}

/// A store that needs 24 GiB, with an address space of 2: refused before anything is allocated.
#[test]
fn a_store_without_memory_for_it_is_refused() {
    let pumice = env!("CARGO_BIN_EXE_pumice");
    let script = format!("ulimit -v 2000000; exec {pumice} sim --flash 8T --write 1M");
    let run = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(1), "{said}");
    assert!(said.starts_with("pumice: a store of ") && said.contains("GiB of memory"), "{said}");
}

#[test]
fn experiments_are_listed_and_reported() {
    let world = World::new();
    let list = world.say("lab list").good();
    assert!(list.lines().any(|line| line.starts_with("cat-fig12 ")), "{list}");
    let list = document(&world.say("lab list --json").good(), "lab-list");
    assert!(list["experiments"].as_array().unwrap().len() >= 10);
    world.say("lab run cat-fig99").bad(2, &["unknown experiment `cat-fig99`", "`pumice lab list`"]);
    world.say("lab report").bad(1, &["lab: no records there"]);
    world.say("lab run traces --traces nowhere").bad(1, &["nowhere: no such file"]);
}

#[test]
fn a_record_is_made_again_to_the_byte() {
    let world = World::new();
    world.say("lab run cat-fig13-sequential --seeds 1").good();
    let path = world.path("lab/cat-fig13-sequential.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(world.say("lab run --again lab/cat-fig13-sequential.jsonl").good(), text);
    let (first, _) = text.split_once('\n').unwrap();
    std::fs::write(&path, first.replace("\"seed\":1", "\"seed\":2")).unwrap();
    let again = world.say("lab run --again lab/cat-fig13-sequential.jsonl");
    again.bad(1, &["line 1: the record was changed after it was written"]);
    world.say("lab run cat-fig13-sequential --seeds 1").good();
    assert_eq!(world.say("lab run --again").code, 2);
    assert_eq!(world.say("lab run --again x cat-fig12").code, 2);
}
