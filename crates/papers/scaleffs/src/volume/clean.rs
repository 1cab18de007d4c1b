//! Section 4.6: garbage collection, round robin.
//!
//! A victim's spare areas say whose its blocks are; the index says whether they are live. Data moves to the end of the log;
//! metadata is marked to be written anew. Victims are free with the next checkpoint, for until then the last one needs
//! what is in them.

use pumice_media::Nand;
use pumice_vfs::Result;

use super::Volume;
use crate::layout::Addr;
use crate::spare::{Kind, Owner};

/// Victims of one round.
const AT_ONCE_MAX: u32 = 64;

impl<N: Nand> Volume<N> {
    /// Cleans some erase blocks and makes a checkpoint; false if there is no room to begin.
    pub(super) fn clean(&mut self) -> Result<bool> {
        let layout = self.layout();
        let at_once = (layout.log_blocks() / 8).clamp(2, AT_ONCE_MAX);
        let mut cleaned = Vec::new();
        for _ in 0..at_once {
            let need = self.index.checkpoint_needs().saturating_add(layout.slots() * 6);
            if self.index.shared_log().free() < need {
                break;
            }
            let behind = cleaned.last().copied();
            let Some(victim) = self.index.log().victim(behind)? else { break };
            if cleaned.contains(&victim) {
                break;
            }
            for slot in 0..layout.slots() {
                self.clean_block(layout.addr(victim, slot))?;
            }
            cleaned.push(victim);
        }
        if cleaned.is_empty() {
            return Ok(false);
        }
        self.checkpoint_with(&cleaned, false)?;
        Ok(true)
    }

    /// Saves one block of a victim if it is live.
    fn clean_block(&mut self, at: Addr) -> Result<()> {
        let Some(owner) = self.index.log().flash().read_owner(at)? else { return Ok(()) };
        if self.index.address(owner)? != at {
            return Ok(());
        }
        match owner.kind {
            Kind::Data | Kind::Dir => self.move_block(owner, at),
            // What cannot be read moves as it is.
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
