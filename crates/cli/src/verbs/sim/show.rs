//! Records as people read them.

use std::collections::BTreeSet;

use pumice_lab::run::{Record, Setup};

use crate::text;

/// One run on a page.
pub(super) fn one(record: &Record) -> Vec<String> {
    let (r, p) = (record, &record.parameters);
    let mut lines = vec![
        format!("access:     {}, seed {}", p.access, p.seed),
        format!(
            "store:      {}, {} segments of {} blocks of {} bytes, {} in use (alpha {:.4}), reserve {}",
            text::size(p.flash_bytes),
            p.segments,
            p.segment_blocks,
            p.block_bytes,
            p.logical_blocks,
            p.alpha,
            p.reserve
        ),
        format!("rules:      victim {}, placement {}, wear {}", p.victim, p.placement, p.wear),
        format!("written:    {} blocks, {}", r.user_writes, text::size(r.user_writes * p.block_bytes)),
        format!("erasures:   {}", r.erasures),
        format!("copied:     {} blocks, {} of them for wear", r.blocks_copied, r.blocks_relocated),
        format!("waf:        {:.4}", r.waf),
        format!(
            "wear:       {} to {} erases a segment, mean {:.2}, standard deviation {:.2}",
            r.wear_min, r.wear_max, r.wear_mean, r.wear_stddev
        ),
        format!("victims:    {:.1} % live on average", r.victim_utilization_mean * 100.0),
        format!(
            "time:       read {}, program {}, erase {} ({})",
            seconds(r.time.read_ns),
            seconds(r.time.program_ns),
            seconds(r.time.erase_ns),
            p.chip
        ),
    ];
    if let Some((life, endurance)) = r.lifetime.as_ref().zip(p.endurance) {
        let when = |bytes: Option<u64>| bytes.map_or("never".to_owned(), text::size);
        lines.push(format!(
            "lifetime:   first segment dead after {}, 1 % after {}, no room after {} (endurance {endurance})",
            when(life.first_death_bytes),
            when(life.one_percent_bytes),
            when(life.exhausted_bytes),
        ));
    }
    if let Some(found) = &r.read_only {
        let (blocks, copied) = (found.read_only_blocks, found.read_only_copied);
        lines.push(format!("read-only:  {blocks} blocks, copied {copied} times"));
    }
    if let Some((queue, rate)) = r.queue.as_ref().zip(p.rate_per_second) {
        lines.push(format!(
            "response:   mean {}, longest {} at {rate} requests a second",
            seconds(queue.response_mean_ns),
            seconds(queue.response_max_ns),
        ));
    }
    lines
}

fn seconds(ns: u64) -> String {
    format!("{}.{:03} s", ns / 1_000_000_000, ns / 1_000_000 % 1000)
}

/// A column: its name, its width, its contents.
type Column = (&'static str, usize, fn(&Record) -> String);

/// The columns that may vary.
const ASKED: [Column; 9] = [
    ("access", 28, |r| r.parameters.access.clone()),
    ("flash", 9, |r| text::size(r.parameters.flash_bytes)),
    ("segment", 9, |r| text::size(r.parameters.segment_bytes)),
    ("block", 9, |r| text::size(r.parameters.block_bytes)),
    ("alpha", 7, |r| format!("{:.4}", r.parameters.alpha)),
    ("victim", 16, |r| r.parameters.victim.clone()),
    ("placement", 12, |r| r.parameters.placement.clone()),
    ("wear", 12, |r| r.parameters.wear.clone()),
    ("seed", 5, |r| r.parameters.seed.to_string()),
];

/// The columns of results.
const FOUND: [Column; 5] = [
    ("erasures", 10, |r| r.erasures.to_string()),
    ("copied", 11, |r| r.blocks_copied.to_string()),
    ("waf", 8, |r| format!("{:.4}", r.waf)),
    ("wear sd", 8, |r| format!("{:.2}", r.wear_stddev)),
    ("most", 6, |r| r.wear_max.to_string()),
];

/// Many runs, one a line: the varying parameters, and the results.
pub(super) struct Table {
    columns: Vec<Column>,
}

impl Table {
    pub(super) fn new(setups: &[Setup]) -> Table {
        let varies = |of: fn(&Setup) -> String| setups.iter().map(of).collect::<BTreeSet<_>>().len() > 1;
        let asked = [
            varies(|s| s.access.to_string()),
            varies(|s| format!("{:?}", s.store.flash)),
            varies(|s| s.store.segment.to_string()),
            varies(|s| s.store.block.to_string()),
            varies(|s| format!("{:?}", s.store.room)),
            varies(|s| s.victim.to_string()),
            varies(|s| s.placement.to_string()),
            varies(|s| s.wear.to_string()),
            varies(|s| s.seed.to_string()),
        ];
        let asked = ASKED.into_iter().zip(asked).filter(|(_, varies)| *varies).map(|(column, _)| column);
        Table { columns: asked.chain(FOUND).collect() }
    }

    pub(super) fn head(&self) -> String {
        self.line(|(name, ..)| (*name).to_owned())
    }

    pub(super) fn row(&self, record: &Record) -> String {
        self.line(|(_, _, show)| show(record))
    }

    /// Figures to the right, words to the left.
    fn line(&self, cell: impl Fn(&Column) -> String) -> String {
        let cells = self.columns.iter().map(|column| {
            let (name, width, _) = column;
            let text = cell(column);
            match *name {
                "access" | "victim" | "placement" | "wear" => format!("{text:<width$}"),
                _ => format!("{text:>width$}"),
            }
        });
        cells.collect::<Vec<_>>().join(" ").trim_end().to_owned()
    }
}
