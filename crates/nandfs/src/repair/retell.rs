//! Directories rebuilt from tags, brought up to date by records of names.

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use hashbrown::HashMap;
use pumice_vfs::FileKind;

use super::scan::Scan;
use super::told::Tale;
use super::work::{Name, Repair};
use crate::addr::Addr;
use crate::files::Files;
use crate::log::Log;

impl Files {
    /// Gives inodes that were found by their tags the later attributes in records. Unreadable ones are given up by a
    /// later walk.
    pub(super) fn replay_attributes(&mut self, log: &mut Log<'_>, scan: &Scan) {
        for (seq, record) in &scan.told.records {
            let is_older = |ino: u32| scan.nodes.get(&ino).is_some_and(|copy| copy.seq < *seq);
            for directory in record.directories.iter().filter(|directory| is_older(directory.ino)) {
                if let Ok(inode) = self.inode_mut(log, directory.ino)
                    && inode.kind == FileKind::Dir
                {
                    directory.put_in(inode);
                }
            }
            for link in record.links.iter().filter(|link| link.nlink > 0 && is_older(link.ino)) {
                if let Ok(inode) = self.inode_mut(log, link.ino) {
                    inode.ctime = link.ctime;
                }
            }
        }
    }
}

impl Repair<'_> {
    /// Brings the names of a directory that was found by its tags up to date with the records; `seqs` has the time when
    /// each present name was written.
    pub(super) fn retell(&mut self, dir: u32, names: &mut Vec<Name>, seqs: &HashMap<Vec<u8>, u64>) {
        let Some(scan) = self.scan.as_ref().filter(|scan| scan.nodes.contains_key(&dir)) else { return };
        let Some(promised) = scan.told.names.get(&dir).cloned() else { return };
        let mut renamed = Vec::new();
        for (bytes, Tale { seq, meaning, born }) in &promised {
            let place = names.iter().position(|name| name.bytes == *bytes);
            let since = match place {
                Some(_) => seqs.get(bytes).copied(),
                None => self.absent_since(dir, bytes),
            };
            if since.is_some_and(|since| since > *seq) {
                continue;
            }
            let told = meaning.map(|(ino, kind)| Name { bytes: bytes.clone(), ino, kind, born: *born });
            match (place.and_then(|place| names.get_mut(place)), &told) {
                (None, None) => continue,
                (Some(there), Some(told)) if there == told => continue,
                (Some(there), Some(told)) => there.clone_from(told),
                (Some(_), None) => names.retain(|name| name.bytes != *bytes),
                (None, Some(told)) => names.push(told.clone()),
            }
            renamed.push((bytes.clone(), *meaning));
        }
        for (bytes, meaning) in renamed {
            let shown = String::from_utf8_lossy(&bytes).into_owned();
            self.tell("name", format!("name {shown:?} in directory {dir}: as fsync promised it"));
            self.tree.torn.insert(dir);
            if let Some((ino, kind)) = meaning
                && self.nodes.contains_key(&ino)
                && let Ok(inode) = self.files.inode_mut(&mut self.log, ino)
                && inode.kind == kind
            {
                (inode.name, inode.parent) = (bytes, dir);
            }
        }
    }

    /// The time when each name in these parts of a directory was written, by the place of its bucket; nothing where
    /// directories are not rebuilt.
    pub(super) fn written(&self, dir: u32, bucket: Option<Addr>) -> Option<u64> {
        let scan = self.scan.as_ref()?;
        match bucket {
            Some(addr) => scan.buckets.get(&addr.page).copied(),
            None => scan.nodes.get(&dir).map(|copy| copy.seq),
        }
    }

    /// Inodes that records call gone.
    pub(super) fn gone(&self) -> BTreeSet<u32> {
        let Some(scan) = &self.scan else { return BTreeSet::new() };
        let nodes = scan.nodes.iter().filter(|(nid, copy)| scan.told.is_gone(**nid, copy.seq));
        nodes.map(|(nid, _)| *nid).collect()
    }
}
