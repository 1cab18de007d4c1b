//! Reading many blocks of the main area: sorted, and as many at once as stand close together.

use super::{codes::Code, findings::Object, worker::Worker, workers::share};
use crate::layout::BlockAddr;

/// Blocks that one job reads.
const BLOCKS_PER_JOB: usize = 256;
/// Blocks that one request covers.
const SPAN: u32 = 64;
/// Blocks between two wanted ones that are rather read than skipped.
const GAP: u32 = 4;

/// Reads the block of each item, which are sorted by address, and lets `look` see it.
pub(super) fn each_block<'a, T: Sync>(
    threads: usize,
    items: &[T],
    address: impl Fn(&T) -> BlockAddr + Sync,
    new: impl Fn() -> Worker<'a> + Sync,
    look: impl Fn(&mut Worker<'a>, &T, &[u8]) + Sync,
) -> Vec<Worker<'a>> {
    let jobs = items.len().div_ceil(BLOCKS_PER_JOB);
    share(threads, jobs, new, |worker, job| {
        let end = items.len().min((job + 1) * BLOCKS_PER_JOB);
        let mut rest = items.get(job * BLOCKS_PER_JOB..end).unwrap_or_default();
        while let Some(first) = rest.first().map(&address) {
            let count = close_together(rest, &address);
            let (now, later) = rest.split_at(count);
            read(worker, first, now, &address, &look);
            rest = later;
        }
    })
}

/// The number of items that can be read with one request.
fn close_together<T>(items: &[T], address: &impl Fn(&T) -> BlockAddr) -> usize {
    let Some(first) = items.first().map(address) else { return 0 };
    let mut last = first;
    items
        .iter()
        .take_while(|item| {
            let addr = address(item);
            let close = addr.0 - last.0 <= GAP && addr.0 - first.0 < SPAN;
            last = addr;
            close
        })
        .count()
}

fn read<'a, T>(
    worker: &mut Worker<'a>,
    first: BlockAddr,
    items: &[T],
    address: &impl Fn(&T) -> BlockAddr,
    look: &impl Fn(&mut Worker<'a>, &T, &[u8]),
) {
    let width = worker.volume.block_size().width();
    let span = items.last().map_or(0, |item| address(item).0 - first.0) + 1;
    let mut buffer = std::mem::take(&mut worker.buffer);
    buffer.resize(span as usize * width, 0);
    match worker.volume.read_blocks(first, &mut buffer) {
        Ok(()) => {
            for item in items {
                let at = (address(item).0 - first.0) as usize * width;
                look(worker, item, buffer.get(at..at + width).unwrap_or_default());
            }
        }
        Err(error) if items.len() <= 1 => {
            worker.findings.add(Code::BlockUnreadable, Object::Block(first), || error.to_string());
        }
        // One of them cannot be read: which?
        Err(_) => {
            worker.buffer = std::mem::take(&mut buffer);
            for item in items {
                read(worker, address(item), std::slice::from_ref(item), address, look);
            }
            return;
        }
    }
    worker.buffer = buffer;
}
