//! Write amplification of the policies, by simulation.
//!
//! The comparison table: `cargo test --release -p pumice-cleaning --test waf -- --ignored --nocapture`

mod sim;

use pumice_cleaning::{Class, Placement, SepBit, Static, VictimPolicy};
use sim::{Access, Clocks, PAGES, Sim, theory::greedy_waf};

/// One log for all, as the theory has it.
struct OneLog;

impl Placement for OneLog {
    fn classes(&self) -> u8 {
        1
    }

    fn user_write(&mut self, _overwritten: Option<u32>) -> Class {
        Class(0)
    }

    fn cleaner_copy(&mut self, _from: Class, _age: u32) -> Class {
        Class(0)
    }

    fn reclaimed(&mut self, _class: Class, _lifespan: u32) {}
}

/// A few hundred segments, 77 % full, 30 turnovers of warm-up, 8 measured.
fn small(victim: VictimPolicy, mut placement: impl Placement, access: Access) -> f64 {
    Sim::new(400, 77, victim, &mut placement, Clocks::Segment).waf(access, 30, 8, 1)
}

#[test]
fn greedy_meets_the_closed_form() {
    let theory = greedy_waf(1.0 / 0.77, f64::from(PAGES));
    let measured = small(VictimPolicy::Greedy, OneLog, Access::Uniform);
    assert!((measured / theory - 1.0).abs() < 0.05, "measured {measured:.3}, theory {theory:.3}");
}

/// Under greedy it does not, with as few heads: see the table.
#[test]
fn sepbit_beats_static_on_skewed_writes() {
    let victim = VictimPolicy::CostBenefit;
    let fixed = small(victim, Static, Access::Hot90);
    for classes in [3, 4] {
        let sepbit = small(victim, SepBit::new(classes), Access::Hot90);
        assert!(sepbit < fixed * 0.95, "{classes} classes: {sepbit:.3}, static {fixed:.3}");
    }
}

/// A line of the table.
struct Row {
    name: &'static str,
    placement: fn() -> Box<dyn Placement>,
    clocks: Clocks,
}

const ROWS: [Row; 7] = [
    Row { name: "one log", placement: || Box::new(OneLog), clocks: Clocks::Segment },
    Row { name: "static", placement: || Box::new(Static), clocks: Clocks::Segment },
    Row { name: "sepbit 2", placement: || Box::new(SepBit::new(2)), clocks: Clocks::Segment },
    Row { name: "sepbit 3", placement: || Box::new(SepBit::new(3)), clocks: Clocks::Segment },
    Row { name: "sepbit 4", placement: || Box::new(SepBit::new(4)), clocks: Clocks::Segment },
    Row { name: "sepbit 6", placement: || Box::new(SepBit::new(6)), clocks: Clocks::Segment },
    Row { name: "sepbit 4, page ages", placement: || Box::new(SepBit::new(4)), clocks: Clocks::Page },
];

const FILLS: [u32; 3] = [66, 77, 87];

impl Row {
    /// The cells, on a thread for each access pattern.
    fn cells(&self, segments: u32, victim: VictimPolicy) -> String {
        let half = |access| {
            FILLS.map(|fill| format!(" {:.3} |", self.cell(segments, victim, access, fill))).concat()
        };
        std::thread::scope(|scope| {
            let uniform = scope.spawn(|| half(Access::Uniform));
            let hot = half(Access::Hot90);
            uniform.join().map_or_else(|_| String::from("failed"), |uniform| uniform + &hot)
        })
    }

    fn cell(&self, segments: u32, victim: VictimPolicy, access: Access, fill: u32) -> f64 {
        Sim::new(segments, fill, victim, &mut *(self.placement)(), self.clocks).waf(access, 30, 8, 1)
    }
}

#[test]
#[ignore = "prints a table, takes minutes"]
#[expect(clippy::print_stdout, reason = "the table is what it is for")]
fn table() {
    let theory = FILLS.map(|fill| format!(" {:.3} |", greedy_waf(100.0 / f64::from(fill), f64::from(PAGES))));
    for segments in [2000, 256] {
        println!("| {segments} segments | victim | uniform 66 % | 77 % | 87 % | 90/10 66 % | 77 % | 87 % |");
        println!("|---|---|---|---|---|---|---|---|\n| closed form | greedy |{} | | |", theory.concat());
        for victim in VictimPolicy::ALL {
            for row in &ROWS {
                println!("| {} | {victim} |{}", row.name, row.cells(segments, victim));
            }
        }
    }
}
