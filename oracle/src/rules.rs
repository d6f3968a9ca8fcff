//! The points where a device could get it wrong.
//!
//! [`Rules`] has one method for each decision the machine takes; every default is what the specification says. The oracle runs with
//! [`Spec`]; the reference device runs with [`Spec`], with the freedom that a tier leaves ([`MinimalReconvergence`]), or with a planted
//! fault ([`crate::faults`]).

use tangle_program::case::{EntryPoint, SpecConstant};
use tangle_program::memory::{AtomicOp, StorageClass};
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{Instance, OpInfo, Ub};
use tangle_program::tree::{Builtin, Discard, Expr, Function, Loop, Stmt};
use tangle_program::types::{Scalar, Type};

use crate::mask::Mask;

/// Constructs that change the set of active lanes; the machine keeps a stack of those it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Construct {
    Then,
    /// The same under `[[flatten]]`, where its condition decides.
    FlattenedThen,
    Else,
    LoopTest,
    /// The same of an `[[unroll]]` loop, where its condition decides.
    UnrolledLoopTest,
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
    /// Which construct, and which part of it.
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

/// A merge, as it happens.
#[derive(Clone, Copy, Debug)]
pub struct Merging<'a> {
    /// The construct that ends there.
    pub merge: Merge,
    /// The lanes that reached the header together.
    pub reached: &'a Mask,
    /// The lanes that come to the merge, in the order in which they do: those of the `then` side before those of the `else` side, each
    /// iteration's or segment's, each return's. For [`Merge::Continue`] the lanes at the end of the body come first, then those that continue.
    pub arrivals: &'a [Mask],
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

/// What is done with an element of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Access {
    Read,
    Write,
}

/// Where an index picks an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accessed {
    /// Whether it is read or written.
    pub access: Access,
    /// What it is an element of.
    pub of: Type,
    /// How many indices led there: 0 in a variable itself.
    pub depth: usize,
}

/// What a compiler makes of an expression of a function; `None` if it leaves it.
pub type Peephole = fn(&Expr, &Function) -> Option<Expr>;

/// What a compiler makes of the first statements of a list: how many, and those in their place. `None` if it leaves them.
pub type Rewrite = fn(&[Stmt]) -> Option<(usize, Vec<Stmt>)>;

/// The bound that a compiler takes a loop to have; `None` for its own.
pub type Bound = fn(&Loop) -> Option<Expr>;

/// A device's behaviour. Defaults are the specification's.
pub trait Rules {
    /// Where the tier leaves a tangle open: the instance that one more class of lanes on one path joins, of `instances` there
    /// are already; `instances` itself is a new one.
    fn instance(&mut self, _instances: usize) -> usize {
        0
    }

    /// The bits found where the specification leaves a value undefined.
    fn undefined(&mut self) -> u64 {
        0
    }

    /// Called before the first step.
    fn start(&mut self, _subgroup_size: usize) {}

