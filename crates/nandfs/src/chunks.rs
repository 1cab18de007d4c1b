//! Chunks on their way into the log: each is counted, and its pointer follows where it goes.

use pumice_vfs::{Result, Timestamp};

use crate::addr::Addr;
use crate::files::Files;
use crate::log::Log;
use crate::nodes::Nodes;
use crate::pages::META;
use crate::tag::{ChunkKind, Desc};

impl Log<'_> {
    /// Adds a chunk to the log and counts it.
    pub(crate) fn append(&mut self, files: &mut Files, head: usize, desc: Desc, data: &[u8]) -> Result<Addr> {
        let addr = self.pages.append(head, desc, data)?;
        self.apply_events(files)?;
        self.blocks.add(&mut self.pages, addr)?;
        Ok(addr)
    }

    /// Programs the chunks gathered by a head.
    pub(crate) fn program(&mut self, files: &mut Files, head: usize, time: Option<Timestamp>) -> Result<()> {
        self.pages.program(head, time)?;
        self.apply_events(files)
    }

    /// Programs the chunks gathered by all heads.
    pub(crate) fn program_all(&mut self, files: &mut Files) -> Result<()> {
        (0..self.pages.head_count()).try_for_each(|head| self.program(files, head, None))
    }

    /// Keeps all pages programmed so far from risk, before a promise of nodes that point at them.
    pub(crate) fn keep_written(&mut self, files: &mut Files) -> Result<()> {
        for head in 0..self.pages.head_count() {
            if self.pages.is_risky(head) {
                self.program(files, head, None)?;
            }
        }
        self.pages.keep();
        Ok(())
    }

    /// Takes note of events of blocks and leads pointers to chunks that moved.
    pub(crate) fn apply_events(&mut self, files: &mut Files) -> Result<()> {
        if !self.pages.has_events() {
            return Ok(());
        }
        for (desc, from, to) in self.blocks.observe(&mut self.pages)? {
            if self.live(files, &desc)? == from {
                self.repoint(files, &desc, to)?;
                self.blocks.add(&mut self.pages, to)?;
                self.blocks.release(&mut self.pages, from)?;
            }
        }
        Ok(())
    }

    /// The place of the newest chunk of this name; none if there is no such thing any more.
    pub(crate) fn live(&mut self, files: &mut Files, desc: &Desc) -> Result<Addr> {
        match desc.kind {
            ChunkKind::Data | ChunkKind::Packed => {
                // The id may since belong to an index node.
                let exists =
                    files.nodes.addr(&mut self.pages, desc.id)?.is_stored() || files.nodes.has(desc.id);
                if exists && files.nodes.is_inode(&mut self.pages, desc.id)? {
                    files.map_get(self, desc.id, desc.index)
                } else {
                    Ok(Addr::NONE)
                }
            }
            ChunkKind::Node => files.nodes.addr(&mut self.pages, desc.id),
            // Nobody points at a record: recovery finds it; nor at a rest, which goes with its chunk.
            ChunkKind::Names | ChunkKind::Rest => Ok(Addr::NONE),
            ChunkKind::NodeTable => files.nodes.table.addr_of(&mut self.pages, (level(desc), desc.index)),
            ChunkKind::BlockTable => self.blocks.table.addr_of(&mut self.pages, (level(desc), desc.index)),
        }
    }

    /// Leads the pointer to a live chunk to its new place.
    pub(crate) fn repoint(&mut self, files: &mut Files, desc: &Desc, to: Addr) -> Result<()> {
        match desc.kind {
            ChunkKind::Data | ChunkKind::Packed => files.map_put(self, desc.id, desc.index, to).map(|_| ()),
            ChunkKind::Node => {
                files.nodes.set_addr(desc.id, to);
                Ok(())
            }
            ChunkKind::Names | ChunkKind::Rest => Ok(()),
            ChunkKind::NodeTable => {
                files.nodes.table.set_addr(&mut self.pages, (level(desc), desc.index), to)
            }
            ChunkKind::BlockTable => {
                self.blocks.table.set_addr(&mut self.pages, (level(desc), desc.index), to)
            }
        }
    }

    /// Writes one node to the log.
    pub(crate) fn write_node(&mut self, files: &mut Files, nid: u32) -> Result<()> {
        let Some((bytes, owner)) = files.nodes.take_bytes(nid, files.packer.usual) else {
            return Ok(());
        };
        let addr = self.append(files, META, Nodes::desc(nid, owner, bytes.len()), &bytes)?;
        let old = files.nodes.addr(&mut self.pages, nid)?;
        self.release(old)?;
        files.nodes.written(nid, old, addr);
        Ok(())
    }
}

fn level(desc: &Desc) -> u8 {
    u8::try_from(desc.id).unwrap_or(u8::MAX)
}
