//! A running module, and the calls into it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pumice_cleaning::{Params, SegmentView};
use wasmi::{
    CompilationMode, Config, Engine, Error, Linker, Store, StoreLimits, StoreLimitsBuilder, TrapCode,
    TypedFunc, WasmParams, WasmResults,
};

use super::{FUEL, ModuleError};

/// Bytes of memory, and elements of a table.
const MEMORY: usize = 64 << 20;
const ELEMENTS: usize = 1 << 16;

/// A segment's fields as parameters.
pub(super) type Segment = (u32, u32, u32, u32, u32, u32, u32);
/// The parameters `now`, `page` and a segment.
pub(super) type Copied = (u32, u32, u32, u32, u32, u32, u32, u32, u32);
/// The parameters `now` and a segment.
pub(super) type Reclaimed = (u32, u32, u32, u32, u32, u32, u32, u32);

/// The fields of a segment as parameters.
pub(super) fn fields(s: &SegmentView) -> Segment {
    (s.valid, s.capacity, s.created, s.written, s.invalidated, s.erases, s.class.0.into())
}

/// A module that runs; clones are the same one.
#[derive(Clone)]
pub struct Instance(Arc<Mutex<Running>>);

/// A module with its memory.
pub(super) struct Running {
    store: Store<StoreLimits>,
    module: wasmi::Instance,
    fault: Option<ModuleError>,
}

/// A function of a module.
pub(super) struct Function<P, R> {
    name: &'static str,
    call: TypedFunc<P, R>,
}

impl Instance {
    pub(super) fn new(bytes: &[u8], params: &Params, seed: u64) -> Result<Instance, ModuleError> {
        let mut config = Config::default();
        config.consume_fuel(true).compilation_mode(CompilationMode::Eager).ignore_custom_sections(true);
        let engine = Engine::new(&config);
        let invalid = |error: Error| ModuleError::Invalid(told(&error));
        let module = wasmi::Module::new(&engine, bytes).map_err(invalid)?;
        if let Some(import) = module.imports().next() {
            return Err(ModuleError::Import(format!("{}.{}", import.module(), import.name())));
        }
        let limits =
            StoreLimitsBuilder::new().memory_size(MEMORY).memories(1).table_elements(ELEMENTS).tables(1);
        let mut store = Store::new(&engine, limits.instances(1).build());
        store.limiter(|limits| limits);
        store.set_fuel(FUEL).map_err(invalid)?;
        let module = Linker::new(&engine).instantiate_and_start(&mut store, &module);
        let module = module.map_err(|error| failed("start", &error))?;
        let mut running = Running { store, module, fault: None };
        let begin = running.optional("begin", "(segments: i32, pages: i32, logical: i32, seed: i64)")?;
        if let Some(begin) = begin {
            running.call::<_, ()>(&begin, (params.segments, params.pages, params.logical, seed))?;
        }
        Ok(Instance(Arc::new(Mutex::new(running))))
    }

    /// The fault after which it is not asked any more.
    pub fn fault(&self) -> Option<ModuleError> {
        self.lock().fault.clone()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// A function, if it is exported.
    pub(super) fn optional<P: WasmParams, R: WasmResults>(
        &self,
        name: &'static str,
        form: &'static str,
    ) -> Result<Option<Function<P, R>>, ModuleError> {
        let Some(export) = self.module.get_export(&self.store, name) else { return Ok(None) };
        let function = export.into_func().and_then(|function| function.typed(&self.store).ok());
        match function {
            Some(call) => Ok(Some(Function { name, call })),
            None => Err(ModuleError::Form { name, form }),
        }
    }

    /// A function that must be exported.
    pub(super) fn function<P: WasmParams, R: WasmResults>(
        &self,
        name: &'static str,
        form: &'static str,
    ) -> Result<Function<P, R>, ModuleError> {
        self.optional(name, form)?.ok_or(ModuleError::Missing { name, form })
    }

    /// The answer to a call.
    pub(super) fn call<P: WasmParams, R: WasmResults>(
        &mut self,
        function: &Function<P, R>,
        with: P,
    ) -> Result<R, ModuleError> {
        let called = self.store.set_fuel(FUEL).and_then(|()| function.call.call(&mut self.store, with));
        called.map_err(|error| failed(function.name, &error))
    }

    /// The answer to a call; none after a fault.
    pub(super) fn ask<P: WasmParams, R: WasmResults>(
        &mut self,
        function: &Function<P, R>,
        with: P,
    ) -> Option<R> {
        if self.fault.is_some() {
            return None;
        }
        self.call(function, with).map_err(|fault| self.fail(fault)).ok()
    }

    /// Notes a fault in an answer.
    pub(super) fn fail(&mut self, fault: ModuleError) {
        self.fault.get_or_insert(fault);
    }
}

fn failed(name: &'static str, error: &Error) -> ModuleError {
    match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => ModuleError::Endless(name),
        _ => ModuleError::Trap { name, why: told(error) },
    }
}

/// An error in one line; of a text with its place, which is on a line of its own.
fn told(error: &Error) -> String {
    let text = error.to_string();
    let place = text.lines().find_map(|line| line.trim_start().strip_prefix("--> <anon>:"));
    let first = text.lines().next().unwrap_or_default();
    place.map_or_else(|| first.to_owned(), |place| format!("{first} at {place}"))
}
