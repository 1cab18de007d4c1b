//! Repairs of the NAT: each entry names the block of its node, and that block names the node.

use super::{bench::Bench, field, strays::Strays};
use crate::{
    check::{Code, Cure, Finding, Object},
    error::Result,
    layout::{BlockAddr, Inode, NatEntry, Nid, NodeFooter},
};

/// Numbers that the volume keeps for itself, and the address that stands there.
pub(super) const HIDDEN: [(u32, u32); 3] = [(0, 0), (1, 1), (2, 1)];

/// Mends one finding.
pub(super) fn mend(bench: &Bench, strays: &Strays, finding: &Finding) -> Result<()> {
    match (finding.code, finding.object, finding.cure) {
        (Code::NatAddress, Object::Node(nid), _) => address(bench, strays, nid),
        (Code::NodeFooter, Object::Node(nid), _) => footer(bench, strays, nid),
        (Code::NatInode, Object::Node(nid), _) => inode(bench, strays, nid),
        (Code::NodeMissing, Object::Node(nid), Cure::Reference { ino, .. }) => {
            restore(bench, strays, nid, |footer| footer.ino == ino).map(|_| ())
        }
        (Code::DentryInode, _, Cure::Number(ino)) => {
            let ino = Nid(field(ino)?);
            restore(bench, strays, ino, NodeFooter::is_inode).map(|_| ())
        }
        (Code::Inode, Object::Inode(ino), _) if !bench.nat(ino)?.is_used() => {
            restore(bench, strays, ino, NodeFooter::is_inode).map(|_| ())
        }
        (Code::BlockUnreadable, Object::Block(addr), _) => unreadable(bench, addr),
        _ => Ok(()),
    }
}

/// Gives a number the stray node that bears it, if there is one; true if so.
fn restore(bench: &Bench, strays: &Strays, nid: Nid, fits: impl Fn(&NodeFooter) -> bool) -> Result<bool> {
    let Some((addr, footer)) = strays.node(nid).filter(|(_, footer)| fits(footer)) else { return Ok(false) };
    let version = bench.nat(nid)?.version;
    bench.set_nat(nid, NatEntry { version, ino: footer.ino, addr })?;
    Ok(true)
}

fn free(bench: &Bench, nid: Nid) -> Result<()> {
    let entry = bench.nat(nid)?;
    bench.set_nat(nid, NatEntry { addr: BlockAddr::NULL, ..entry })
}

fn address(bench: &Bench, strays: &Strays, nid: Nid) -> Result<()> {
    if let Some((_, addr)) = HIDDEN.iter().find(|(number, _)| *number == nid.0) {
        let entry = bench.nat(nid)?;
        return bench.set_nat(nid, NatEntry { addr: BlockAddr(*addr), ..entry });
    }
    if restore(bench, strays, nid, |_| true)? { Ok(()) } else { free(bench, nid) }
}

/// The NAT has a node where another stands, or one of another inode.
fn footer(bench: &Bench, strays: &Strays, nid: Nid) -> Result<()> {
    let entry = bench.nat(nid)?;
    let Some(footer) = NodeFooter::of(&bench.draft.read(entry.addr)?) else { return Ok(()) };
    if footer.nid == nid {
        let by_footer = if nid == footer.ino {
            is_inode(bench, nid, entry.addr)
        } else {
            nid != entry.ino
                && is_there(bench, footer.ino)
                && (names(bench, footer.ino, nid) || !names(bench, entry.ino, nid))
        };
        if by_footer {
            return bench.set_nat(nid, NatEntry { ino: footer.ino, ..entry });
        }
        return bench.edit_footer(entry.addr, |footer| footer.ino = entry.ino);
    }
    if restore(bench, strays, nid, |_| true)? {
        return Ok(());
    }
    // The summary tells whose block it is, or the rest of the footer, unless that node knows better.
    let owner = bench.volume.summary(entry.addr)?;
    let is_anothers = bench.nat(footer.nid)?.addr == entry.addr;
    let is_own = owner.is_some_and(|owner| owner.nid == nid) || footer.ino == entry.ino;
    if is_own && !is_anothers {
        return bench.edit_footer(entry.addr, |footer| (footer.nid, footer.ino) = (nid, entry.ino));
    }
    free(bench, nid)
}

/// The NAT has a node of an inode that is not there.
fn inode(bench: &Bench, strays: &Strays, nid: Nid) -> Result<()> {
    let entry = bench.nat(nid)?;
    let footer = bench.draft.read(entry.addr).ok().and_then(|block| NodeFooter::of(&block));
    match footer.filter(|footer| footer.nid == nid) {
        Some(footer) if footer.ino != entry.ino && (footer.ino == nid || is_there(bench, footer.ino)) => {
            bench.set_nat(nid, NatEntry { ino: footer.ino, ..entry })
        }
        Some(_) => restore(bench, strays, entry.ino, NodeFooter::is_inode).map(|_| ()),
        None if restore(bench, strays, nid, |_| true)? => Ok(()),
        None => free(bench, nid),
    }
}

/// True if the NAT has an inode of this number.
fn is_there(bench: &Bench, ino: Nid) -> bool {
    bench.nat(ino).is_ok_and(|entry| entry.is_used() && entry.ino == ino)
}

/// A node that cannot be read is none, and a block of names neither.
fn unreadable(bench: &Bench, addr: BlockAddr) -> Result<()> {
    let Some(owner) = bench.volume.summary(addr)? else { return Ok(()) };
    if bench.nat(owner.nid)?.addr == addr {
        return free(bench, owner.nid);
    }
    if bench.pointer(owner.nid, owner.offset) == Some(addr) {
        bench.set_pointer(owner.nid, owner.offset, BlockAddr::NULL)?;
    }
    Ok(())
}

/// True if the block is one of an inode.
fn is_inode(bench: &Bench, ino: Nid, addr: BlockAddr) -> bool {
    let (size, features) = (bench.volume.block_size(), bench.volume.features());
    bench.draft.read(addr).is_ok_and(|block| Inode::from_block(ino, &block, size, features).is_ok())
}

/// True if an inode names a node itself.
fn names(bench: &Bench, ino: Nid, nid: Nid) -> bool {
    bench.inode(ino).is_some_and(|(inode, block)| inode.nids(&block).contains(&nid) || inode.xattr_nid == nid)
}
