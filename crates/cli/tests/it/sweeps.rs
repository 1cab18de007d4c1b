//! Experiments that users describe: run, in parts, by other programs, merged, shown, made again.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
};

use pumice_knobs::CLI_SLURM;

use crate::common::{World, finish};

/// Twenty-four cells of a thousand, as `docs/researcher.md` has them: two workloads, three policies, four fillings.
const SWEEP: &str = r#"
about = "separation as the store fills"
x = "fill"
metrics = ["waf", "wear-deviation"]
seeds = "2"

[[workload]]
access = ["zipf:0.99", "locality:90/10"]
write = "16M"

[[policy]]
name = "ours"

[[policy]]
victim = "root-age"
placement = ["sepbit:3", "sepbit:6"]
wear = "none"

[[store]]
flash = "12M"
fill = ["75%", "80%", "85%", "90%"]
"#;

/// A world with the sweep and its records of one go.
fn world() -> World {
    let world = World::new();
    fs::write(world.path("sweep.toml"), SWEEP).unwrap();
    let table = world.say("lab run sweep.toml --out whole").good();
    assert!(table.starts_with("sweep: separation as the store fills\n"), "{table}");
    world
}

fn text(world: &World, file: &str) -> String {
    fs::read_to_string(world.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// These parts become what one go made.
#[track_caller]
fn merged(world: &World, parts: &str) {
    let said = world.say(&format!("lab merge {parts} --out merged")).good();
    assert_eq!(said, "sweep: 48 records\n");
    for kind in ["jsonl", "csv", "toml"] {
        let [merged, whole] = ["merged", "whole"].map(|dir| text(world, &format!("{dir}/sweep.{kind}")));
        assert!(merged == whole, "{kind}: {merged}\n{whole}");
    }
    fs::remove_dir_all(world.path("merged")).unwrap();
}

#[test]
fn each_cell_has_a_curve_and_a_place() {
    let world = world();
    let table = world.say("lab run sweep.toml --out whole").out;
    let lines: Vec<_> = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(lines[2], ["write", "amplification", "by", "fill"]);
    assert_eq!(lines[3], ["75", "80", "85", "90"]);
    for series in ["zipf:0.99, ours", "locality:90/10, sepbit:3", "locality:90/10, sepbit:6"] {
        assert!(table.lines().any(|line| line.starts_with(&format!("{series}  "))), "{series}: {table}");
    }
    // As `pumice sim` has it.
    let record = text(&world, "whole/sweep.jsonl");
    let record =
        record.lines().find(|line| line.contains("\"x\":\"80\"") && line.contains("sepbit:6")).unwrap();
    let options =
        "--flash 12M --fill 80% --write 16M --access zipf:0.99 --victim root-age --placement sepbit:6";
    let sim = world.say(&format!("sim {options} --wear none --json")).good();
    let waf =
        |text: &str| text.split("\"waf\":").nth(1).unwrap().split(',').next().unwrap().trim().to_owned();
    assert_eq!(waf(record), waf(&sim));
    // Another policy beside them voids no record.
    let more = SWEEP.replace("\"sepbit:3\", ", "\"sepbit:3\", \"m1\", ");
    fs::write(world.path("sweep.toml"), more).unwrap();
    let said = world.say("lab run sweep.toml --out whole --seeds 1..2");
    assert_eq!(said.messages(), ["sweep: 48 of 64 runs were on record already; --fresh makes them again"]);
    world.say("lab report whole --pictures pictures").good();
    assert!(text(&world, "pictures/sweep-waf.svg").contains("write amplification"));
    assert!(text(&world, "whole/report.html").contains("<code>pumice lab run sweep.toml --seeds 2</code>"));
    // Without it, its records stay on file and are not shown.
    fs::write(world.path("whole/sweep.toml"), SWEEP).unwrap();
    world.say("lab report whole").good();
    assert!(!text(&world, "whole/report.html").contains(">zipf:0.99, m1<"));
}

/// Eight parts, one of them killed and run again; then a record of one made again.
#[test]
fn a_sweep_in_parts_is_one_sweep() {
    let world = world();
    let shard = |part: u32| format!("lab run sweep.toml --shard {part}/8 --out part{part}");
    for part in (1..=8).filter(|part| *part != 5) {
        world.say(&shard(part)).good();
    }
    let words = shard(5);
    cut_short(&world, &words, "part5/sweep.jsonl");
    let parts = (1..=8).rev().map(|part| format!("part{part}")).collect::<Vec<_>>().join(" ");
    let said = world.say(&format!("lab merge {parts} --out merged")).good();
    assert_ne!(said, "sweep: 48 records\n");
    assert_eq!(world.say(&words).code, 0);
    merged(&world, &parts);
    let record = text(&world, "part5/sweep.jsonl").lines().next().unwrap().to_owned() + "\n";
    fs::write(world.path("record"), &record).unwrap();
    assert_eq!(world.say("lab run --again record").good(), record);
    fs::write(world.path("part3/sweep.toml"), SWEEP.replace("16M", "17M")).unwrap();
    world.say(&format!("lab merge {parts} --out merged")).bad(1, &["describe different experiments"]);
}

/// The same cells with another option are other runs: a report never has both in one curve, and the old ones stay on file.
#[test]
fn a_changed_description_shows_no_records_of_the_old_one() {
    let world = world();
    fs::write(world.path("sweep.toml"), SWEEP.replace("16M", "15M")).unwrap();
    world.say("lab run sweep.toml --shard 1/8 --out whole").good();
    let runs = || {
        world.say("lab report whole").good();
        let page = text(&world, "whole/report.html");
        page.split(" runs, seeds").next().unwrap().rsplit(' ').next().unwrap().to_owned()
    };
    assert_eq!(runs(), "6");
    assert_eq!(text(&world, "whole/sweep.jsonl").lines().count(), 48 + 6);
    fs::write(world.path("whole/sweep.toml"), SWEEP).unwrap();
    assert_eq!(runs(), "48");
}

/// A thousand small cells: two workloads, five policies, ten fillings, ten seeds.
const THOUSAND: &str = r#"
about = "many small stores"
x = "fill"
metrics = ["waf"]
seeds = "10"

[[workload]]
access = ["zipf:0.99", "locality:90/10+read-only:30%"]
write = "1M"

[[policy]]
victim = "cat"
placement = ["m1", "m4", "m6", "sepbit:3", "read-only:m6"]
wear = "none"

[[store]]
flash = "2M"
segment = "32k"
fill = ["52%", "54%", "56%", "58%", "60%", "62%", "64%", "66%", "68%", "70%"]
"#;

/// Eight parts, the third killed and run again.
#[test]
fn a_thousand_cells_in_parts_are_one_sweep() {
    let world = World::new();
    fs::write(world.path("many.toml"), THOUSAND).unwrap();
    world.say("lab run many.toml --out whole").good();
    let shard = |part: u32| format!("lab run many.toml --shard {part}/8 --out part{part}");
    for part in (1..=8).filter(|part| *part != 3) {
        world.say(&shard(part)).good();
    }
    let left = cut_short(&world, &shard(3), "part3/many.jsonl");
    let parts = (1..=8).map(|part| format!("part{part}")).collect::<Vec<_>>().join(" ");
    let merge = format!("lab merge {parts} --out merged");
    assert_eq!(world.say(&merge).good(), format!("many: {} records\n", 875 + left));
    let said = world.say(&shard(3));
    assert!(said.code == 0 && left < 125, "{left} records were left: {said:?}");
    assert_eq!(world.say(&merge).good(), "many: 1000 records\n");
    for kind in ["jsonl", "csv", "toml"] {
        let [merged, whole] = ["merged", "whole"].map(|dir| text(&world, &format!("{dir}/many.{kind}")));
        assert!(merged == whole, "{kind}");
    }
    assert_eq!(text(&world, "whole/many.jsonl").lines().count(), 1000);
}

/// Starts a part, kills it once it has written something, and cuts its last line: the number of whole ones.
fn cut_short(world: &World, words: &str, file: &str) -> usize {
    let mut killed: Child =
        world.command().args(words.split_whitespace()).stdout(Stdio::null()).spawn().unwrap();
    while !world.path(file).exists() {}
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = text(world, file);
    let left = &left[..left.len().saturating_sub(40)];
    fs::write(world.path(file), left).unwrap();
    left.matches('\n').count()
}

/// A shell in the world's directory that finds the command.
fn shell(world: &World, script: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_pumice")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(world.path("")).env("PATH", path).stdin(Stdio::null());
    shell
}

#[test]
fn gnu_parallel_runs_the_parts() {
    let found = Command::new("parallel").arg("--version").output();
    if !found.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("GNU parallel")) {
        eprintln!("SKIPPED: GNU parallel is not installed, so nothing was tested");
        return;
    }
    let world = world();
    let script = "parallel pumice lab run sweep.toml --shard {}/4 --out part{} ::: 1 2 3 4";
    let ran = finish(shell(&world, script).env("HOME", world.path("")).env("PARALLEL_HOME", world.path("")));
    assert_eq!(ran.code, 0, "{ran:?}");
    merged(&world, "part1 part2 part3 part4");
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// The script of an array in `docs/researcher.md`.
fn script_of_the_page() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/researcher.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, script) = page.split_once("```sh sweep.sh\n").unwrap();
    script.split_once("```").unwrap().0.to_owned()
}

