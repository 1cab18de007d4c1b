//! Pages written since the checkpoint, found by the headers of segments and the tags of pages; all pages, if there is
//! no checkpoint.

use crate::error::Result;
use crate::gaps::Gaps;
use crate::head::Head;
use crate::log::Log;
use crate::replaying::{Replay, Replayed};
use crate::segment::State;
use crate::server::Server;
use crate::survey::{Known, Surveyed, Surveyor};
use crate::trust::{Range, Sure};

impl Server<'_> {
    /// Takes in the pages of a range. Nothing is written.
    pub(crate) fn recover(&mut self, range: Range) -> Result<Replayed> {
        Replay::new(&mut self.log, &mut self.map, range).run()
    }
}

impl Replay<'_, '_> {
    /// Takes in the pages of the range. Nothing is written.
    fn run(mut self) -> Result<Replayed> {
        let heads = self.log.heads.take_all(|_| true);
        self.touched.extend(heads.iter().map(|head| (0, head.block)));
        let mut latest: Option<Surveyed> = None;
        for block in self.log.may_be_written(&heads) {
            let head = heads.iter().find(|head| head.block == block);
            let Some(found) = self.survey_for(block, head)? else { continue };
            let is_older = latest.as_ref().is_some_and(|latest| latest.last > found.last);
            let older = if is_older { Some(found) } else { latest.replace(found) };
            older.map_or(Ok(()), |older| self.take_segment(older, None))?;
        }
        latest.map_or(Ok(()), |latest| self.take_latest(latest))?;
        if self.range.trust.sure < Sure::Alone {
            let alone = self.find_alone()?;
            self.log.aftermath.unsure.note_alone(alone);
        }
        self.take_gaps()
    }

    /// The contents of a segment written since the checkpoint; `head` if it was one. The state of others is set.
    fn survey_for(&mut self, block: u32, head: Option<&Head>) -> Result<Option<Surveyed>> {
        let segment = self.log.segments.get(block);
        let is_of_log = !matches!(segment.state, State::Bad | State::Anchor | State::Checkpoint);
        let mut own_gaps = Gaps::default();
        let is_left_out = self.range.without == Some(block);
        let may_be_gone =
            self.log.recorded.record.opened.as_ref().is_none_or(|opened| opened.contains(&block));
        let known = head.map(|head| Known { contents: &head.contents, may_be_gone });
        let found = match is_of_log && !is_left_out {
            true => {
                let leaves_out_last = self.leaves_out_last(block);
                let mut surveyor = Surveyor { leaves_out_last, ..self.log.surveyor() };
                surveyor.survey(block, &segment, self.range.since, known, &mut own_gaps)?
            }
            false => None,
        };
        let void = self.log.recorded.identity.void;
        let is_void = |found: &Surveyed| void.block == block && found.last < void.sequence;
        if is_left_out || found.as_ref().is_some_and(is_void) {
            self.log.segments.change(block, |segment| segment.state = State::Free);
            return Ok(None);
        }
        self.gaps.places.append(&mut own_gaps.places);
        for mut tail in own_gaps.tails {
            // It may have been erased since the checkpoint, and opened again.
            let is_same = |head: &&Head| !may_be_gone || tail.first == head.contents.first();
            tail.know(head.filter(is_same).map_or(0, |head| head.index));
            self.gaps.tails.push(tail);
        }
        if found.is_none() && is_of_log {
            // Closed, because the page behind the last may have been touched.
            self.log.close_head(block, head.map(|head| head.index));
        }
        Ok(found)
    }
}

impl Log<'_> {
    /// Closes a head that nothing was written to since.
    pub(crate) fn close_head(&mut self, block: u32, index: Option<u32>) {
        let Some(used) = index.and_then(|index| u16::try_from(index).ok()) else { return };
        let now = self.clock;
        self.segments.change(block, |segment| {
            (segment.state, segment.used) = (State::Sealed, used);
            (segment.sealed, segment.changed) = (now, now);
        });
    }
}
