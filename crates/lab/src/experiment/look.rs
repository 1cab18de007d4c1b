//! The form in which an experiment is drawn.

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Curves: the horizontal axis has an order.
    Lines,
    /// Groups of bars: it has none.
    Bars,
    /// Not at all: too many series for a picture, a table only.
    Table,
}
