//! The sizes of requests to a disk (F2FS paper, 3.2.2).

use std::collections::HashSet;

use super::Figure;
use crate::{
    files::float,
    requests::{Kind, Request},
};

/// KiB of a block.
const KIB: u64 = 4;
/// Blocks of requests that the paper calls large: 512 KiB, in blocks of 4 KiB.
const LARGE: u64 = 128;
/// Discards below 256 KiB are small there.
const SMALL: u64 = 64;

/// The number of requests and their sizes; blocks have 4 KiB.
pub fn request_figures(requests: &[Request]) -> Vec<(Figure, f64)> {
    let of = |kind| requests.iter().filter(move |request| request.kind == kind);
    let [writes, discards] = [Kind::Write, Kind::Discard].map(|kind| of(kind).count() as u64);
    let mut figures = vec![(Figure::Writes, float(writes)), (Figure::Discards, float(discards))];
    if writes > 0 {
        let large = of(Kind::Write).filter(|request| request.blocks >= LARGE).count() as u64;
        let written = of(Kind::Write).map(|request| request.blocks).sum::<u64>();
        figures.push((Figure::WriteMean, float(written * KIB) / float(writes)));
        figures.push((Figure::WritesLarge, 100.0 * float(large) / float(writes)));
        let [written, discarded] = [Kind::Write, Kind::Discard].map(|kind| touched(of(kind)));
        let both = written.intersection(&discarded).count() as u64;
        figures.push((Figure::DiscardedShare, 100.0 * float(both) / float(written.len() as u64)));
    }
    if discards > 0 {
        let small = of(Kind::Discard).filter(|request| request.blocks < SMALL).count() as u64;
        figures.push((Figure::DiscardsSmall, 100.0 * float(small) / float(discards)));
    }
    figures
}

/// The blocks that requests are about.
fn touched<'a>(requests: impl Iterator<Item = &'a Request>) -> HashSet<u64> {
    requests.flat_map(|request| request.first..request.first + request.blocks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: Kind, first: u64, blocks: u64) -> Request {
        Request { kind, first, blocks, at_ns: 0 }
    }

    #[test]
    fn sizes_are_counted() {
        let requests = [
            request(Kind::Write, 0, 1),
            request(Kind::Write, 100, 128),
            request(Kind::Write, 100, 1),
            request(Kind::Write, 300, 10),
            request(Kind::Read, 0, 500),
            request(Kind::Discard, 90, 63),
            request(Kind::Discard, 400, 64),
        ];
        let found = request_figures(&requests);
        for (figure, wanted) in [
            (Figure::Writes, 4.0),
            (Figure::Discards, 2.0),
            (Figure::WritesLarge, 25.0),
            (Figure::WriteMean, 140.0),
            // Of 139 blocks written 100 to 152 were discarded later.
            (Figure::DiscardedShare, 100.0 * 53.0 / 139.0),
            (Figure::DiscardsSmall, 50.0),
        ] {
            let (_, value) = found.iter().find(|(known, _)| *known == figure).unwrap();
            assert!((value - wanted).abs() < 1e-9, "{figure:?} is {value}");
        }
        assert_eq!(request_figures(&[]).len(), 2, "nothing to divide by");
    }
}
