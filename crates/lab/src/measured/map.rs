//! Requests to a disk, as a map of time and address.

use serde::{Deserialize, Serialize};

use crate::{
    files::float,
    requests::{Kind, Request},
};

/// Columns, each a part of the running time, and rows, each a part of the disk.
const COLUMNS: usize = 160;
const ROWS: usize = 64;
/// Bytes of a block, and of a MiB.
const BLOCK: u64 = 4096;
const MIB: u64 = 1 << 20;

/// Reads, writes and discards of a disk, by place and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestMap {
    /// Seconds of device time from the first column to the last.
    pub seconds: f64,
    /// MiB of the disk.
    pub mib: u64,
    /// A line for each part of the disk, the first blocks first; in it a digit for each part of the time: 1 for read, 2 for
    /// written, 4 for discarded, added up.
    pub rows: Vec<String>,
}

impl RequestMap {
    /// The map of requests between two times, on a disk of so many blocks of 4 KiB.
    pub fn new(requests: &[Request], blocks: u64, [begin_ns, end_ns]: [u64; 2]) -> RequestMap {
        let mut cells = vec![vec![b'0'; COLUMNS]; ROWS];
        for request in requests {
            let bit = match request.kind {
                Kind::Read => 1,
                Kind::Write => 2,
                Kind::Discard => 4,
            };
            let column = part(request.at_ns - begin_ns, end_ns - begin_ns, COLUMNS);
            let [first, end] =
                [request.first, request.first + request.blocks].map(|at| part(at, blocks, ROWS));
            let rows = cells.iter_mut().skip(first).take(end - first + 1);
            // The digit of a bit is the bit in a digit.
            rows.filter_map(|row| row.get_mut(column)).for_each(|cell| *cell |= bit);
        }
        let row = |cells: Vec<u8>| cells.into_iter().map(char::from).collect();
        let rows = cells.into_iter().map(row).collect();
        RequestMap { seconds: float(end_ns - begin_ns) / 1e9, mib: blocks * BLOCK / MIB, rows }
    }
}

/// The part of `parts` that a place is in; the end of the whole is in the last.
fn part(at: u64, whole: u64, parts: usize) -> usize {
    debug_assert!(whole > 0 && at <= whole, "{at} of {whole}");
    (0..parts - 1).take_while(|part| at * parts as u64 >= whole * (*part as u64 + 1)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_stand_at_their_time_and_place() {
        let request = |kind, first, blocks, at_ns| Request { kind, first, blocks, at_ns };
        let requests = [
            request(Kind::Write, 0, 1, 1000),
            request(Kind::Read, 0, 1, 1000),
            request(Kind::Discard, 32_000, 32_000, 9000),
        ];
        let map = RequestMap::new(&requests, 64_000, [1000, 9000]);
        assert_eq!((map.mib, map.rows.len(), map.rows[0].len()), (250, ROWS, COLUMNS));
        assert_eq!((&map.rows[0][..2], &map.rows[1][..2]), ("30", "00"));
        let end = |row: usize| &map.rows[row][COLUMNS - 2..];
        assert_eq!([end(31), end(32), end(63)], ["00", "04", "04"]);
    }
}