/// The script of `docs/researcher.md`, with the variables that Slurm sets for each task of an array.
#[test]
fn an_array_of_slurm_runs_the_parts() {
    let world = world();
    let script = script_of_the_page();
    for task in 1..=4 {
        let mut task_of = shell(&world, &script);
        let ran = task_of.env("SLURM_ARRAY_TASK_ID", task.to_string()).env("SLURM_ARRAY_TASK_COUNT", "4");
        let ran = finish(ran);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    merged(&world, "part1 part2 part3 part4");
}

/// The same script under Slurm itself, on one node of its own, where Slurm is installed.
#[test]
fn slurm_itself_runs_the_parts() {
    if !["slurmctld", "slurmd", "sbatch"].iter().all(|name| is_installed(name)) {
        eprintln!("SKIPPED: Slurm is not installed, so nothing was tested");
        return;
    }
    let runs = CLI_SLURM.seeds(0..1);
    for seed in runs.clone() {
        CLI_SLURM.begin(seed);
        let world = world();
        let _node = Node::start(&world);
        fs::write(world.path("sweep.sh"), script_of_the_page()).unwrap();
        let ran =
            finish(shell(&world, "sbatch --wait --array=1-4 sweep.sh").env("SLURM_CONF", world.path(CONF)));
        assert_eq!(ran.code, 0, "{ran:?}");
        merged(&world, "part1 part2 part3 part4");
    }
    CLI_SLURM.ran(runs.clone(), runs.end - runs.start);
}

const CONF: &str = "slurm.conf";

/// Slurm's two daemons, ended with it.
struct Node(Vec<Child>);

impl Node {
    fn start(world: &World) -> Node {
        let place = world.path("");
        let place = place.display();
        // Both sockets are open while the ports are chosen, so that they differ.
        let sockets = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [control, node] = sockets.map(|socket| socket.local_addr().unwrap().port());
        let conf = format!(
            "ClusterName=one\nSlurmctldHost=localhost\nSlurmctldPort={control}\nSlurmdPort={node}\nAuthType=auth/none\n\
             CredType=cred/none\nSlurmUser=root\nStateSaveLocation={place}/state\nSlurmdSpoolDir={place}/spool\n\
             SlurmctldPidFile={place}/slurmctld.pid\nSlurmdPidFile={place}/slurmd.pid\nProctrackType=proctrack/pgid\n\
             TaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nMpiDefault=none\n\
             ReturnToService=2\nNodeName=localhost NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN\n\
             PartitionName=all Nodes=localhost Default=YES State=UP\n"
        );
        fs::write(world.path(CONF), conf).unwrap();
        for dir in ["state", "spool"] {
            fs::create_dir(world.path(dir)).unwrap();
        }
        let daemon = |words: &str| {
            let said = fs::File::create(world.path(words.split(' ').next().unwrap())).unwrap();
            let mut daemon = shell(world, &format!("exec {words}"));
            let kept = said.try_clone().unwrap();
            daemon.env("SLURM_CONF", world.path(CONF)).stdout(kept).stderr(said).spawn().unwrap()
        };
        Node(vec![daemon("slurmctld -D"), daemon("slurmd -D -N localhost")])
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        for daemon in &mut self.0 {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// A policy of one's own beside built-in ones: kept with its records, which are made again without the first file.
#[test]
fn a_policy_of_ones_own_goes_with_its_records() {
    let world = World::new();
    let module = |cost: &str| {
        let text = format!(
            "(module (func (export \"cost\") (param $valid i32) (param i32 i32 i32 i32 i32 i32) (result f64) {cost}))"
        );
        fs::create_dir_all(world.path("own")).unwrap();
        fs::write(world.path("own/fewest.wat"), text).unwrap();
    };
    module("(f64.convert_i32_u (local.get $valid))");
    let policy = "victim = [\"greedy\", \"own/fewest.wat\"]\nplacement = \"m1\"";
    let sweep = SWEEP.replace("victim = \"root-age\"\nplacement = [\"sepbit:3\", \"sepbit:6\"]", policy);
    assert_ne!(sweep, SWEEP);
    fs::write(world.path("sweep.toml"), &sweep).unwrap();
    let table = world.say("lab run sweep.toml --seeds 1 --out whole").good();
    let row = |name: &str| table.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    assert_eq!(row("zipf:0.99, own/fewest.wat"), row("zipf:0.99, greedy"));
    assert!(text(&world, "whole/sweep.jsonl").contains("\"victim\":\"fewest.wat\""));
    fs::remove_dir_all(world.path("own")).unwrap();
    let records = text(&world, "whole/sweep.jsonl");
    assert_eq!(world.say("lab run --again whole/sweep.jsonl").good(), records);
    world.say("lab report whole").good();
    world.say("lab merge whole --out merged").good();
    assert_eq!(text(&world, "merged/own/fewest.wat"), text(&world, "whole/own/fewest.wat"));
    // Another module of this name is another policy.
    fs::write(world.path("merged/own/fewest.wat"), text(&world, "whole/own/fewest.wat") + "\n").unwrap();
    world.say("lab run --again merged/sweep.jsonl").bad(1, &["victim_sha256 is \""]);
    world.say("lab merge whole merged --out third").bad(1, &["describe different experiments"]);
    world.say("lab run sweep.toml").bad(1, &["own/fewest.wat: no such file"]);
    module("(loop $again (br $again)) (f64.const 0)");
    let failed = world.say("lab run sweep.toml");
    failed.bad(1, &["own/fewest.wat: `cost` takes more than 10000000 instructions"]);
    fs::write(world.path("sweep.toml"), sweep.replace("own/fewest.wat", "../fewest.wat")).unwrap();
    world.say("lab run sweep.toml").bad(2, &["below the description's own directory", "`../fewest.wat`"]);
}

#[test]
fn wrong_descriptions_are_told() {
    let world = World::new();
    let with = |old: &str, new: &str| {
        assert!(SWEEP.contains(old), "{old}");
        fs::write(world.path("sweep.toml"), SWEEP.replace(old, new)).unwrap();
        world.say("lab run sweep.toml")
    };
    for (old, new, words) in [
        ("metrics = [\"waf\"", "metrics = [\"speed\"", ["sweep.toml", "unknown metric `speed`"]),
        ("about =", "subject =", ["line 2", "unknown field `subject`"]),
        ("x = \"fill\"", "x = \"fill", ["line 3", "string"]),
        ("x = \"fill\"", "x = \"alpha\"", ["x is `alpha`", "does not set"]),
        ("flash =", "seed =", ["`seed`", "no place in a store"]),
        ("flash =", "flesh =", ["sweep.toml", "--flesh"]),
        ("flash = \"12M\"", "flash = \"12M,14M\"", ["several values", "list"]),
        ("flash = \"12M\"", "wear = \"even\"", ["sets `wear` twice", "cell"]),
        ("[\"sepbit:3\", \"sepbit:6\"]", "\"sepbit:6\"\nname = \"ours\"", ["two cells are", "want a `name`"]),
        ("\"sepbit:3\", ", "\"sepbit:9\", ", ["sepbit:9", "sepbit"]),
        ("seeds = \"2\"", "seeds = \"0\"", ["seeds", "`0`"]),
        ("seeds = \"2\"", "look = \"pie\"", ["unknown look `pie`", "bars"]),
    ] {
        with(old, new).bad(2, &words);
    }
    fs::write(world.path("zipf-mine.toml"), SWEEP).unwrap();
    world.say("lab run zipf-mine.toml").bad(2, &["zipf-mine.toml", "want a name"]);
    world.say("lab run nowhere.toml").bad(1, &["nowhere.toml"]);
    assert!(!world.path("lab").exists());
}
