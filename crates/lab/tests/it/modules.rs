//! Policies of a user's own: they decide as the built-in ones do where they say the same, and none can harm a run.

use std::{fs, path::Path, sync::Mutex};

use pumice_cleaning::{Params, Selector};
use pumice_lab::{
    LabError,
    module::{Module, victim},
    run::{Access, Amount, Record, Setup, plan, simulate, sweep},
};
use pumice_media::ChipSpec;

/// The parameters of `cost`.
const SEGMENT: &str = "(param $valid i32) (param $capacity i32) (param $created i32) (param $written i32) \
                       (param $invalidated i32) (param $erases i32) (param $class i32)";

/// A victim policy that answers by this expression.
fn cost(body: &str) -> String {
    format!("(func (export \"cost\") {SEGMENT} (result f64) {body})")
}

/// A placement of so many heads, with the heads of users' pages and of survivors.
fn heads(classes: u32, user: &str, copy: &str) -> String {
    let copied = SEGMENT.replace("(param $valid", "(param $now i32) (param $page i32) (param $valid");
    format!(
        "(func (export \"classes\") (result i32) i32.const {classes})
         (func (export \"user_write\") (param $now i32) (param $page i32) (param $class i32) (param $age i32)
           (result i32) {user})
         (func (export \"cleaner_copy\") {copied} (result i32) {copy})"
    )
}

const FEWEST: &str = "(f64.convert_i32_u (local.get $valid))";

/// The rule of `greedy`, as a binary.
const GREEDY: &[u8] = b"\0asm\x01\0\0\0\
    \x01\x0c\x01\x60\x07\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x01\x7c\
    \x03\x02\x01\0\
    \x07\x08\x01\x04cost\0\0\
    \x0a\x07\x01\x05\0\x20\0\xb8\x0b";

struct World(tempfile::TempDir);

impl World {
    fn new() -> World {
        World(tempfile::tempdir().unwrap())
    }

    /// A file with a module, and its name as a policy.
    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }

    fn text(&self, name: &str, functions: &str) -> String {
        self.file(name, format!("(module {functions})").as_bytes())
    }
}

fn setup(victim: &str, placement: &str) -> Setup {
    let chip = ChipSpec::named("intel-s2plus-24m").unwrap();
    let access = Access::Pattern("locality:90/10".parse().unwrap());
    let (victim, placement) = (victim.parse().unwrap(), placement.parse().unwrap());
    let setup = Setup::cat(access, victim, placement, "none".parse().unwrap(), chip);
    Setup { write: Some(Amount::Bytes(32 << 20)), ..setup }
}

fn ran(victim: &str, placement: &str) -> Record {
    simulate(&setup(victim, placement), &()).unwrap()
}

fn refusal(victim: &str, placement: &str) -> String {
    match simulate(&setup(victim, placement), &()) {
        Err(LabError::Module { path, error }) => {
            assert!(path.exists());
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

/// The same counts.
fn same(one: &Record, other: &Record) {
    let counts = |record: &Record| (record.erasures, record.blocks_copied, record.victim_utilization.clone());
    assert_eq!(counts(one), counts(other));
}

#[test]
fn the_same_rules_decide_the_same() {
    let world = World::new();
    let greedy = ran("greedy", "m1");
    same(&ran(&world.text("greedy.wat", &cost(FEWEST)), "m1"), &greedy);
    same(&ran(&world.file("greedy.wasm", GREEDY), "m1"), &greedy);
    let one = world.text("one.wat", &heads(1, "(i32.const 0)", "(i32.const 0)"));
    same(&ran("greedy", &one), &greedy);
    let two = heads(2, "(i32.const 0)", "(i32.const 1)");
    let apart = world.text("two.wat", &two);
    same(&ran("cat", &apart), &ran("cat", "static"));
    // Age x (1 - u) / 2u, negated; with nothing live the lowest.
    let benefit = "(if (result f64) (i32.eqz (local.get $valid)) (then (f64.const -inf)) (else
        (f64.neg (f64.div
          (f64.mul (f64.convert_i32_u (local.get $invalidated))
                   (f64.convert_i32_u (i32.sub (local.get $capacity) (local.get $valid))))
          (f64.convert_i32_u (i32.mul (i32.const 2) (local.get $valid)))))))";
    let both = world.text("both.wat", &(cost(benefit) + &two));
    same(&ran(&both, &both), &ran("cost-benefit", "static"));
}

/// Ages, classes, events and the store's size are as the built-in rules see them.
#[test]
fn questions_carry_what_the_traits_have() {
    let world = World::new();
    let checked = "(global $segments (mut i32) (i32.const 0)) (global $sealed (mut i32) (i32.const 0))
        (global $reclaimed (mut i32) (i32.const 0))
        (func (export \"begin\") (param i32 i32 i32 i64)
          (if (i32.or (i32.or (i32.ne (local.get 0) (i32.const 192)) (i32.ne (local.get 1) (i32.const 31)))
                      (i32.or (i32.ne (local.get 2) (i32.const 5356)) (i64.ne (local.get 3) (i64.const 1))))
            (then unreachable))
          (global.set $segments (local.get 0)))
        (func (export \"sealed\") (param i32 i32)
          (global.set $sealed (i32.add (global.get $sealed) (i32.const 1))))
        (func (export \"reclaimed\") (param i32 i32 i32 i32 i32 i32 i32 i32)
          (global.set $reclaimed (i32.add (global.get $reclaimed) (i32.const 1))))";
    // A first write has class -1; no more segments are reclaimed than sealed; a copy's age is its segment's.
    let user = "(if (i32.or (i32.eqz (global.get $segments))
                    (i32.gt_u (global.get $reclaimed) (global.get $sealed))) (then unreachable))
        (if (i32.le_u (local.get $now) (i32.const 5356))
          (then (if (i32.ne (local.get $class) (i32.const -1)) (then unreachable)))
          (else (if (i32.or (i32.gt_u (local.get $class) (i32.const 1)) (i32.eqz (local.get $age)))
            (then unreachable))))
        (i32.const 0)";
    let copy = "(if (i32.or (i32.ge_u (local.get $valid) (local.get $capacity))
                    (i32.or (i32.gt_u (local.get $written) (local.get $created))
                            (i32.gt_u (local.get $invalidated) (local.get $written)))) (then unreachable))
        (i32.const 1)";
    let placement = world.text("checked.wat", &(checked.to_owned() + &heads(2, user, copy)));
    same(&ran("greedy", &placement), &ran("greedy", "static"));
    // The least erased first wears evenly.
    let wear = ran(&world.text("wear.wat", &cost("(f64.convert_i32_u (local.get $erases))")), "m1");
    assert!(wear.wear_stddev < 1.0 && ran("greedy", "m1").wear_stddev > 2.0, "{wear:?}");
}

/// A placement that fails as soon as the victim policy was asked: it is the same module.
#[test]
fn a_module_has_one_state() {
    let world = World::new();
    let asked = "(global $asked (mut i32) (i32.const 0))".to_owned()
        + &cost("(global.set $asked (i32.const 1)) (f64.convert_i32_u (local.get $valid))")
        + &heads(1, "(if (global.get $asked) (then unreachable)) (i32.const 0)", "(i32.const 0)");
    let both = world.text("both.wat", &asked);
    let twin = world.text("twin.wat", &asked);
    same(&ran(&twin, &both), &ran("greedy", "m1"));
    assert!(refusal(&both, &both).starts_with("`user_write` fails: "));
}

#[test]
fn faults_are_named() {
    let world = World::new();
    let victim = |functions: &str| refusal(&world.text("mine.wat", functions), "m1");
    let placement = |functions: &str| refusal("greedy", &world.text("mine.wat", functions));
    for (functions, want) in [
        (cost("(loop $l (br $l)) (f64.const 0)"), "`cost` takes more than 10000000 instructions"),
        (cost("unreachable"), "`cost` fails: wasm `unreachable` instruction executed"),
        (cost("(f64.const nan)"), "`cost` is not a number"),
        (cost("(f64.div (f64.const 0) (f64.const 0))"), "`cost` is not a number"),
        ("(func $f (call $f)) (start $f)".to_owned() + &cost(FEWEST), "`start` fails: call stack exhausted"),
        ("(func $f (loop $l (br $l))) (start $f)".to_owned() + &cost(FEWEST), "`start` takes more than"),
        ("(memory 2000)".to_owned() + &cost(FEWEST), "`start` fails: "),
        ("(import \"env\" \"now\" (func (result i64)))".to_owned() + &cost(FEWEST), "imports `env.now`"),
        (String::new(), "exports no function `cost(valid: i32, capacity: i32, "),
        ("(func (export \"cost\"))".to_owned(), "exports a `cost` that is not `cost(valid: i32, "),
        ("(global (export \"cost\") i32 (i32.const 0))".to_owned(), "exports a `cost` that is not"),
        ("(func (export \"begin\"))".to_owned() + &cost(FEWEST), "exports a `begin` that is not"),
        ("(func".to_owned(), "no module that can be run: expected `)` at 1:"),
    ] {
        let found = victim(&functions);
        assert!(found.starts_with(want) && !found.contains('\n'), "{found}\n{want}");
    }
    for (functions, want) in [
        (heads(0, "(i32.const 0)", "(i32.const 0)"), "`classes` answers 0 (want 1 to 16)"),
        (heads(17, "(i32.const 0)", "(i32.const 0)"), "`classes` answers 17"),
        (heads(2, "(i32.const 2)", "(i32.const 0)"), "`user_write` answers 2, of 2 classes from 0"),
        (heads(2, "(i32.const 0)", "(i32.const -1)"), "`cleaner_copy` answers 4294967295, of 2"),
        (heads(1, "(i32.const 0)", "unreachable"), "`cleaner_copy` fails: "),
        (cost(FEWEST), "exports no function `classes() -> i32`"),
    ] {
        let found = placement(&functions);
        assert!(found.starts_with(want), "{found}\n{want}");
    }
    let found = refusal(&world.file("mine.wasm", &GREEDY[..20]), "m1");
    assert!(found.starts_with("no module that can be run: "), "{found}");
    let missing = simulate(&setup("nowhere.wasm", "m1"), &()).unwrap_err();
    assert!(matches!(missing, LabError::File { .. }), "{missing:?}");
    // More memory is refused when it is asked for, and the module goes on.
    let grows = cost("(f64.convert_i32_s (memory.grow (i32.const 1000)))") + "(memory 1000)";
    ran(&world.text("grows.wat", &grows), "m1");
    // A price that is infinite is none at all.
    let never = simulate(&setup(&world.text("never.wat", &cost("(f64.const inf)")), "m1"), &()).unwrap_err();
    assert!(matches!(never, LabError::Setup(_)), "{never:?}");
}

/// Whatever byte is changed, there is a choice or a fault.
#[test]
fn no_byte_of_a_module_does_harm() {
    let params = Params::new(4, 8, 20);
    let view = |valid| pumice_cleaning::SegmentView { valid, capacity: 8, ..Default::default() };
    let mut chosen = [0; 3];
    for at in 0..GREEDY.len() {
        for value in 0..=255 {
            let mut bytes = GREEDY.to_vec();
            bytes[at] = value;
            let Ok(module) = Module::new(&bytes).start(&params, 1) else { continue };
            let Ok(mut rule) = victim(&module, &params) else { continue };
            rule.sealed(0, &view(5), 9);
            rule.sealed(1, &view(3), 9);
            let id = rule.take(9);
            assert_eq!(id.is_none(), module.fault().is_some(), "byte {at} as {value}");
            chosen[id.map_or(2, |id| id as usize)] += 1;
        }
    }
    assert!(chosen[1] > GREEDY.len(), "{chosen:?}");
}

#[test]
fn records_name_the_module() {
    let world = World::new();
    let file = world.text("mine.wat", &cost(FEWEST));
    let setups: Vec<_> = (1..=4).map(|seed| Setup { seed, ..setup(&file, "m1") }).collect();
    let planned = plan(&setups).unwrap();
    let all = Mutex::new(Vec::new());
    sweep(&planned, &(), |_, record| -> Result<(), LabError> {
        all.lock().unwrap().push(record.clone());
        Ok(())
    })
    .unwrap();
    let all = all.into_inner().unwrap();
    let single: Vec<_> = setups.iter().map(|setup| simulate(setup, &()).unwrap()).collect();
    assert_eq!(all, single);
    let hash = |record: &Record| record.parameters.victim_sha256.clone().unwrap();
    assert_eq!((all[0].parameters.victim.as_str(), hash(&all[0]).len()), ("mine.wat", 64));
    assert_eq!(all[0].parameters.placement_sha256, None);
    world.text("mine.wat", &(cost(FEWEST) + " "));
    let other = simulate(&setups[0], &()).unwrap();
    same(&other, &all[0]);
    assert_ne!(hash(&other), hash(&all[0]));
    assert!(Path::new(&file).exists());
}
