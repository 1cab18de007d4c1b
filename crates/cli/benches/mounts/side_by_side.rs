//! A mount beside a pass-through, in turns, on the same file system of the host.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    median,
    mounts::{self, Mount},
    run,
};

const TURNS: usize = 5;

/// Figures of one run in a fresh mount: more is better.
pub(crate) struct Part {
    /// The options of the mount.
    pub(crate) options: &'static str,
    /// Each with its unit.
    pub(crate) figures: &'static [(&'static str, &'static str)],
    pub(crate) measure: fn(&Path) -> Vec<f64>,
}

/// The place of written files on both.
pub(crate) struct Place {
    pub(crate) image: PathBuf,
    tree: PathBuf,
    make: fn(&Path),
}

impl Place {
    /// A place in a folder; `make` makes an empty volume that has all blocks of its image.
    pub(crate) fn new(folder: &Path, make: fn(&Path)) -> Place {
        let tree = folder.join("tree");
        fs::create_dir_all(&tree).unwrap();
        Place { image: folder.join("image"), tree, make }
    }

    /// An empty volume, and an empty tree; nothing waits to be written by the host.
    pub(crate) fn renew(&self) {
        (self.make)(&self.image);
        fs::remove_dir_all(&self.tree).unwrap();
        fs::create_dir(&self.tree).unwrap();
        run(Command::new("sync").arg("-f").arg(&self.image));
    }

    /// Prints the figures of both, of the parts that one of the words names, or of all if there is none; false if there is
    /// no pass-through.
    pub(crate) fn compare(&self, title: &str, parts: &[Part], wanted: f64, words: &[&String]) -> bool {
        let folder = self.tree.parent().unwrap();
        let Some(peer) = mounts::pass_through(folder, &self.tree, &self.tree) else {
            println!(
                "SKIPPED: libfuse's passthrough_ll cannot be built: libfuse3-dev and a C compiler are needed"
            );
            return false;
        };
        println!("| {title} | pumice | passthrough_ll | ratio | wanted |");
        println!("|---|---|---|---|---|");
        let named = |part: &&Part| words.is_empty() || words.iter().any(|word| part.is(word));
        for part in parts.iter().filter(named) {
            let mut rates = [const { Vec::new() }; 2];
            let own = mounts::pumice_to_write(&self.image, part.options);
            for _ in 0..TURNS {
                for (server, rates) in [&own, &peer].into_iter().zip(&mut rates) {
                    self.renew();
                    let mount = Mount::new(server);
                    rates.push((part.measure)(mount.dir()));
                }
            }
            for (at, (name, unit)) in part.figures.iter().enumerate() {
                let [own, peer] =
                    rates.each_ref().map(|turns| median(turns.iter().map(|rates| rates[at]).collect()));
                println!("| {name}, {unit} | {own:.0} | {peer:.0} | {:.2} | {wanted:.2} |", own / peer);
            }
        }
        true
    }
}

impl Part {
    /// True if a word on the command line asks for it.
    fn is(&self, word: &str) -> bool {
        self.figures.iter().any(|(name, _)| name.contains(word))
    }
}
