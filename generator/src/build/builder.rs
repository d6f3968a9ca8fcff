//! What is known while a case is being written, and what every part of it asks.

use std::ops::Range;

use tangle_program::case::{Data, EntryPoint, SpirvVersion, Stage, SubgroupSize, Tier};
use tangle_program::memory::Shared;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Direction, Expr, Function, Stmt, VarId};
use tangle_program::types::Type;

use super::estimate::Estimate;
use super::frame::{Cost, Frame, Var};
use crate::class::{Class, Flow, Leaving};
use crate::config::{Config, Density, Size};
use crate::draw::Draw;
use crate::weights::Weights;

/// Words kept for the log at the end of `main`.
pub(super) const FINAL_WORDS: u32 = 48;
/// Steps kept for what must be written whatever is left.
pub(super) const FINAL_STEPS: u32 = 200;

/// Everything known while a case is being written.
pub(crate) struct Builder<'a> {
    pub(super) draw: Draw<'a>,
    pub(super) config: &'a Config,
    pub(super) size: Size,
    pub(super) density: Density,
    pub(super) weights: Weights,
    pub(super) entry_point: EntryPoint,
    pub(super) data: Data,
    /// Arrays in shared memory.
    pub(super) shared: Vec<Shared>,
    pub(super) functions: Vec<Function>,
    /// What callers need to know about each of them.
    pub(super) made: Vec<Made>,
    pub(super) frame: Frame,
    /// Types of arrays and structs of aggregates, and of structs of members of several types, that the program has so far.
    pub(super) nested_types: Vec<Type>,
    /// Statements that may still be begun.
    pub(super) statements: u32,
    pub(super) next_site: u32,
    /// There is a loop with very many iterations.
    pub(super) has_long_sum: bool,
    /// Whether fragments may be demoted in this program.
    pub(super) demotes: bool,
    /// The variable of `main` that observed values are mixed into, if the program has one.
    pub(super) trace: Option<VarId>,
    /// Which operations have their turn in this program ([`Config::turn`]).
    pub(super) turns: Range<u64>,
}

/// A parameter: how it travels, its type, and the class its values keep to.
pub(super) type Parameter = (Direction, Type, Class);

/// What callers need to know about a function.
pub(super) struct Made {
    pub(super) params: Vec<Parameter>,
    pub(super) result: Option<(Type, Class)>,
    pub(super) entry: Flow,
    pub(super) end: Flow,
    /// How lanes may come back.
    pub(super) returns: Leaving,
    pub(super) cost: Cost,
}

impl Builder<'_> {
    /// Asks the guess about an expression that stands here.
    pub(super) fn estimate<R>(&self, ask: impl FnOnce(&Estimate<'_>) -> R) -> R {
        let frame = &self.frame;
        let scalar_of = |var: VarId| frame.var(var).ty.scalar;
        ask(&Estimate {
            entry_point: &self.entry_point,
            data: &self.data,
            guesses: &frame.guesses,
            scalar_of: &scalar_of,
            estimated: frame.estimated,
        })
    }

    /// `var = value;`
    pub(super) fn assign(&mut self, var: VarId, value: Expr) -> Stmt {
        let Var { ty, class, .. } = self.frame.var(var);
        let value = self.fitted(value, ty, class);
        let guess = self.estimate(|guess| guess.guess(&value));
        let estimated = self.frame.estimated;
        let old = &mut self.frame.guesses[var as usize];
        *old = old.zip(guess).map(|(old, new)| old.overwritten(new, estimated));
        self.frame.touch(var);
        self.frame.charge(Cost { words: 0, steps: 1 });
        Stmt::Assign { var, value }
    }

    /// True if nobody comes here, or the source or the budget of the case is used up.
    pub(super) fn is_done(&self) -> bool {
        self.frame.estimated.is_empty()
            || self.statements == 0
            || self.draw.is_exhausted()
            || !self.frame.affords(Cost { words: 0, steps: 4 })
    }

    pub(super) fn has(&self, op: SubgroupOp) -> bool {
        self.config.categories.contains(&op.info().category) && !self.config.without.contains(&op)
    }

    pub(super) fn has_workgroups(&self) -> bool {
        self.entry_point.stage.has_workgroups()
    }

    pub(super) fn is_fragment(&self) -> bool {
        self.entry_point.stage == Stage::Fragment
    }

    pub(super) fn is_maximal(&self) -> bool {
        self.config.tier == Tier::Maximal
    }

    /// The subgroup size that is certainly there.
    pub(super) fn sure_size(&self) -> u32 {
        match self.entry_point.subgroup_size {
            SubgroupSize::Required(size) => size,
            SubgroupSize::Default | SubgroupSize::Varying => self.config.min_subgroup_size,
        }
    }

    /// An operation with an operand that has to be uniform, and need not be a literal.
    pub(super) fn has_uniform_operands(&self) -> bool {
        self.has_dynamic_broadcast() || self.has(SubgroupOp::Rotate)
    }

    /// `subgroupBroadcast` from a lane that is not a literal.
    pub(super) fn has_dynamic_broadcast(&self) -> bool {
        self.config.broadcast_dynamic_id && self.entry_point.spirv >= SpirvVersion::V1_5
    }
}