    /// The lanes that leave a merge point: those that reach it.
    fn merged(&mut self, _merging: &Merging<'_>, merged: Mask) -> Mask {
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

    /// True if [`Rules::operate_open`] differs from [`Rules::operate`]: the device then finds out where a tangle is open.
    fn has_open_operations(&self) -> bool {
        false
    }

    /// The result of an operation whose tangle the tier leaves open; `live` are the lanes that the subgroup started with.
    fn operate_open(
        &mut self,
        info: &OpInfo,
        instance: &Instance<'_>,
        _live: u128,
        out: &mut [u64],
    ) -> Result<u128, Ub> {
        self.operate(info, instance, out)
    }

    /// The element of an array that a store goes to.
    fn slot(&mut self, index: usize, _len: usize) -> usize {
        index
    }

    /// What a load of an element finds.
    fn loaded(&mut self, _scalar: Scalar, cells: &[u64], at: usize) -> u64 {
        cells[at]
    }

    /// Another element of an array of so many that a store overwrites, with what comes behind the value that is stored.
    fn clobbered(&mut self, _scalar: Scalar, _at: usize, _len: usize) -> Option<usize> {
        None
    }

    /// True if a load from an array there does not find what was written before the last barrier. `own`: of the invocation's own slot.
    fn is_stale(&mut self, _storage: StorageClass, _own: bool) -> bool {
        false
    }

    /// True if loads behind a subgroup barrier do not find what other lanes wrote before it. `partial`: not by all lanes of the subgroup.
    fn is_late(&mut self, _storage: StorageClass, _partial: bool) -> bool {
        false
    }

    /// The lanes that perform an atomic: the active ones.
    fn atomic_lanes(&mut self, _scopes: &[Scope], active: Mask) -> Mask {
        active
    }

    /// True if the atomics of one statement go from the last lane to the first.
    fn atomics_descend(&self) -> bool {
        false
    }

    /// What an atomic leaves in memory.
    fn atomic(&mut self, op: AtomicOp, scalar: Scalar, old: u64, value: u64, compare: u64) -> u64 {
        op.apply(scalar, old, value, compare)
    }

    /// What an atomic returns: what it found. `before`: what the lanes of the subgroup that execute it together with this one, and before it, found in
    /// the element.
    fn returned(&mut self, _op: AtomicOp, found: u64, _before: &[u64]) -> u64 {
        found
    }

    /// The operation a binary operator performs.
    fn binary(&mut self, op: BinaryOp, scalar: Scalar) -> (BinaryOp, Scalar) {
        (op, scalar)
    }

    /// The operation an intrinsic performs.
    fn intrinsic(&mut self, op: Intrinsic, scalar: Scalar) -> (Intrinsic, Scalar) {
        (op, scalar)
    }

    /// What the compiler makes of expressions, before anything runs.
    fn peephole(&self) -> Option<Peephole> {
        None
    }

    /// What the compiler makes of statements, before anything runs.
    fn rewrite(&self) -> Option<Rewrite> {
        None
    }

    /// What the compiler takes the bound of a loop for; `None` for what it is.
    fn bound(&self) -> Option<Bound> {
        None
    }

    /// Which of `count` elements lanes access: pairs of a lane's slot and the number of the element.
    fn elements(&mut self, _accessed: Accessed, _count: usize, _places: &mut [(usize, usize)]) {}

    /// Which resource of an array of descriptors each lane accesses: pairs of a lane's slot and the number of the resource. `indices` has those
    /// of all slots, of lanes that are not active, too.
    fn resources(&mut self, _class: ResourceClass, _non_uniform: bool, _indices: &[u64], _chosen: &mut [(usize, u64)]) {
    }

    /// What a fragment that is given up does: what the statement says. Nothing if `None`.
    fn discard(&mut self, how: Discard) -> Option<Discard> {
        Some(how)
    }

    /// The lanes whose stores have an effect: of the active ones those that are no helpers. `at_entry`: those that were from the beginning.
    fn storing(&mut self, active: Mask, helpers: &Mask, _at_entry: &Mask) -> Mask {
        active.minus(helpers)
    }

    /// True if the invocations of a quad go on after the last of them that was no helper has ended or has become one; an implementation
    /// may do either.
    fn keeps_quads_of_helpers(&mut self) -> bool {
        true
    }

    /// The helper invocations among lanes that take part in an operation: all of them.
    fn helpers_in_tangle(&mut self, _info: &OpInfo, helpers: u128) -> u128 {
        helpers
    }

    /// The triangle and the vertex of it that give a fragment of this triangle its flat inputs. Vulkan, Flat Shading: "The output values assigned
    /// are those of the _provoking vertex_ of the primitive." (docs/rules.md, rule H11)
    fn provoking_vertex(&mut self, triangle: u32) -> (u32, u32) {
        (triangle, 0)
    }

    /// What `gl_HelperInvocation` is: whether the lane was a helper from the beginning.
    fn helper_input(&mut self, at_entry: bool) -> bool {
        at_entry
    }

    /// What `helperInvocationEXT()` gives: whether the lane is a helper now; `at_entry`: whether it was from the beginning.
    fn is_helper(&mut self, now: bool, _at_entry: bool) -> bool {
        now
    }

    /// The lane map as the device writes it.
    fn map_written(&mut self, _entry_point: &EntryPoint, _words: &mut [u32]) {}

    /// The lanes that go on after an assumption: all of them.
    fn assumed(&mut self, active: Mask) -> Mask {
        active
    }

    /// What a specialisation constant is in a pipeline.
    fn specialised(&mut self, constant: SpecConstant) -> u32 {
        constant.value
    }

    /// The value of a built-in variable: the bits of a uint, or all 128 bits of a mask.
    fn builtin(&mut self, _builtin: Builtin, _lane: usize, value: u128) -> u128 {
        value
    }
}

/// A device that does what the specification says, with as much reconvergence as it allows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spec;

impl Rules for Spec {}

/// A device that makes the least use of its freedom to reconverge: only lanes on one path are together, unless they must be.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinimalReconvergence;

impl Rules for MinimalReconvergence {
    fn instance(&mut self, instances: usize) -> usize {
        instances
    }

    fn undefined(&mut self) -> u64 {
        0xA5A5_A5A5
    }

    fn atomics_descend(&self) -> bool {
        true
    }

    fn keeps_quads_of_helpers(&mut self) -> bool {
        false
    }
}

/// A device that draws lots who is together, within what the rules allow.
#[derive(Clone, Copy, Debug)]
pub struct Drawn(u64);

impl Drawn {
    /// The device of a seed.
    pub fn new(seed: u64) -> Drawn {
        Drawn(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
}

impl Rules for Drawn {
    fn instance(&mut self, instances: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % (instances + 1)
    }

    fn undefined(&mut self) -> u64 {
        0x5A5A_5A5A
    }
}
