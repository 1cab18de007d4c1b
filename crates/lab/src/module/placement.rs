//! A module as a placement.

use pumice_cleaning::{Class, Cleaned, Old, Placement, placement::MAX_CLASSES};

use super::{
    Instance, ModuleError,
    instance::{Copied, Function, Reclaimed, fields},
};

/// Parameters of a page that dies: `now`, its number, class and age of its copy.
type Died = (u32, u32, u32, u32);

/// The class of no copy: -1.
const NONE: u32 = u32::MAX;

/// Asks for the head of every page.
pub(super) struct OwnPlacement {
    module: Instance,
    classes: u8,
    user_write: Function<Died, u32>,
    cleaner_copy: Function<Copied, u32>,
    trimmed: Option<Function<Died, ()>>,
    sealed: Option<Function<(u32, u32), ()>>,
    reclaimed: Option<Function<Reclaimed, ()>>,
}

impl OwnPlacement {
    pub(super) fn new(module: Instance) -> Result<Self, ModuleError> {
        let mut running = module.lock();
        let classes = running.function("classes", "() -> i32")?;
        let user_write =
            running.function("user_write", "(now: i32, page: i32, class: i32, age: i32) -> i32")?;
        let cleaner_copy =
            running.function("cleaner_copy", "(now: i32, page: i32, segment: seven i32) -> i32")?;
        let trimmed = running.optional("trimmed", "(now: i32, page: i32, class: i32, age: i32)")?;
        let sealed = running.optional("sealed", "(now: i32, class: i32)")?;
        let reclaimed = running.optional("reclaimed", "(now: i32, segment: seven i32)")?;
        let asked: u32 = running.call(&classes, ())?;
        drop(running);
        let classes = u8::try_from(asked).ok().filter(|classes| (1..=MAX_CLASSES).contains(classes));
        let classes = classes.ok_or(ModuleError::Classes(asked))?;
        Ok(Self { module, classes, user_write, cleaner_copy, trimmed, sealed, reclaimed })
    }

    /// The class that a function answers, the first one after a fault.
    fn class(&self, name: &'static str, answer: Option<u32>) -> Class {
        let Some(answer) = answer else { return Class(0) };
        if let Some(class) = u8::try_from(answer).ok().filter(|class| *class < self.classes) {
            return Class(class);
        }
        self.module.lock().fail(ModuleError::Class { name, answer, classes: self.classes });
        Class(0)
    }
}

impl Placement for OwnPlacement {
    fn classes(&self) -> u8 {
        self.classes
    }

    fn user_write(&mut self, now: u32, page: u32, old: Option<Old>) -> Class {
        let (class, age) = old.map_or((NONE, 0), |old| (old.class.0.into(), old.age));
        let answer = self.module.lock().ask(&self.user_write, (now, page, class, age));
        self.class("user_write", answer)
    }

    fn cleaner_copy(&mut self, now: u32, page: u32, from: &Cleaned) -> Class {
        let (valid, capacity, created, written, invalidated, erases, class) = fields(&from.segment);
        let with = (now, page, valid, capacity, created, written, invalidated, erases, class);
        let answer = self.module.lock().ask(&self.cleaner_copy, with);
        self.class("cleaner_copy", answer)
    }

    fn trimmed(&mut self, now: u32, page: u32, old: Old) {
        if let Some(trimmed) = &self.trimmed {
            self.module.lock().ask(trimmed, (now, page, old.class.0.into(), old.age));
        }
    }

    fn sealed(&mut self, now: u32, class: Class) {
        if let Some(sealed) = &self.sealed {
            self.module.lock().ask(sealed, (now, class.0.into()));
        }
    }

    fn reclaimed(&mut self, now: u32, from: &Cleaned) {
        if let Some(reclaimed) = &self.reclaimed {
            let (valid, capacity, created, written, invalidated, erases, class) = fields(&from.segment);
            let with = (now, valid, capacity, created, written, invalidated, erases, class);
            self.module.lock().ask(reclaimed, with);
        }
    }
}
