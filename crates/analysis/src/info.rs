//! What is known of an expression without running it, found in one pass from the leaves up.
//!
//! Each analysis is a rule that makes what it knows of an expression from what is known of its operands: ranges ([`crate::bounds`]),
//! exactness of floats ([`crate::exact`]), undefined values ([`crate::undefined`]), uniformity ([`crate::uniform`]). They are
//! applied together, once to each expression (`pass.rs`), so that the cost of all of them is linear in the size of the expression.

use tangle_program::types::{Scalar, Type};

use crate::extent::Extent;
use crate::interval::Interval;
use crate::uniform::Uniformity;

/// What is known of an expression.
#[derive(Clone, Debug)]
pub struct ExprInfo {
    /// Its type; `None` where it is plain that it has none.
    pub ty: Option<Type>,
    /// The values that it can have where it is defined; of a vector, those that its components can have.
    pub range: Interval,
    /// True if the value, or every component, is known not to be zero. Sees more than the range: `x | 1`.
    pub is_nonzero: bool,
    /// Of a float, or of the components of a vector of floats; `None` of others, and if something in it may be inexact.
    pub extent: Option<Extent>,
    /// True if some lane's value may be undefined.
    pub may_be_undefined: bool,
    /// Where it is the same for all lanes that evaluate it together.
    pub uniformity: Uniformity,
    /// The range of each component, if it is a vector made of them.
    pub(crate) components: Option<Box<[Interval]>>,
}

impl ExprInfo {
    /// The component type; uint where the type is not known.
    pub(crate) fn scalar(&self) -> Scalar {
        self.ty.map_or(Scalar::Uint, |ty| ty.scalar)
    }

    /// True if it is an aggregate of parts of which nothing is known by what is known of it ([`Type::is_nested`]): each was fit to be stored
    /// to a variable.
    pub(crate) fn is_nested(&self) -> bool {
        self.ty.is_some_and(Type::is_nested)
    }

    /// True if a value can be stored to a variable of the type.
    pub fn fits(&self, ty: Type) -> bool {
        ty.is_nested()
            || !ty.scalar.is_float()
            || self.extent.is_some_and(|extent| extent.is_within(Extent::of_variables(ty.scalar)))
    }
}
