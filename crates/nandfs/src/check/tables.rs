//! The pages of the node table and the block table.

use alloc::{format, vec::Vec};

use pumice_vfs::Result;

use super::Check;
use crate::addr::Addr;
use crate::pages::Pages;
use crate::table::Table;

/// Memory for pages of a table while it is walked, in bytes.
const CACHE: usize = 1 << 20;

/// A page of a table: level, index, place, and whether it could be read.
struct Page {
    level: u8,
    index: u32,
    addr: Addr,
    read: Result<()>,
}

/// Hands out every page from the roots down; returns the leaves that could be read.
fn walk<const E: usize>(table: &mut Table<E>, pages: &mut Pages<'_>, mut each: impl FnMut(Page)) -> Vec<u32> {
    let mut row: Vec<u32> = (0..).take(table.roots.len()).collect();
    for level in (0..table.height).rev() {
        let mut below = Vec::new();
        for index in row {
            let addr = table.addr_of(pages, (level, index)).unwrap_or(Addr::NONE);
            if addr == Addr::NONE {
                continue;
            }
            let read = table.page(pages, (level, index)).map(|_| ());
            match &read {
                Ok(()) if level == 0 => below.push(index),
                Ok(()) => below.extend(children(index, table.per_inner())),
                Err(_) => {}
            }
            each(Page { level, index, addr, read });
            table.trim(CACHE);
        }
        row = below;
    }
    if table.height == 0 { Vec::new() } else { row }
}

fn children(index: u32, per_inner: u32) -> impl Iterator<Item = u32> {
    (0..per_inner).filter_map(move |slot| index.checked_mul(per_inner)?.checked_add(slot))
}

impl Check<'_, '_> {
    /// Walks the node table; returns its leaves.
    pub(super) fn node_table(&mut self) -> Vec<u32> {
        let mut found = Vec::new();
        let (nodes, pages) = (&mut self.files.nodes, &mut self.log.pages);
        let leaves = walk(&mut nodes.table, pages, |page| found.push(page));
        self.table_pages("node", found);
        leaves
    }

    /// Walks the block table.
    pub(super) fn block_table(&mut self) {
        let mut found = Vec::new();
        let (blocks, pages) = (&mut self.log.blocks, &mut self.log.pages);
        walk(&mut blocks.table, pages, |page| found.push(page));
        self.table_pages("block", found);
    }

    fn table_pages(&mut self, name: &str, pages: Vec<Page>) {
        for Page { level, index, addr, read } in pages {
            if self.is_possible(addr) {
                self.count(addr);
            }
            if let Err(error) = read {
                self.complete = false;
                let text = format!("page {index} of level {level} of the {name} table: {error}");
                self.found.add("table-page", text);
            }
        }
    }
}
