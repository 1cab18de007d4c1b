//! Full volumes in Linux and here: no call that Linux has room for is refused here.

use std::{fmt::Write, fs::File, os::unix::fs::FileExt};

use pumice_media::ReadAt;
use xtask::{Machine, f2fs};

use super::*;

/// The calls that are done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Done {
    moved: usize,
    linked: usize,
    removed: usize,
    /// Until one is refused.
    made: usize,
}

const CALLS: usize = 60;
/// More than there is room for.
const MADE_MAX: usize = 2000;

const LINUX: &str = "
exercise() {
    mount -t f2fs -o noatime $1 /mnt
    cd /mnt
    ls | head -n 60 >/first
    moved=0; linked=0; removed=0; made=0
    while read -r name; do if mv \"$name\" \"moved $name\"; then moved=$((moved + 1)); fi; done </first
    one=$(ls | head -n 1)
    i=0
    while [ $i -lt 60 ]; do if ln \"$one\" \"link $i\"; then linked=$((linked + 1)); fi; i=$((i + 1)); done
    for name in link*; do rm \"$name\"; done
    while read -r name; do if rm \"moved $name\"; then removed=$((removed + 1)); fi; done </first
    while [ $made -lt 2000 ] && mkfifo \"made $made\"; do made=$((made + 1)); done
    cd /
    umount /mnt
    echo $moved $linked $removed $made >/host/$2
}
";

fn by_linux(machine: &Machine, images: &[Arc<dyn ReadAt>]) -> Vec<Done> {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (mut script, mut paths) = (LINUX.to_owned(), Vec::new());
    for (number, image) in images.iter().enumerate() {
        let path = dir.path().join(number.to_string());
        let mut bytes = vec![0; usize::try_from(image.bytes()).unwrap()];
        image.read_at(0, &mut bytes).unwrap();
        File::create(&path).unwrap().write_all_at(&bytes, 0).unwrap();
        paths.push(path);
        let letter = char::from(b'a' + u8::try_from(number).unwrap());
        writeln!(script, "exercise /dev/vd{letter} {number}").unwrap();
    }
    let run = f2fs::run_in_kernel(machine, &paths, &script).unwrap();
    let counts = |number: usize| -> Vec<usize> {
        let said = run.file(&number.to_string()).unwrap();
        said.split_whitespace().map(|word| word.parse().unwrap()).collect()
    };
    let done = |counts: &[usize]| match *counts {
        [moved, linked, removed, made] => Done { moved, linked, removed, made },
        _ => panic!("{counts:?}"),
    };
    (0..images.len()).map(|number| done(&counts(number))).collect()
}

fn by_ours(full: &Full) -> Done {
    let (fs, names) = (full.fs(), full.model.keys().cloned().collect::<Vec<_>>());
    let first = &names[..names.len().min(CALLS)];
    let moved = |name: &Vec<u8>| [b"moved ", name.as_slice()].concat();
    let rename =
        |name: &&Vec<u8>| fs.rename(Ino::ROOT, name, Ino::ROOT, &moved(name), RenameMode::Replace).is_ok();
    let mut done = Done { moved: first.iter().filter(rename).count(), ..Done::default() };
    let one = fs.lookup(Ino::ROOT, &moved(&first[0])).unwrap().ino;
    let links = (0..CALLS).map(|number| format!("link {number}").into_bytes());
    let links: Vec<_> = links.filter(|name| fs.link(one, Ino::ROOT, name).is_ok()).collect();
    done.linked = links.len();
    for name in &links {
        fs.unlink(Ino::ROOT, name).unwrap();
    }
    done.removed = first.iter().filter(|name| fs.unlink(Ino::ROOT, &moved(name)).is_ok()).count();
    let made = |number: &usize| {
        fs.create(Ino::ROOT, format!("made {number}").as_bytes(), &node(FileKind::Fifo)).is_ok()
    };
    done.made = (0..MADE_MAX).take_while(made).count();
    done
}

#[test]
fn nothing_is_refused_that_linux_has_room_for() {
    let Some(machine) = Machine::for_test() else { return };
    let mut of_data = Full::new(64 << 20, &Shape::default(), options, 3);
    of_data.fill();
    let mut of_names = Full::new(64 << 20, &Shape::default(), options, 4);
    of_names.fill_with_names();
    let mut fulls = [of_data, of_names];
    fulls.iter_mut().for_each(Full::remount);
    let images: Vec<Arc<dyn ReadAt>> = fulls.iter().map(|full| Arc::new(full.live.image()) as _).collect();
    for (full, theirs) in fulls.iter().zip(by_linux(&machine, &images)) {
        let ours = by_ours(full);
        eprintln!("here {ours:?}, Linux {theirs:?}");
        assert!(
            ours.moved >= theirs.moved
                && ours.linked >= theirs.linked
                && ours.removed >= theirs.removed
                && ours.made >= theirs.made,
            "here {ours:?}, Linux {theirs:?}"
        );
    }
}
