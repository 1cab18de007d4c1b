//! Where anchors and checkpoints are written and found again.
//!
//! The first erase blocks hold anchors, filled one after the other in a ring. An anchor names the block of the
//! checkpoints, an ordinary block that is filled and then left for another: so checkpoints wear no place out,
//! and finding the newest takes one look at each anchor block and two searches by halves (ScaleFFS, 4.5,
//! searches its fixed checkpoint region in the same two phases).

use alloc::{vec, vec::Vec};

use pumice_media::{Nand, NandError};
use pumice_vfs::FsError;

use crate::checkpoint_record::Checkpoint;
use crate::error::{Damage, device};
use crate::flash::{Flash, Peek};
use crate::log::{Log, ROOT_HEAD};
use crate::params::{ANCHOR_BLOCKS, Params};
use crate::superblock::Superblock;
use crate::tag::{ChunkKind, LogKind, Tag, desc};

/// Blocks of the window that a checkpoint may have taken before its anchor was written.
pub(crate) const DOUBTED: usize = 2;

/// A block and a page in it.
type Place = (u32, u32);

/// Makes the bytes of a checkpoint, told which block is being left for another.
pub(crate) type Encode<'a, N> = &'a mut dyn FnMut(&mut Log<N>, Option<u32>) -> Result<Vec<u8>, FsError>;

/// Where the next anchor and the next checkpoint go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Roots {
    /// Anchor block and the next page in it; the page may be past the end.
    anchor: (u32, u32),
    /// Checkpoint block and the next page in it; the page may be past the end.
    checkpoint: (u32, u32),
    /// The page behind the newest checkpoint. What lies between is torn, or nobody looked yet.
    behind: Option<u32>,
}

/// What mounting starts from.
pub(crate) struct Found {
    pub(crate) superblock: Superblock,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) roots: Roots,
}

