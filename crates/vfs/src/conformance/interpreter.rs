//! Applies operations to the subject and to the model, and compares every answer.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;

use super::compare::{compare_attr, compare_trees_with, same};
use super::excuses::excuses;
use super::op::{Name, Op, Pick, Pool};
use super::perform::{Answer, compare_answers, perform};
use super::regions::{check_seek, compare_content};
use super::stream::Stream;
use super::{Leeway, Subject, TestClock};
use crate::model::MemFs;
use crate::{Errno, FileKind, FileSystem, FsError, Ino};

type Outcome = Result<(), String>;

/// An inode on both sides.
#[derive(Clone, Copy)]
struct Pair {
    model: Ino,
    subject: Ino,
    kind: FileKind,
}

pub(super) struct Interpreter<'a> {
    subject: Box<dyn Subject + 'a>,
    model: MemFs,
    clock: TestClock,
    leeway: Leeway,
    /// All inodes that are alive, the root first.
    pairs: Vec<Pair>,
    to_subject: BTreeMap<Ino, Ino>,
    /// Numbers and generations that the subject has given to inodes.
    born: BTreeSet<(Ino, u32)>,
    holds: Vec<Pair>,
    stream: Option<Stream>,
    /// Operations that the subject refused for want of space.
    pub(super) refused: u64,
}

