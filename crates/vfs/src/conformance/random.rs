//! Random sequences of operations, and how a failure is told.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::collection::vec;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use super::interpreter::Interpreter;
use super::op::Op;
use super::strategy::op;
use super::{Failure, Subject, TestClock};

/// The counters of a run without a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Operations applied.
    pub ops: u64,
    /// Operations refused by the subject for want of space, rightly or not.
    pub refused: u64,
}

/// Applies `cases` sequences of 1 to `ops_per_case` operations, half as many on average, each to a new subject.
///
/// The same numbers give the same sequences. The error tells the seed, and the shortest sequence found that fails,
/// as Rust source for [`replay`].
pub fn run_random<'a>(
    make: &dyn Fn(&TestClock) -> Box<dyn Subject + 'a>,
    cases: u32,
    ops_per_case: usize,
    seed: u64,
) -> Result<Report, Failure> {
    run_random_of(make, cases, ops_per_case, seed, &|_| true)
}

/// The same with those operations alone that `gives` says the subject's format has; the others are left out of each
/// sequence.
pub fn run_random_of<'a>(
    make: &dyn Fn(&TestClock) -> Box<dyn Subject + 'a>,
    cases: u32,
    ops_per_case: usize,
    seed: u64,
    gives: &dyn Fn(&Op) -> bool,
) -> Result<Report, Failure> {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 10_000,
        max_shrink_time: 120_000,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, rng(seed));
    let total = Cell::new(Report::default());
    let outcome = runner.run(&vec(op(), 1..=ops_per_case.max(1)), |mut ops| {
        ops.retain(gives);
        let report = replay(make, &ops).map_err(|failure| TestCaseError::fail(failure.to_string()))?;
        let sum = total.get();
        total.set(Report { ops: sum.ops + report.ops, refused: sum.refused + report.refused });
        Ok(())
    });
    match outcome {
        Ok(()) => Ok(total.get()),
        Err(TestError::Abort(reason)) => Err(Failure(format!("no sequences to be had: {reason}"))),
        Err(TestError::Fail(reason, mut ops)) => {
            ops.retain(gives);
            let (ops, reason) = thin_out(make, ops, reason.to_string());
            let run = format!("run_random(_, {cases}, {ops_per_case}, {seed}) fails, at the least with");
            Err(Failure(format!("{run}\n{}{reason}", source(&ops))))
        }
    }
}

/// Applies one sequence to a new subject. The error tells the number of the operation, counted from 0.
pub fn replay<'a>(make: &dyn Fn(&TestClock) -> Box<dyn Subject + 'a>, ops: &[Op]) -> Result<Report, Failure> {
    let mut interpreter = Interpreter::new(make);
    interpreter.start().map_err(Failure)?;
    for (number, op) in ops.iter().enumerate() {
        interpreter.apply(op).map_err(|what| Failure(format!("operation {number}, {op:?}: {what}")))?;
    }
    interpreter.finish().map_err(|what| Failure(format!("at the end: {what}")))?;
    Ok(Report { ops: ops.len() as u64, refused: interpreter.refused })
}

/// Leaves out operations as long as the rest still fails: proptest tries each only once, before it simplifies others.
/// A subject that panics is left as it is.
fn thin_out<'a>(
    make: &dyn Fn(&TestClock) -> Box<dyn Subject + 'a>,
    mut ops: Vec<Op>,
    mut reason: String,
) -> (Vec<Op>, String) {
    loop {
        let before = ops.len();
        for left_out in (0..before).rev() {
            let mut fewer = ops.clone();
            fewer.remove(left_out);
            let outcome = catch_unwind(AssertUnwindSafe(|| replay(make, &fewer)));
            if let Ok(Err(failure)) = outcome {
                (ops, reason) = (fewer, failure.to_string());
            }
        }
        if ops.len() == before {
            return (ops, reason);
        }
    }
}

fn source(ops: &[Op]) -> String {
    let mut lines = String::new();
    for (number, op) in ops.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "    Op::{op:?}, // {number}");
    }
    lines
}

fn rng(seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}