/// The number of pages of a block that were programmed, by halves: pages are programmed in order.
fn programmed<N: Nand>(flash: &mut Flash<N>, params: &Params, block: u32) -> Result<u32, FsError> {
    let (mut low, mut high) = (0, params.pages_per_block);
    while low < high {
        let middle = u32::midpoint(low, high);
        if flash.peek(params.page(block, middle))? == Peek::Erased {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low)
}

/// A root that was found: what it says, the page behind it, and the number of pages used.
struct Newest<T> {
    root: T,
    behind: u32,
    used: u32,
}

/// The newest page of a block that proves itself to be a root of this log.
fn newest_root<N: Nand, T>(
    flash: &mut Flash<N>,
    params: &Params,
    block: u32,
    log: LogKind,
    read: impl Fn(&[u8]) -> Result<Option<T>, FsError>,
) -> Result<Option<Newest<T>>, FsError> {
    let used = programmed(flash, params, block)?;
    for index in (0..used).rev() {
        let Ok(page) = flash.read(params.page(block, index)) else { continue };
        if page.tag.log != log {
            continue;
        }
        if let Some(root) = read(&page.payload)? {
            return Ok(Some(Newest { root, behind: index + 1, used }));
        }
    }
    Ok(None)
}

/// Anchor blocks in use, newest first.
fn anchors<N: Nand>(flash: &mut Flash<N>, params: &Params) -> Result<Vec<u32>, FsError> {
    let mut found = Vec::new();
    for block in 0..ANCHOR_BLOCKS {
        if let Peek::Programmed(header) = flash.peek(params.page(block, 0))? {
            let seq = header.filter(|(log, _)| *log == LogKind::Anchor).map_or(0, |(_, seq)| seq);
            found.push((seq, block));
        }
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    Ok(found.into_iter().map(|(_, block)| block).collect())
}

/// Finds the newest anchor; `None` if the chip carries no such file system.
pub(crate) fn find_anchor<N: Nand>(
    flash: &mut Flash<N>,
    params: &Params,
) -> Result<Option<(Superblock, Place)>, FsError> {
    for block in anchors(flash, params)? {
        if let Some(Newest { root, used, .. }) =
            newest_root(flash, params, block, LogKind::Anchor, Superblock::decode)?
        {
            return Ok(Some((root, (block, used))));
        }
    }
    Ok(None)
}

/// Finds the newest anchor and the newest checkpoint.
pub(crate) fn find<N: Nand>(flash: &mut Flash<N>, params: &Params) -> Result<Found, FsError> {
    let Some((superblock, anchor)) = find_anchor(flash, params)? else {
        return Err(Damage::Root("no anchor on the chip: it holds no pumice file system").into());
    };
    let block = superblock.checkpoint_block;
    if block >= params.blocks {
        return Err(Damage::Root("the anchor names a checkpoint block outside the chip").into());
    }
    // An older one must not take its place: what that one points at may be gone.
    let damage = Damage::Root("the newest checkpoint has numbers that cannot be");
    let read = |bytes: &[u8]| Checkpoint::decode(bytes, params).ok_or(damage.into()).map(Some);
    let Some(newest) = newest_root(flash, params, block, LogKind::Checkpoint, read)? else {
        return Err(Damage::Root("no valid checkpoint in the block that the anchor names").into());
    };
    let roots = Roots { anchor, checkpoint: (block, newest.used), behind: Some(newest.behind) };
    Ok(Found { superblock, checkpoint: newest.root, roots })
}

impl Roots {
    /// Writes a checkpoint. Whoever mounts after this call returns finds it. Moving on to another block
    /// writes an anchor too; the block left is told to `encode` and reported back, empty now.
    pub(crate) fn write<N: Nand>(
        &mut self,
        log: &mut Log<N>,
        params: &Params,
        superblock: &mut Superblock,
        encode: Encode<'_, N>,
    ) -> Result<Option<u32>, FsError> {
        self.skip_torn(log, params)?;
        let (block, index) = self.checkpoint;
        if index < params.pages_per_block {
            let bytes = encode(log, None)?;
            self.checkpoint = (block, index + 1);
            let put = put(log, params, params.page(block, index), LogKind::Checkpoint, &bytes)?;
            if put == Put::Held {
                return Ok(None);
            }
            // A page that did not hold was touched by a power cut: the block itself is good.
            if put == Put::Failed {
                log.report_failing(block);
            }
        }
        let old = superblock.checkpoint_block;
        loop {
            let block = log.take_block(ROOT_HEAD.into())?;
            let bytes = encode(log, Some(old))?;
            if put(log, params, params.page(block, 0), LogKind::Checkpoint, &bytes)? == Put::Held {
                superblock.checkpoint_block = block;
                self.checkpoint = (block, 1);
                break;
            }
            log.report_failing(block);
        }
        self.write_anchor(log, params, superblock)?;
        Ok(Some(old))
    }

    /// Before the first write after a mount: a page that a power cut touched may have a tag that looks erased,
    /// so the next ones are read whole. A touched one ends its block: to skip it would leave a gap in which the
    /// search by halves goes astray. One that looks erased all over may still not hold what is written: that is
    /// read back, and goes elsewhere.
    pub(crate) fn skip_torn<N: Nand>(&mut self, log: &mut Log<N>, params: &Params) -> Result<(), FsError> {
        let Some(behind) = self.behind.take() else { return Ok(()) };
        for (block, index) in [&mut self.anchor, &mut self.checkpoint] {
            if *index < params.pages_per_block && !log.flash.is_blank(params.page(*block, *index))? {
                *index = params.pages_per_block;
            }
        }
        // The write that was cut may have gone on to a new block.
        if self.checkpoint.1 != behind || self.is_full(params) {
            log.doubt(DOUBTED);
        }
        Ok(())
    }

    fn write_anchor<N: Nand>(
        &mut self,
        log: &mut Log<N>,
        params: &Params,
        superblock: &Superblock,
    ) -> Result<(), FsError> {
        let bytes = superblock.encode();
        let (block, index) = self.anchor;
        self.anchor = (block, index + 1);
        if index < params.pages_per_block
            && put(log, params, params.page(block, index), LogKind::Anchor, &bytes)? == Put::Held
        {
            return Ok(());
        }
        for step in 1..ANCHOR_BLOCKS {
            let next = (block + step) % ANCHOR_BLOCKS;
            if log.flash.is_bad(next)? {
                continue;
            }
            match log.flash.erase(next) {
                Ok(()) => {}
                Err(NandError::EraseFailed(_)) => {
                    log.flash.mark_bad(next)?;
                    continue;
                }
                Err(error) => return Err(device(error)),
            }
            if put(log, params, params.page(next, 0), LogKind::Anchor, &bytes)? == Put::Held {
                self.anchor = (next, 1);
                return Ok(());
            }
        }
        Err(Damage::Root("no good anchor block is left").into())
    }

    /// True if the next checkpoint takes a new block.
    fn is_full(&self, params: &Params) -> bool {
        self.checkpoint.1 >= params.pages_per_block
    }

    /// The state of a chip on which the first anchor is about to be written.
    pub(crate) fn blank(params: &Params) -> Roots {
        let full = params.pages_per_block;
        Roots { anchor: (ANCHOR_BLOCKS - 1, full), checkpoint: (0, full), behind: None }
    }
}

/// What became of a root page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Put {
    Held,
    /// The chip says that the program failed.
    Failed,
    /// It cannot be read back.
    Lost,
}

/// Programs a root page and reads it back.
fn put<N: Nand>(
    log: &mut Log<N>,
    params: &Params,
    page: u32,
    kind: LogKind,
    bytes: &[u8],
) -> Result<Put, FsError> {
    let tag =
        Tag { log: kind, seq: log.seq, commit: None, descs: vec![desc(ChunkKind::Root, 0, 0, bytes.len())] };
    let mut payload = vec![0; params.payload as usize];
    let Some(place) = payload.get_mut(..bytes.len()) else {
        return Err(Damage::Root("a record does not fit its page").into());
    };
    place.copy_from_slice(bytes);
    log.seq += 1;
    match log.flash.program(page, &tag, &mut payload) {
        Ok(()) if log.flash.read(page).is_ok() => Ok(Put::Held),
        Ok(()) => Ok(Put::Lost),
        Err(NandError::ProgramFailed(_)) => Ok(Put::Failed),
        Err(error) => Err(device(error)),
    }
}
