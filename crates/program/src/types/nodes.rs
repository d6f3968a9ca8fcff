//! How an aggregate of aggregates is kept.

/// The most nodes of a nested type: scalars and vectors, arrays, matrices, structs.
pub(super) const MAX_NODES: usize = 12;

/// An array or a struct of aggregates, or a struct of members of several types. Small and without a heap, as types are passed by value: the
/// nodes in the order of its name, which begins with what it is itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nested(pub(super) [u8; MAX_NODES]);
