//! The shapes that real bugs had in drivers and compilers.
//!
//! A template fixes the skeleton; its conditions, operations, loop forms and the statements inside are generated like everything
//! else, so that no two look alike. Templates whose control flow depends on a tangle are used only where that tangle is known
//! ([`crate::class`]).

mod exchange;
mod loops;
mod memory;
mod pressure;
mod repeat;

use tangle_program::case::Tier;
use tangle_program::subgroup::{Fold, Gives, Param, SubgroupOp, TABLE};
use tangle_program::tree::{Block, Expr, SubgroupCall, VarId};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::expression::{Want, bin};
use super::frame::{Cost, Role};
use crate::class::Class;
use crate::weights::Template;

/// What more live values than registers cost at least.
const PRESSURE: Cost = Cost { words: 8, steps: 120 };

/// An operation on one value that always gives a defined result of the same type: what makes a wrong tangle visible.
#[derive(Clone, Copy)]
pub(crate) struct Detector {
    op: SubgroupOp,
    cluster: Option<u32>,
}

impl Detector {
    pub(crate) fn on(self, value: Expr) -> Expr {
        Expr::Subgroup(SubgroupCall { op: self.op, args: vec![value], cluster: self.cluster })
    }
}

impl Builder<'_> {
    pub(crate) fn template(&mut self, out: &mut Block) {
        let weights: [u32; Template::COUNT] =
            std::array::from_fn(|i| if self.template_fits(Template::ALL[i]) { self.weights.templates[i] } else { 0 });
        if weights.iter().all(|&weight| weight == 0) {
            return self.operation_statement(out);
        }
        match Template::ALL[self.draw.index(weights.into_iter())] {
            Template::Waterfall => self.waterfall(out),
            Template::ElectLoop => self.elect_loop(out),
            Template::WhileAny => self.while_any(out),
            Template::LaneByLane => self.lane_by_lane(out),
            Template::CarriedLoop => self.carried_loop(out),
            Template::NestedExit => self.nested_exit(out),
            Template::ExitValue => self.exit_value(out),
            Template::InAndAfterLoop => self.in_and_after_loop(out),
            Template::Compaction => self.compaction(out),
            Template::VoteFastPath => self.vote_fast_path(out),
            Template::SiblingArms => self.sibling_arms(out),
            Template::Repeated => self.repeated(out),
            Template::EdgeLanes => self.edge_lanes(out),
            Template::ShortCircuit => self.short_circuit(out),
            Template::Sandwich => self.sandwich(out),
            Template::ShuffleScan => self.shuffle_scan(out),
            Template::Butterfly => self.butterfly(out),
            Template::QuadExchange => self.quad_exchange(out),
            Template::MaxPooling => self.max_pooling(out),
            Template::Keyed => self.keyed(out),
            Template::SubgroupExchange => self.subgroup_exchange(out),
            Template::Descriptor => self.descriptor(out),
            Template::Pressure => self.pressure(out),
            Template::ChosenIndex => self.chosen_index(out),
            Template::Endless => self.endless(out),
        }
    }

    /// True if the template may stand here and the device has what it is made of.
    fn template_fits(&self, template: Template) -> bool {
        let flow = self.frame.flow;
        let exact_maximal = self.is_maximal() && flow.is_exact();
        let trips = self.affordable_trips();
        let room = self.frame.opens.len() as u32 + 2 <= self.size.depth;
        let loops = |least: u32| room && trips >= least;
        let fits = match template {
            Template::Waterfall => exact_maximal && loops(4) && self.has(SubgroupOp::BroadcastFirst),
            Template::ElectLoop => exact_maximal && loops(3) && self.has(SubgroupOp::Elect),
            Template::LaneByLane => exact_maximal && loops(3),
            Template::WhileAny => {
                let together = self.config.tier == Tier::SubgroupUniform && flow.is_uniform();
                (exact_maximal || together) && loops(4) && self.has(SubgroupOp::Any)
            }
            Template::CarriedLoop | Template::ExitValue | Template::InAndAfterLoop => loops(3),
            Template::NestedExit => loops(8),
            Template::VoteFastPath => flow.is_exact() && self.has(SubgroupOp::Any),
            Template::Compaction | Template::Sandwich => self.has(SubgroupOp::Ballot),
            Template::SiblingArms | Template::Repeated | Template::EdgeLanes => true,
            Template::Keyed => self.has_uniform_operands(),
            Template::SubgroupExchange => self.may_exchange_in_subgroup(),
            Template::Descriptor => self.has_resources(),
            Template::Pressure => loops(3) && self.frame.affords(PRESSURE),
            Template::ChosenIndex => loops(1),
            Template::Endless => loops(32),
            Template::ShortCircuit => flow.tolerates_choices() && self.has(SubgroupOp::Any),
            Template::ShuffleScan => loops(3) && self.has(SubgroupOp::ShuffleUp),
            Template::Butterfly => self.has(SubgroupOp::ShuffleXor),
            Template::QuadExchange => self.has(SubgroupOp::QuadSwapDiagonal),
            Template::MaxPooling => self.has(SubgroupOp::Clustered(Fold::Max)),
        };
        // A detector may always fall back to a sum.
        fits && self.has(SubgroupOp::Reduce(Fold::Add))
    }

    // --- parts ---

    /// A variable that only its template writes.
    pub(crate) fn private(&mut self, stem: &str, ty: Type) -> VarId {
        self.frame.local(stem, ty, Class::Clean, Role::Private)
    }

    pub(crate) fn set(&mut self, var: VarId, value: Expr, out: &mut Block) {
        let assign = self.assign(var, value);
        out.push(assign);
    }

    /// A type of numbers, or of vectors of them.
    fn number_type(&mut self) -> Type {
        let scalar = match self.extended_scalar() {
            Some(scalar) if self.draw.percent(50) => scalar,
            _ => self.draw.pick(&[Scalar::Uint, Scalar::Uint, Scalar::Int]),
        };
        let width = if self.draw.percent(self.weights.vectors) { 2 + self.draw.below(3) as u8 } else { 1 };
        Type::vector(scalar, width)
    }

    /// An operation for values of this type; falls back to a sum, which the caller knows is there.
    fn detector(&mut self, ty: Type) -> Detector {
        let weights: [u32; TABLE.len()] = std::array::from_fn(|row| {
            let info = &TABLE[row];
            let fits = info.params == [Param::Value]
                && info.gives == Gives::Same
                && !info.may_be_undefined()
                && !info.op.starts_infinite(ty.scalar)
                && info.scalars.contains(&ty.scalar);
            if fits { self.weights.ops[row] } else { 0 }
        });
        if weights.iter().all(|&weight| weight == 0) {
            return Detector { op: SubgroupOp::Reduce(Fold::Add), cluster: None };
        }
        let info = &TABLE[self.draw.index(weights.into_iter())];
        Detector { op: info.op, cluster: info.clustered.then(|| self.cluster()) }
    }

    /// A value that differs between lanes and may stand anywhere.
    fn own_value(&mut self, ty: Type) -> Expr {
        match ty {
            Type { scalar, width: 1, .. } if scalar != Scalar::Bool => self.varying(scalar, Want::own(1)),
            _ => self.expr(ty, Want::own(1)),
        }
    }

    /// `var = op(value)`, perhaps logged. The variable is a new one of the class the result has here.
    fn detect(&mut self, detector: Detector, ty: Type, value: Expr, out: &mut Block) -> VarId {
        let var = self.result_variable(ty, self.frame.flow.class());
        self.keep(var, detector.on(value), out);
        var
    }

    /// `var = var op value`
    fn add_to(&mut self, var: VarId, value: Expr, out: &mut Block) {
        let sum = self.accumulated(var, value);
        self.set(var, sum, out);
    }
}

/// `x op y`
fn compare(op: tangle_program::ops::BinaryOp, x: VarId, y: Expr) -> Expr {
    bin(op, Expr::Var(x), y)
}
