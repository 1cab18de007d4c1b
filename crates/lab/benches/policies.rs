//! Speed of policies of a user's own beside the built-in ones that decide the same.
//!
//! `cargo bench -p pumice-lab --bench policies` prints user page writes a second on one core, at 90/10 with greedy and
//! with heads for user and cleaner: on the CAT paper's store, and on 2048 segments of 256 pages.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "figures are what it is for")]

use std::{fs, path::Path, time::Instant};

use pumice_lab::run::{Access, Amount, Room, Setup, simulate};
use pumice_media::ChipSpec;

/// `greedy` and `static` as a module.
const OWN: &str = r#"(module
  (func (export "cost") (param $valid i32) (param i32 i32 i32 i32 i32 i32) (result f64)
    (f64.convert_i32_u (local.get $valid)))
  (func (export "classes") (result i32) (i32.const 2))
  (func (export "user_write") (param i32 i32 i32 i32) (result i32) (i32.const 0))
  (func (export "cleaner_copy") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 1)))"#;

/// A store: its name, bytes, bytes of a segment, and the bytes written.
const STORES: [(&str, u64, u64, u64); 2] = [
    ("192 segments of 31 pages", 24 << 20, 128 << 10, 192 << 20),
    ("2048 of 256", 2 << 30, 1 << 20, 4 << 30),
];

/// Thousands of writes a second, and the write amplification.
fn speed((flash, segment, write): (u64, u64, u64), victim: &str, placement: &str) -> (f64, f64) {
    let access = Access::Pattern("locality:90/10".parse().unwrap());
    let chip = ChipSpec::named("intel-s2plus-24m").unwrap();
    let (victim, placement) = (victim.parse().unwrap(), placement.parse().unwrap());
    let mut setup = Setup::cat(access, victim, placement, "none".parse().unwrap(), chip);
    setup.store.flash = Some(flash);
    setup.store.segment = segment;
    setup.store.header = u32::from(segment < 1 << 20);
    setup.store.reserve = 1;
    setup.store.room = Room::Fill(0.85);
    setup.write = Some(Amount::Bytes(write));
    let start = Instant::now();
    let record = simulate(&setup, &()).unwrap();
    let writes = record.user_writes + u64::from(record.parameters.logical_blocks);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let writes = writes as f64;
    (writes / start.elapsed().as_secs_f64() / 1e3, record.waf)
}

fn main() {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own.wat");
    fs::write(&own, OWN).unwrap();
    let own = own.display().to_string();
    println!("| thousand user writes/s | policy | built-in | module | ratio |\n|---|---|---|---|---|");
    for (name, flash, segment, write) in STORES {
        for (axis, victim, placement) in
            [("victim", own.as_str(), "static"), ("placement", "greedy", own.as_str())]
        {
            let store = (flash, segment, write);
            let (built_in, waf) = speed(store, "greedy", "static");
            let (module, same) = speed(store, victim, placement);
            assert!((waf - same).abs() < 1e-12, "{waf} {same}");
            println!("| {name} | {axis} | {built_in:.0} | {module:.0} | {:.1} |", built_in / module);
        }
    }
}
