//! A chip behind a pointer, so that code on it is compiled once for all chips.

use alloc::boxed::Box;
use core::any::Any;

use crate::layer::Layer;
use crate::nand::Nand;

/// A chip of any type, owned or borrowed. A call through it costs two nanoseconds; the fastest call of a chip takes
/// thousands.
pub struct AnyChip<'c>(Box<dyn Held + 'c>);

impl<'c> AnyChip<'c> {
    /// A chip that can be taken out again by its type.
    pub fn own<N: Nand + Send + 'static>(chip: N) -> AnyChip<'c> {
        AnyChip(Box::new(Owned(chip)))
    }

    /// A chip that stays with its owner: `&mut chip`, or one that nobody asks back.
    pub fn lend<N: Nand + Send + 'c>(chip: N) -> AnyChip<'c> {
        AnyChip(Box::new(Lent(chip)))
    }

    /// Looks at a chip that was owned as `N`.
    pub fn get<N: 'static>(&self) -> Option<&N> {
        self.0.any()?.downcast_ref()
    }

    /// Takes out a chip that was owned as `N`.
    pub fn take<N: 'static>(self) -> Option<N> {
        Some(*self.0.into_any()?.downcast().ok()?)
    }
}

impl<'c> Layer for AnyChip<'c> {
    type Chip = dyn Nand + 'c;
    fn behind(&self) -> &Self::Chip {
        &*self.0
    }
    fn behind_mut(&mut self) -> &mut Self::Chip {
        &mut *self.0
    }
}

/// The owned form of a chip.
trait Held: Nand + Send {
    fn any(&self) -> Option<&dyn Any>;
    fn into_any(self: Box<Self>) -> Option<Box<dyn Any>>;
}

struct Owned<N>(N);

impl<N: Nand + Send + 'static> Held for Owned<N> {
    fn any(&self) -> Option<&dyn Any> {
        Some(&self.0)
    }
    fn into_any(self: Box<Self>) -> Option<Box<dyn Any>> {
        Some(Box::new(self.0))
    }
}

impl<N: Nand> Layer for Owned<N> {
    type Chip = N;
    fn behind(&self) -> &N {
        &self.0
    }
    fn behind_mut(&mut self) -> &mut N {
        &mut self.0
    }
}

struct Lent<N>(N);

impl<N: Nand + Send> Held for Lent<N> {
    fn any(&self) -> Option<&dyn Any> {
        None
    }
    fn into_any(self: Box<Self>) -> Option<Box<dyn Any>> {
        None
    }
}

impl<N: Nand> Layer for Lent<N> {
    type Chip = N;
    fn behind(&self) -> &N {
        &self.0
    }
    fn behind_mut(&mut self) -> &mut N {
        &mut self.0
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::{ChipSpec, SimChip};

    #[test]
    fn what_is_owned_comes_back_by_its_type() {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry("512+16:4:8").unwrap());
        assert!(AnyChip::lend(&mut chip).take::<SimChip>().is_none());
        let any = AnyChip::own(chip);
        assert!(any.get::<u32>().is_none() && any.get::<SimChip>().is_some());
        assert_eq!(any.take::<SimChip>().unwrap().geometry().blocks, 8);
    }
}
