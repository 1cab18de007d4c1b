//! The conformance suite: the promises of [`crate::FileSystem`], put to any implementation.
//!
//! Three layers. [`run_scripted`] goes through calls and errors one by one, [`run_random`] applies random operations
//! to the implementation and to [`crate::model::MemFs`] and compares every answer, and [`compare_trees`] tells whether
//! two file systems hold the same. An implementer brings a [`Subject`], made with the clock that the suite hands over.

mod compare;
mod excuses;
mod interpreter;
mod op;
mod perform;
mod random;
mod regions;
mod scripted;
mod strategy;
mod stream;
mod subject;
mod tools;

pub use compare::{compare_trees, compare_trees_with};
pub use op::{Name, Node, Op, Pick, Pool, XattrName};
pub use random::{Report, replay, run_random, run_random_of};
pub use scripted::{Check, checks, run_scripted};
pub use subject::{Failure, Leeway, Subject, TestClock};
pub use tools::{list, mkdir_p, read_file, resolve, walk, write_file};
