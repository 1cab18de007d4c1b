//! Section 4.6: garbage collection, round robin.
//!
//! A victim's spare areas name the owners of its blocks; the index says whether they are live. Data moves to the end of
//! the log; metadata is marked to be written anew. Victims are free with the next checkpoint, for until then the last
//! one needs their blocks.

use pumice_vfs::Result;

use super::Volume;
use crate::layout::Addr;
use crate::spare::{Kind, Owner};

/// Victims of one round.
const AT_ONCE_MAX: u32 = 64;

impl Volume<'_> {
    /// Cleans some erase blocks and makes a checkpoint; false if there is no room to begin.
    pub(super) fn clean(&mut self) -> Result<bool> {
        let layout = self.layout();
        let at_once = (layout.log_blocks() / 8).clamp(2, AT_ONCE_MAX);
        let mut cleaned = Vec::new();
        for _ in 0..at_once {
            let behind = cleaned.last().copied();
            let Some(victim) = self.index.log().victim(behind)? else { break };
            if cleaned.contains(&victim) {
                break;
            }
            let live = self.live_blocks(victim)?;
            // Where a power cut came in the middle of cleaning, victims are dead already, and little is free.
            let owners: Vec<Owner> = live.iter().map(|(owner, _)| *owner).collect();
            // A cut in the middle leaves less room than there was: more than one victim leaves enough to begin again.
            let spare = if cleaned.is_empty() { layout.slots() / 2 } else { self.reserve() / 2 };
            let need = self.index.needs_with(&owners).saturating_add(spare);
            if self.index.shared_log().free() < need {
                break;
            }
            for (owner, at) in live {
                self.save(owner, at)?;
            }
            cleaned.push(victim);
        }
        if cleaned.is_empty() {
            return Ok(false);
        }
        self.checkpoint_with(&cleaned, false)?;
        Ok(true)
    }

    /// The live blocks of an erase block.
    fn live_blocks(&mut self, block: u32) -> Result<Vec<(Owner, Addr)>> {
        let layout = self.layout();
        let mut live = Vec::new();
        for slot in 0..layout.slots() {
            let at = layout.addr(block, slot);
            if let Some(owner) = self.index.log().flash().read_owner(at)?
                && self.index.address(owner)? == at
            {
                live.push((owner, at));
            }
        }
        Ok(live)
    }

    /// Saves a live block of a victim, unless an earlier one has moved it.
    fn save(&mut self, owner: Owner, at: Addr) -> Result<()> {
        if self.index.address(owner)? != at {
            return Ok(());
        }
        match owner.kind {
            Kind::Data | Kind::Dir => self.move_block(owner, at),
            // An unreadable block moves as it is.
            _ => self.index.renew(owner).or_else(|_| self.move_block(owner, at)),
        }
    }

    fn move_block(&mut self, owner: Owner, at: Addr) -> Result<()> {
        let log = self.index.log();
        let (bytes, proved) = log.flash().read_any(at)?;
        let to = match proved {
            Some((found, _)) if found == owner => log.append(owner, &bytes)?,
            _ => log.append_unproved(owner, &bytes)?,
        };
        self.index.set_address(owner, to)
    }
}
