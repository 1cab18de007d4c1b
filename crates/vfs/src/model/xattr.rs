//! Extended attributes.

use super::state::State;
use crate::{Errno, Ino, Result, Timestamp, XattrMode};

/// Longest name, in bytes, its namespace included.
const NAME_MAX: usize = 255;
/// Longest value, in bytes.
const VALUE_MAX: usize = 65_536;
const NAMESPACES: [&[u8]; 4] = [b"user.", b"trusted.", b"security.", b"system."];

impl State {
    pub(super) fn set_xattr(
        &mut self,
        ino: Ino,
        (name, value): (&[u8], &[u8]),
        mode: XattrMode,
        now: Timestamp,
    ) -> Result<()> {
        self.writable()?;
        check_xattr(name, value)?;
        let node = self.node_mut(ino)?;
        match (mode, node.xattrs.contains_key(name)) {
            (XattrMode::Create, true) => return Err(Errno::Exists.into()),
            (XattrMode::Replace, false) => return Err(Errno::NoData.into()),
            _ => {}
        }
        node.xattrs.insert(name.to_vec(), value.to_vec());
        node.meta.ctime = now;
        Ok(())
    }

    pub(super) fn remove_xattr(&mut self, ino: Ino, name: &[u8], now: Timestamp) -> Result<()> {
        self.writable()?;
        let node = self.node_mut(ino)?;
        node.xattrs.remove(name).ok_or(Errno::NoData)?;
        node.meta.ctime = now;
        Ok(())
    }
}

fn check_xattr(name: &[u8], value: &[u8]) -> Result<()> {
    if name.is_empty() || name.len() > NAME_MAX || value.len() > VALUE_MAX {
        return Err(Errno::Range.into());
    }
    let Some(space) = NAMESPACES.iter().find(|space| name.starts_with(space)) else {
        return Err(Errno::NotSupported.into());
    };
    if name.len() == space.len() || name.contains(&0) {
        return Err(Errno::Invalid.into());
    }
    Ok(())
}
