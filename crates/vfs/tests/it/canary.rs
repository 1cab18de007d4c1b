//! File systems that are broken on purpose: the random suite must find out, and tell it in few operations.

use std::cell::Cell;

use pumice_vfs::conformance::{Failure, Subject, TestClock, run_random};
use pumice_vfs::model::MemFs;
use pumice_vfs::{
    Attr, DirEntry, Errno, FileSystem, Ino, NewNode, RenameMode, Result, Seek, SetAttr, SpaceInfo, SpaceMode,
    XattrMode,
};

/// The defect, which shows now and then only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    WriteLosesLastByte,
    UnlinkForgotten,
    LinkKeepsChangeTime,
    ReaddirSkipsEntry,
    HoleOverData,
    TruncateLeavesTail,
    ExchangeLosesParent,
    HoldIgnored,
    RefusedWriteHasEffect,
    RemountLosesXattr,
}

struct Broken {
    inner: MemFs,
    fault: Fault,
    calls: Cell<u32>,
}

impl Broken {
    /// Whether the fault strikes in this call: in every third that it could.
    fn strikes(&self, fault: Fault) -> bool {
        if self.fault != fault {
            return false;
        }
        self.calls.set(self.calls.get() + 1);
        self.calls.get().is_multiple_of(3)
    }
}

impl Subject for Broken {
    fn fs(&self) -> &dyn FileSystem {
        self
    }

    fn remount(&mut self) -> Result<()> {
        self.inner.remount();
        if self.fault == Fault::RemountLosesXattr {
            for (_, attr) in pumice_vfs::conformance::walk(&self.inner)? {
                for name in self.inner.list_xattr(attr.ino)? {
                    self.inner.remove_xattr(attr.ino, &name)?;
                }
            }
        }
        Ok(())
    }
}

impl FileSystem for Broken {
    fn space(&self) -> Result<SpaceInfo> {
        self.inner.space()
    }

    fn attr(&self, ino: Ino) -> Result<Attr> {
        self.inner.attr(ino)
    }

    fn set_attr(&self, ino: Ino, change: &SetAttr) -> Result<Attr> {
        let before = self.inner.attr(ino)?;
        let after = self.inner.set_attr(ino, change)?;
        if self.fault == Fault::TruncateLeavesTail && after.size < before.size {
            // The rest of a block behind a truncation, when nobody clears it.
            self.inner.write(ino, after.size, &[0xee])?;
            let restored = SetAttr {
                size: Some(before.size),
                mtime: Some(after.mtime),
                ctime: Some(after.ctime),
                ..SetAttr::default()
            };
            self.inner.set_attr(ino, &restored)?;
        }
        Ok(after)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
        self.inner.lookup(dir, name)
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let parent = self.inner.parent(dir)?;
        let moved = self.calls.get() >= 3 && self.fault == Fault::ExchangeLosesParent;
        Ok(if moved { Ino::ROOT } else { parent })
    }

    fn readlink(&self, ino: Ino) -> Result<Vec<u8>> {
        self.inner.readlink(ino)
    }

    fn create(&self, dir: Ino, name: &[u8], node: &NewNode<'_>) -> Result<Attr> {
        self.inner.create(dir, name, node)
    }

    fn link(&self, ino: Ino, dir: Ino, name: &[u8]) -> Result<Attr> {
        let before = self.inner.attr(ino)?;
        let after = self.inner.link(ino, dir, name)?;
        if self.strikes(Fault::LinkKeepsChangeTime) {
            return self.inner.set_attr(ino, &SetAttr { ctime: Some(before.ctime), ..SetAttr::default() });
        }
        Ok(after)
    }

    fn unlink(&self, dir: Ino, name: &[u8]) -> Result<()> {
        if self.strikes(Fault::UnlinkForgotten) { Ok(()) } else { self.inner.unlink(dir, name) }
    }

