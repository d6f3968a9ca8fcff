//! The points where a device could get it wrong.
//!
//! [`Rules`] has one method for each decision the machine takes; every default is what the specification says. The oracle runs with
//! [`Spec`]; the reference device runs with [`Spec`], with the freedom that a tier leaves ([`Finest`]), or with a planted
//! fault ([`crate::faults`]).

use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::{Instance, OpInfo, Ub};
use tangle_program::tree::Builtin;
use tangle_program::types::Scalar;

use crate::mask::Mask;

/// Constructs that change the set of active lanes; the machine keeps a stack of those it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Construct {
    Then,
    Else,
    LoopTest,
    LoopBody,
    LoopUpdate,
    SwitchSegment,
    Function,
    RightOperand,
    SelectArm,
}

/// A construct that is being executed.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Which.
    pub construct: Construct,
    /// The lanes that reached its header together, before they were divided.
    pub reached: Mask,
    /// The lanes that execute this part of it.
    pub entered: Mask,
}

/// Where lanes come together again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Merge {
    If,
    Loop,
    Continue,
    Switch,
    Call,
}

/// A jump statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Jump {
    Break,
    Continue,
    Return,
    /// Not taken: the lanes go on with the next statement.
    Ignored,
}

/// How a tangle that the tier leaves open falls out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// All lanes that can be together are.
    Together,
    /// Only lanes that took the same path are.
    ByPath,
}

/// A device's behaviour. Defaults are the specification's.
pub trait Rules {
    /// What a device does where the tier leaves the tangle open.
    fn grouping(&self) -> Grouping {
        Grouping::Together
    }

    /// The bits found where the specification leaves a value undefined.
    fn undefined(&mut self) -> u64 {
        0
    }

    /// The lanes that leave a merge point: those that reach it.
    fn merged(&mut self, _merge: Merge, _reached: &Mask, merged: Mask) -> Mask {
        merged
    }

    /// The tangle of a subgroup operation; `live` are the lanes the subgroup started with, `of` gives a set's lanes of this
    /// subgroup.
    fn tangle(&mut self, _scopes: &[Scope], _live: u128, tangle: u128, _of: &dyn Fn(&Mask) -> u128) -> u128 {
        tangle
    }

    /// The lanes whose variable an assignment changes: the active ones.
    fn stored(&mut self, _scopes: &[Scope], active: Mask) -> Mask {
        active
    }

    /// The jump a jump statement takes, for all its lanes.
    fn jump(&mut self, _scopes: &[Scope], jump: Jump) -> Jump {
        jump
    }

    /// The lanes for which a condition holds.
    fn taken(&mut self, _construct: Construct, _active: &Mask, taken: Mask) -> Mask {
        taken
    }

    /// The lanes that go on into the next segment of a switch.
    fn falls_through(&mut self, lanes: Mask) -> Mask {
        lanes
    }

    /// The lanes whose out and inout arguments are copied back: all that returned, early or not.
    fn copied_out(&mut self, _at_end: &Mask, returned: Mask) -> Mask {
        returned
    }

    /// The result of a subgroup operation.
    fn operate(&mut self, info: &OpInfo, instance: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
        (info.meaning)(instance, out)
    }

    /// The operation a binary operator performs.
    fn binary(&mut self, op: BinaryOp, scalar: Scalar) -> (BinaryOp, Scalar) {
        (op, scalar)
    }

    /// The operation an intrinsic performs.
    fn intrinsic(&mut self, op: Intrinsic, scalar: Scalar) -> (Intrinsic, Scalar) {
        (op, scalar)
    }

    /// The value of a built-in variable: the bits of a uint, or all 128 bits of a mask.
    fn builtin(&mut self, _builtin: Builtin, _lane: usize, value: u128) -> u128 {
        value
    }
}

/// The specification.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spec;

impl Rules for Spec {}

/// A device that makes the least use of its freedom to reconverge: only lanes on one path are together, unless they must be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Finest;

impl Rules for Finest {
    fn grouping(&self) -> Grouping {
        Grouping::ByPath
    }

    fn undefined(&mut self) -> u64 {
        0xA5A5_A5A5
    }
}
