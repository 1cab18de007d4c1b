//! Superpages that ECC gives up on in parts: a byte comes back if no more superpages of its block lack it than there is
//! parity, whatever else they lack.

use alloc::{collections::BTreeSet, vec, vec::Vec};
use core::ops::Range;

use pumice_ecc::Repair;

use crate::shape::{Shape, TagPlace};
use crate::stripe::{CHECK, is_odd, word, word_bytes};

/// A page of the chip, as far as it can be read.
pub(super) struct Part {
    pub(super) data: Vec<u8>,
    pub(super) spare: Vec<u8>,
    /// The bytes that ECC gave up on, those of the spare area behind the data.
    pub(super) lost: Vec<Range<usize>>,
}

/// A superpage as parity sees it, as far as it can be read.
#[derive(Clone)]
pub(super) struct Partial {
    word: Vec<u8>,
    /// The bytes that cannot be read, in order.
    lost: Vec<Range<usize>>,
}

impl Partial {
    /// A superpage that can be read.
    pub(super) fn whole(word: Vec<u8>) -> Partial {
        Partial { word, lost: Vec::new() }
    }

    /// A superpage of which nothing can be read.
    pub(super) fn nothing(shape: &Shape) -> Partial {
        let bytes = word_bytes(shape);
        Partial { word: vec![0; bytes], lost: core::iter::once(0..bytes).collect() }
    }

    /// A superpage out of its parts, in order.
    pub(super) fn of(shape: &Shape, parts: Vec<Part>) -> Partial {
        let page_bytes = shape.chip_page_bytes();
        let (mut data, mut spare, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        for mut part in parts {
            for dead in part.lost {
                // The data of all parts comes before their spare areas.
                let in_data = dead.start.min(page_bytes)..dead.end.min(page_bytes);
                let in_spare = dead.start.max(page_bytes)..dead.end.max(page_bytes);
                let before = shape.data_bytes() + spare.len() - page_bytes;
                lost.push(data.len() + in_data.start..data.len() + in_data.end);
                lost.push(before + in_spare.start..before + in_spare.end);
            }
            data.append(&mut part.data);
            spare.append(&mut part.spare);
        }
        if shape.tag_place() == TagPlace::Page {
            spare = data.split_off(shape.payload());
        } else {
            spare.truncate(shape.head_bytes());
        }
        let lost = lost.into_iter().map(|lost| in_word(shape, &lost)).filter(|lost| !lost.is_empty());
        let mut lost: Vec<_> = lost.collect();
        lost.sort_unstable_by_key(|lost| lost.start);
        Partial { word: word(shape, &data, &spare), lost }
    }

    /// All of it, if it can be read.
    pub(super) fn word(&self) -> Option<&[u8]> {
        self.lost.is_empty().then_some(&*self.word)
    }

    /// The bytes that cannot be read, in order.
    pub(super) fn lost(&self) -> &[Range<usize>] {
        &self.lost
    }

    /// True if some of it can be read.
    pub(super) fn has_any(&self) -> bool {
        self.lost.iter().map(ExactSizeIterator::len).sum::<usize>() < self.word.len()
    }
}

/// True if some of these bytes are among the lost ones.
fn meets(lost: &[Range<usize>], bytes: &Range<usize>) -> bool {
    lost.iter().any(|lost| lost.start < bytes.end && bytes.start < lost.end)
}

/// Brings back one superpage of a block, run by run: the same superpages lack all bytes of a run.
pub(super) struct Runs {
    wanted: usize,
    runs: Vec<(Range<usize>, Repair)>,
}

impl Runs {
    /// The runs that superpage `wanted` lacks; `lost` is what each lacks, those of parity last.
    pub(super) fn of(lost: &[Vec<Range<usize>>], wanted: usize, parity: usize) -> Option<Runs> {
        let edges: BTreeSet<usize> = lost.iter().flatten().flat_map(|lost| [lost.start, lost.end]).collect();
        debug_assert!(edges.iter().all(|edge| edge.is_multiple_of(2)), "half a symbol is lost: {edges:?}");
        let it = lost.get(wanted)?;
        let runs = edges.iter().zip(edges.iter().skip(1)).map(|(start, end)| *start..*end);
        let runs = runs.filter(|run| meets(it, run));
        let runs = runs.map(|run| Some((run.clone(), Repair::new(parity, run.len()).ok()?)));
        Some(Runs { wanted, runs: runs.collect::<Option<_>>()? })
    }

    /// Takes the next superpage.
    pub(super) fn push(&mut self, known: &Partial) {
        for (run, repair) in &mut self.runs {
            let bytes = known.word.get(run.clone()).filter(|_| !meets(&known.lost, run));
            push(repair, bytes);
        }
    }

    /// The wanted superpage, of which the rest was read.
    pub(super) fn finish(self, rest: Partial) -> Option<Vec<u8>> {
        let mut word = rest.word;
        for (run, repair) in self.runs {
            let found = repair.finish().ok()?;
            let (_, bytes) = found.iter().find(|(at, _)| *at == self.wanted)?;
            word.get_mut(run)?.copy_from_slice(bytes);
        }
        Some(word)
    }
}

/// Takes the next page of a block. Lengths are those of the shape.
pub(super) fn push(repair: &mut Repair, known: Option<&[u8]>) {
    match known {
        Some(word) => {
            let pushed = repair.push(word);
            debug_assert!(pushed.is_ok(), "a word of another length: {pushed:?}");
        }
        None => repair.push_lost(),
    }
}

/// The bytes of a superpage's data and spare areas as parity sees them, whole symbols of two.
fn in_word(shape: &Shape, bytes: &Range<usize>) -> Range<usize> {
    let without_check = |at: usize| at - usize::from(is_odd(shape) && at > shape.payload() + CHECK);
    let end = without_check(bytes.end).next_multiple_of(2).min(word_bytes(shape));
    (without_check(bytes.start) & !1).min(end)..end
}
