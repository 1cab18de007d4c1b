//! Sends answers to the kernel.

use fuser::{Errno, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyStatfs, ReplyXattr};
use pumice_vfs::{Attr, SpaceInfo};

use crate::{
    attr::{NAME_TTL, View, generation},
    volume::Answer,
};

pub(crate) fn entry(reply: ReplyEntry, view: &View, answer: Answer<Attr>) {
    match answer {
        Ok(attr) => {
            reply.entry_with_ttls(&view.ttl, &NAME_TTL, &view.file_attr(&attr), generation(&attr));
        }
        Err(error) => reply.error(error),
    }
}

pub(crate) fn attr(reply: ReplyAttr, view: &View, answer: Answer<Attr>) {
    match answer {
        Ok(attr) => reply.attr(&view.ttl, &view.file_attr(&attr)),
        Err(error) => reply.error(error),
    }
}

pub(crate) fn empty(reply: ReplyEmpty, answer: Answer<()>) {
    match answer {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

pub(crate) fn data(reply: ReplyData, answer: Answer<Vec<u8>>) {
    match answer {
        Ok(data) => reply.data(&data),
        Err(error) => reply.error(error),
    }
}

/// A size of 0 asks how much there is; less room than that is an error.
pub(crate) fn xattr(reply: ReplyXattr, size: u32, answer: Answer<Vec<u8>>) {
    match answer {
        Ok(value) if size == 0 => reply.size(u32::try_from(value.len()).unwrap_or(u32::MAX)),
        Ok(value) if value.len() > size as usize => reply.error(Errno::ERANGE),
        Ok(value) => reply.data(&value),
        Err(error) => reply.error(error),
    }
}

pub(crate) fn statfs(reply: ReplyStatfs, answer: Answer<SpaceInfo>) {
    match answer {
        Ok(space) => {
            let block = u64::from(space.block_bytes.max(1));
            let (blocks, free) = (space.total_bytes / block, space.free_bytes / block);
            let unit = space.block_bytes.max(1);
            reply.statfs(blocks, free, free, space.inodes, space.free_inodes, unit, space.name_max, unit);
        }
        Err(error) => reply.error(error),
    }
}

/// Names as `listxattr(2)` returns them: each ended by a NUL.
pub(crate) fn names_with_nul(names: Vec<Vec<u8>>) -> Vec<u8> {
    let mut list = Vec::new();
    for name in names {
        list.extend_from_slice(&name);
        list.push(0);
    }
    list
}