impl<'a> Interpreter<'a> {
    pub(super) fn new(make: &dyn Fn(&TestClock) -> Box<dyn Subject + 'a>) -> Interpreter<'a> {
        let clock = TestClock::new();
        let subject = make(&clock);
        let leeway = subject.leeway();
        Interpreter {
            subject,
            model: MemFs::with_size(clock.clock(), MemFs::BLOCK_BYTES, u64::MAX),
            clock,
            leeway,
            pairs: Vec::from([Pair { model: Ino::ROOT, subject: Ino::ROOT, kind: FileKind::Dir }]),
            to_subject: BTreeMap::from([(Ino::ROOT, Ino::ROOT)]),
            born: BTreeSet::new(),
            holds: Vec::new(),
            stream: None,
            refused: 0,
        }
    }

    /// Makes the root's attributes and times those of the model, whoever made the file system and when.
    pub(super) fn start(&mut self) -> Outcome {
        let moment = self.clock.now();
        let change = crate::SetAttr {
            perm: Some(0o755),
            uid: Some(0),
            gid: Some(0),
            size: None,
            atime: Some(moment),
            mtime: Some(moment),
            ctime: Some(moment),
        };
        told("setting up the root", self.subject.fs().set_attr(Ino::ROOT, &change))?;
        told("setting up the root", self.model.set_attr(Ino::ROOT, &change))?;
        self.verify_pairs(&self.pairs)
    }

    pub(super) fn apply(&mut self, op: &Op) -> Outcome {
        self.clock.tick();
        let mut touched = Vec::new();
        match op {
            Op::Release { index } => self.release(*index)?,
            Op::Remount => self.remount()?,
            Op::Space => self.space()?,
            Op::Maintain => told("maintain", self.subject.fs().maintain()).map(drop)?,
            Op::Seek { file, offset, what } => self.seek(*file, *offset, *what)?,
            Op::StreamOpen { dir } => {
                let dir = self.pick(*dir);
                self.stream = Stream::open(&self.model, dir.model, dir.subject);
            }
            Op::StreamStep { count } => self.stream_step(*count)?,
            _ => touched = self.call(op)?,
        }
        if !op.changes_names() {
            return self.verify_pairs(&touched);
        }
        self.prune()?;
        self.stream = self.stream.take().and_then(|mut stream| stream.update(&self.model).then_some(stream));
        self.verify_pairs(&self.pairs)
    }

    /// Ends a run: compares the trees, and the files that have no name any more.
    pub(super) fn finish(&self) -> Outcome {
        self.verify_pairs(&self.pairs)?;
        compare_trees_with(&self.model, self.subject.fs(), self.leeway)?;
        for pair in self.pairs.iter().filter(|pair| pair.kind == FileKind::File) {
            self.verify_content(*pair)?;
        }
        Ok(())
    }

    /// One call on both sides; returns the inodes that it mentions.
    fn call(&mut self, op: &Op) -> Result<Vec<Pair>, String> {
        let touched = RefCell::new(Vec::new());
        let find = |pick: Pick| {
            touched.borrow_mut().push(self.pick(pick));
            self.pick(pick).subject
        };
        let find_model = |pick: Pick| self.pick(pick).model;
        if self.is_unspecified(op) {
            return Ok(Vec::new());
        }
        // The subject goes first: the model need not do things that the subject has no space for.
        let subject = perform(self.subject.fs(), op, &find);
        let touched = touched.take();
        if op.may_need_space() && errno(&subject) == Some(Errno::NoSpace) {
            self.refused += 1;
            for pair in touched.iter().filter(|pair| pair.kind == FileKind::File) {
                self.verify_content(*pair)?;
            }
            return Ok(touched);
        }
        let excused = if subject.is_err() { excuses(op, &self.model, &find_model) } else { Vec::new() };
        let model = perform(&self.model, op, &find_model);
        match (model, subject) {
            (Ok(model), Ok(subject)) => self.agree(op, &model, &subject)?,
            (Err(model), Err(subject)) => {
                let accepted = subject.errno() == model.errno() || excused.contains(&subject.errno());
                if !accepted {
                    return Err(format!("the model fails with {model:?}, the subject with {subject:?}"));
                }
            }
            (model, subject) => return Err(format!("the model says {model:?}, the subject {subject:?}")),
        }
        if let Op::Hold { .. } = op {
            self.holds.extend_from_slice(&touched);
        }
        Ok(touched)
    }

    fn agree(&mut self, op: &Op, model: &Answer, subject: &Answer) -> Outcome {
        if let (Op::Create { .. }, Answer::Attr(model), Answer::Attr(subject)) = (op, model, subject) {
            if !self.born.insert((subject.ino, subject.generation)) {
                return Err(format!("inode {:?} was there before, with the same generation", subject.ino));
            }
            if let Some(pair) = self.pairs.iter().find(|pair| pair.subject == subject.ino) {
                return Err(format!("inode {:?} is taken, by a {:?}", subject.ino, pair.kind));
            }
            self.pairs.push(Pair { model: model.ino, subject: subject.ino, kind: model.kind });
            self.to_subject.insert(model.ino, subject.ino);
        }
        compare_answers(model, subject, &|ino| self.to_subject.get(&ino).copied(), self.leeway)
    }

    /// True for `.` and `..` in a directory that is removed but open: the contract leaves them open.
    fn is_unspecified(&self, op: &Op) -> bool {
        let dir = match op {
            Op::Parent { dir } => dir,
            Op::Lookup { dir, name } if [Name::DOT, Name::DOT_DOT].contains(name) => dir,
            _ => return false,
        };
        self.model.attr(self.pick(*dir).model).is_ok_and(|attr| attr.nlink == 0)
    }

    fn pick(&self, pick: Pick) -> Pair {
        let fits = |pair: &&Pair| match pick.pool {
            Pool::Dirs => pair.kind == FileKind::Dir,
            Pool::Files => pair.kind == FileKind::File,
            Pool::Any => true,
        };
        let count = self.pairs.iter().filter(fits).count().max(1);
        self.pairs.iter().filter(fits).nth(usize::from(pick.index) % count).copied().unwrap_or(self.pairs[0])
    }

    fn release(&mut self, index: u8) -> Outcome {
        if self.holds.is_empty() {
            return Ok(());
        }
        let pair = self.holds.swap_remove(usize::from(index) % self.holds.len());
        told("release", self.subject.fs().release(pair.subject))?;
        told("release by the model", self.model.release(pair.model))
    }

    fn remount(&mut self) -> Outcome {
        self.holds.clear();
        self.stream = None;
        told("remount", self.subject.remount())?;
        self.model.remount();
        compare_trees_with(&self.model, self.subject.fs(), self.leeway)
            .map_err(|what| format!("after the remount: {what}"))
    }

    fn space(&self) -> Outcome {
        let space = told("space", self.subject.fs().space())?;
        let sound = space.free_bytes <= space.total_bytes
            && space.free_inodes <= space.inodes
            && space.block_bytes > 0
            && (1..=255).contains(&space.name_max);
        if sound { Ok(()) } else { Err(format!("{space:?} makes no sense")) }
    }

    fn seek(&self, file: Pick, offset: u64, what: crate::Seek) -> Outcome {
        let pair = self.pick(file);
        let answer = self.subject.fs().seek(pair.subject, offset, what);
        if pair.kind == FileKind::File {
            return check_seek(&answer, what, offset, (&self.model, pair.model));
        }
        same("error", &errno(&self.model.seek(pair.model, offset, what)), &errno(&answer))
    }

    fn stream_step(&mut self, count: u8) -> Outcome {
        let Some(mut stream) = self.stream.take() else { return Ok(()) };
        if stream.step(self.subject.fs(), count)? {
            self.stream = Some(stream);
        }
        Ok(())
    }

    /// Forgets the inodes that the model has lost, and checks that the subject has lost them too.
    fn prune(&mut self) -> Outcome {
        let (alive, gone): (Vec<Pair>, Vec<Pair>) =
            self.pairs.iter().partition(|pair| self.model.attr(pair.model).is_ok());
        self.pairs = alive;
        for pair in gone {
            self.to_subject.remove(&pair.model);
            let subject = self.subject.fs().attr(pair.subject);
            if errno(&subject) != Some(Errno::Stale) {
                return Err(format!("inode {:?} should be gone: {subject:?}", pair.subject));
            }
        }
        Ok(())
    }

    fn verify_pairs(&self, pairs: &[Pair]) -> Outcome {
        for pair in pairs.iter().filter(|pair| self.to_subject.contains_key(&pair.model)) {
            let model = told("attr by the model", self.model.attr(pair.model))?;
            let subject = told("attr", self.subject.fs().attr(pair.subject))?;
            let leeway = Leeway { no_btime: self.leeway.no_btime || pair.model == Ino::ROOT, ..self.leeway };
            compare_attr(&model, &subject, leeway)
                .map_err(|what| format!("afterwards, inode {:?}: {what}", pair.subject))?;
        }
        Ok(())
    }

    fn verify_content(&self, pair: Pair) -> Outcome {
        let size = told("attr by the model", self.model.attr(pair.model))?.size;
        compare_content((&self.model, pair.model), (self.subject.fs(), pair.subject), size)
            .map_err(|what| format!("content of inode {:?}: {what}", pair.subject))
    }
}

fn errno<T>(result: &Result<T, FsError>) -> Option<Errno> {
    result.as_ref().err().map(FsError::errno)
}

fn told<T>(what: &str, result: Result<T, FsError>) -> Result<T, String> {
    result.map_err(|error| format!("{what}: {error}"))
}