    fn rmdir(&self, dir: Ino, name: &[u8]) -> Result<()> {
        self.inner.rmdir(dir, name)
    }

    fn rename(&self, dir: Ino, name: &[u8], to_dir: Ino, to_name: &[u8], mode: RenameMode) -> Result<()> {
        self.inner.rename(dir, name, to_dir, to_name, mode)?;
        self.strikes(Fault::ExchangeLosesParent);
        Ok(())
    }

    fn hold(&self, ino: Ino) -> Result<()> {
        if self.fault == Fault::HoldIgnored { self.inner.attr(ino).map(drop) } else { self.inner.hold(ino) }
    }

    fn release(&self, ino: Ino) -> Result<()> {
        if self.fault == Fault::HoldIgnored { Ok(()) } else { self.inner.release(ino) }
    }

    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.inner.read(ino, offset, buffer)
    }

    fn write(&self, ino: Ino, offset: u64, data: &[u8]) -> Result<()> {
        if self.strikes(Fault::WriteLosesLastByte)
            && let Some((_, rest)) = data.split_last()
        {
            return self.inner.write(ino, offset, rest);
        }
        if self.strikes(Fault::RefusedWriteHasEffect) {
            self.inner.write(ino, offset, data)?;
            return Err(Errno::NoSpace.into());
        }
        self.inner.write(ino, offset, data)
    }

    fn allocate(&self, ino: Ino, mode: SpaceMode, offset: u64, length: u64) -> Result<()> {
        self.inner.allocate(ino, mode, offset, length)
    }

    fn seek(&self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        if what == Seek::Hole && offset < self.inner.attr(ino)?.size && self.strikes(Fault::HoleOverData) {
            return Ok(offset);
        }
        self.inner.seek(ino, offset, what)
    }

    fn fsync(&self, ino: Ino, data_only: bool) -> Result<()> {
        self.inner.fsync(ino, data_only)
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }

    fn readdir(&self, dir: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        let mut skip = cookie > 0 && self.strikes(Fault::ReaddirSkipsEntry);
        self.inner.readdir(dir, cookie, &mut |entry| core::mem::take(&mut skip) || each(entry))
    }

    fn xattr(&self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.inner.xattr(ino, name)
    }

    fn set_xattr(&self, ino: Ino, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.inner.set_xattr(ino, name, value, mode)
    }

    fn list_xattr(&self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        self.inner.list_xattr(ino)
    }

    fn remove_xattr(&self, ino: Ino, name: &[u8]) -> Result<()> {
        self.inner.remove_xattr(ino, name)
    }

    fn maintain(&self) -> Result<bool> {
        self.inner.maintain()
    }
}

fn run(fault: Fault) -> core::result::Result<(), Failure> {
    let make = |clock: &TestClock| -> Box<dyn Subject> {
        Box::new(Broken { inner: MemFs::new(clock.clock()), fault, calls: Cell::new(0) })
    };
    run_random(&make, 200, 250, 7).map(drop)
}

#[test]
fn sound_wrapper_passes() {
    run(Fault::None).unwrap();
}

#[test]
fn every_fault_is_found_and_told_shortly() {
    for fault in [
        Fault::WriteLosesLastByte,
        Fault::UnlinkForgotten,
        Fault::LinkKeepsChangeTime,
        Fault::ReaddirSkipsEntry,
        Fault::HoleOverData,
        Fault::TruncateLeavesTail,
        Fault::ExchangeLosesParent,
        Fault::HoldIgnored,
        Fault::RefusedWriteHasEffect,
        Fault::RemountLosesXattr,
    ] {
        let message = run(fault).expect_err(&format!("{fault:?} goes unnoticed")).to_string();
        let ops = message.lines().filter(|line| line.starts_with("    Op::")).count();
        assert!(message.contains("run_random(_, 200, 250, 7)"), "{message}");
        assert!((1..=20).contains(&ops), "{fault:?}: {message}");
    }
}
