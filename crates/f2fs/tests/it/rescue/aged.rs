//! Volumes that were written to, mounted and unmounted many times, so that most segments were used before.

use std::sync::Arc;

use pumice_vfs::{FileKind, FileSystem, Ino, RenameMode, SetAttr};

use super::{each_loss, rescued};
use crate::writable::{
    compressed::SHAPE,
    policy::{POLICIES, key},
    subject::{Card, Shape, node},
    tree::tree,
};

const BYTES: u64 = 48 << 20;

/// A volume under way: its directories, and the names of all else.
struct Life {
    random: fastrand::Rng,
    dirs: Vec<Ino>,
    files: Vec<(Ino, Vec<u8>)>,
    count: u64,
}

impl Life {
    fn new(seed: u64) -> Life {
        let random = fastrand::Rng::with_seed(seed);
        Life { random, dirs: vec![Ino::ROOT], files: Vec::new(), count: 0 }
    }

    fn dir(&mut self) -> Ino {
        self.dirs[self.random.usize(..self.dirs.len())]
    }

    /// A new name, or one that was used before.
    fn name(&mut self) -> Vec<u8> {
        self.count += 1;
        format!("name {}", if self.random.u8(..) < 64 { self.random.u64(..self.count) } else { self.count })
            .into()
    }

    /// Some calls. A full volume loses files until it has room.
    fn live(&mut self, fs: &dyn FileSystem, calls: usize) {
        for _ in 0..calls {
            let (dir, name) = (self.dir(), self.name());
            let done = match self.random.u8(..20) {
                0 if self.dirs.len() < 20 => {
                    fs.create(dir, &name, &node(FileKind::Dir)).map(|attr| self.dirs.push(attr.ino))
                }
                0..8 => self.write(fs, dir, name),
                8..12 => self.change(fs),
                12..14 => self.rename(fs, dir, name),
                14 => self.link(fs, dir, name),
                _ => self.remove(fs),
            };
            if done.is_err_and(|error| error.errno() == pumice_vfs::Errno::NoSpace) {
                (0..20).for_each(|_| drop(self.remove(fs)));
            }
            if self.random.u8(..) < 4 {
                fs.sync().unwrap();
            }
        }
    }

    fn write(&mut self, fs: &dyn FileSystem, dir: Ino, name: Vec<u8>) -> pumice_vfs::Result<()> {
        let file = fs.create(dir, &name, &node(FileKind::File))?;
        self.files.push((dir, name));
        let most = [3_000, 40_000, 400_000][self.random.usize(..3)];
        fs.write(file.ino, 0, &vec![self.random.u8(1..); self.random.usize(..most)])
    }

    fn one(&mut self) -> Option<(Ino, Vec<u8>)> {
        let at = self.random.usize(..self.files.len().max(1));
        self.files.get(at).cloned()
    }

    fn change(&mut self, fs: &dyn FileSystem) -> pumice_vfs::Result<()> {
        let Some((dir, name)) = self.one() else { return Ok(()) };
        let file = fs.lookup(dir, &name)?;
        if self.random.bool() {
            let size = Some(self.random.u64(..file.size + 2));
            return fs.set_attr(file.ino, &SetAttr { size, ..SetAttr::default() }).map(drop);
        }
        let at = self.random.u64(..file.size + 5000);
        fs.write(file.ino, at, &vec![self.random.u8(1..); self.random.usize(..20_000)])?;
        fs.fsync(file.ino, false)
    }

    fn rename(&mut self, fs: &dyn FileSystem, to: Ino, new: Vec<u8>) -> pumice_vfs::Result<()> {
        let Some((dir, name)) = self.one() else { return Ok(()) };
        fs.rename(dir, &name, to, &new, RenameMode::Replace)?;
        self.files.retain(|file| *file != (dir, name.clone()) && *file != (to, new.clone()));
        self.files.push((to, new));
        Ok(())
    }

    fn link(&mut self, fs: &dyn FileSystem, to: Ino, new: Vec<u8>) -> pumice_vfs::Result<()> {
        let Some((dir, name)) = self.one() else { return Ok(()) };
        fs.link(fs.lookup(dir, &name)?.ino, to, &new)?;
        self.files.push((to, new));
        Ok(())
    }

    fn remove(&mut self, fs: &dyn FileSystem) -> pumice_vfs::Result<()> {
        let Some((dir, name)) = self.one() else { return Ok(()) };
        self.files.retain(|file| *file != (dir, name.clone()));
        fs.unlink(dir, &name)
    }
}

/// A card with a life of so many sessions behind it.
pub(super) fn aged(shape: &Shape, seed: u64, sessions: usize) -> Card {
    let mut card = Card::new(BYTES, shape);
    let mut life = Life::new(seed);
    for _ in 0..sessions {
        life.live(card.fs(), 300);
        card.close();
    }
    card
}

#[test]
fn aged_volumes_come_back_whole() {
    let encrypted = |policy| Shape { features: &["encrypt"], policy: Some(policy), ..Shape::PLAIN };
    let shapes = [Shape::PLAIN, SHAPE, encrypted(&POLICIES[0]), encrypted(&POLICIES[6])];
    for (seed, shape) in (1..).zip(shapes) {
        let mut card = aged(&shape, seed, 8);
        let wanted = tree(card.fs());
        card.close();
        let bytes = Arc::new(card.disk().bytes_now());
        for parts in each_loss() {
            let rescue = rescued(&bytes, parts, key());
            let found = tree(rescue.volume());
            let wrong: Vec<_> =
                wanted.iter().filter(|(path, record)| found.get(*path) != Some(record)).collect();
            assert!(
                wrong.is_empty() && found.len() == wanted.len(),
                "seed {seed} without {parts:?}: {} of {} differ: {:?}",
                wrong.len(),
                wanted.len(),
                wrong.iter().map(|(path, _)| path).take(9).collect::<Vec<_>>()
            );
            // A name that fsync promised may have been taken away again behind the same checkpoint.
            let found = rescue.found();
            assert!(
                found.missing == 0 && found.guessed < 10,
                "seed {seed} without {parts:?}: {}",
                found.guessed
            );
        }
    }
}
