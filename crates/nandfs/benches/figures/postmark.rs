//! PostMark with the parameters of the CFFS paper (section 4): 500 files of 512 B to 60 KB, 1,000 transactions.
//!
//! As in PostMark 1.5 a transaction is a pair: create or delete, and read or append, each with equal chance. An append
//! adds a random number of bytes, up to the largest size of a file. At the end all files are deleted.

use fastrand::Rng;
use pumice_vfs::{FileSystem, Ino};

use crate::Figure;
use crate::chip::{Fs, create, during, formatted, mount, noise};

const LOW: u64 = 512;
const HIGH: u64 = 60_000;

struct PostMark<'a> {
    fs: &'a Fs,
    rng: Rng,
    files: Vec<(String, Ino, u64)>,
    made: u32,
}

impl PostMark<'_> {
    fn create(&mut self) {
        self.made += 1;
        let name = self.made.to_string();
        let ino = create(self.fs, &name);
        let bytes = self.rng.u64(LOW..=HIGH);
        self.fs.write(ino, 0, &noise(bytes as usize, bytes)).unwrap();
        self.files.push((name, ino, bytes));
    }

    fn delete(&mut self) {
        let (name, ..) = self.files.swap_remove(self.rng.usize(..self.files.len()));
        self.fs.unlink(Ino::ROOT, name.as_bytes()).unwrap();
    }

    fn read(&mut self) {
        let (_, ino, bytes) = self.rng.choice(&self.files).unwrap();
        let mut buffer = vec![0; *bytes as usize];
        self.fs.read(*ino, 0, &mut buffer).unwrap();
    }

    fn append(&mut self) {
        let place = self.rng.usize(..self.files.len());
        let (_, ino, bytes) = &mut self.files[place];
        let more = if *bytes < HIGH { self.rng.u64(1..=HIGH - *bytes) } else { 0 };
        self.fs.write(*ino, *bytes, &noise(more as usize, more)).unwrap();
        *bytes += more;
    }

    fn run(&mut self) {
        for _ in 0..500 {
            self.create();
        }
        for _ in 0..1000 {
            if self.rng.bool() {
                self.read();
            } else {
                self.append();
            }
            if self.rng.bool() { self.create() } else { self.delete() }
        }
        while !self.files.is_empty() {
            self.delete();
        }
        self.fs.sync().unwrap();
    }
}

pub(crate) fn figures() -> Vec<Figure> {
    let fs = mount(formatted("k9s1208", None));
    let mut run = PostMark { fs: &fs, rng: Rng::with_seed(42), files: Vec::new(), made: 0 };
    let did = during(&fs, || run.run());
    let info = fs.info().unwrap();
    let copied = info.copied_pages as f64 / (did.erases.max(1)) as f64;
    vec![
        Figure::at_most("PostMark, pages programmed", "pages", did.programs as f64, 68_000.0),
        Figure::at_most("PostMark, live pages copied per erase", "pages", copied, 0.06),
    ]
}
