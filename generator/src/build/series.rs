//! Many small things in a row, of types that the rest of the program may not use: what a compiler folds, rewrites and lowers type by type.
//!
//! A program holds little control flow, since that is what costs a driver its time. Straight code costs it almost nothing, and one word
//! keeps what all of it computes.

use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Gives, OpInfo, Param, SubgroupOp, TABLE};
use tangle_program::tree::{Block, Expr, VarId};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::expression::{Want, bin, cast, uint};
use super::frame::Role;
use super::log::Moment;
use crate::class::Class;

/// Odd factors: a product keeps every bit of what was there before.
const FACTORS: [u32; 5] = [5, 3, 9, 33, 257];

impl Builder<'_> {
    /// Numbers and operations of several types, mixed into one word, and its log.
    pub(crate) fn series(&mut self, out: &mut Block) {
        let (scalars, ops) = (self.weights.scalars, self.weights.ops);
        self.level_operations();
        let types = self.series_types();
        for &scalar in &types {
            let weight = &mut self.weights.scalars[scalar as usize];
            *weight = (*weight).max(2);
        }
        let sum = self.frame.local("sum", Type::UINT, Class::Clean, Role::Data);
        let input = self.input();
        let assign = self.assign(sum, input);
        out.push(assign);
        for _ in 0..self.draw.range(8, 16) {
            if self.is_done() {
                break;
            }
            let scalar = self.draw.pick(&types);
            if self.draw.percent(35) {
                self.operation_in_series(scalar, sum, out);
            } else if scalar.is_integer() {
                self.number_in_series(scalar, sum, out);
            }
        }
        (self.weights.scalars, self.weights.ops) = (scalars, ops);
        self.observe(Moment::Operation, &[sum], out);
    }

    /// Words, and three of the types that there are.
    fn series_types(&mut self) -> Vec<Scalar> {
        let offered: Vec<Scalar> = Scalar::ALL.into_iter().filter(|s| self.config.scalars.contains(s)).collect();
        let mut types = vec![Scalar::Uint, Scalar::Int];
        if !offered.is_empty() {
            types.extend((0..3).map(|_| self.draw.pick(&offered)));
        }
        types
    }

    /// All operations that the device has, folds as often together as the others.
    fn level_operations(&mut self) {
        for (weight, info) in self.weights.ops.iter_mut().zip(&TABLE) {
            let has = self.config.categories.contains(&info.category) && !self.config.without.contains(&info.op);
            *weight = match (has, info.op.fold()) {
                (false, _) => 0,
                (true, Some(_)) => 1,
                (true, None) => 6,
            };
        }
    }

    /// `sum = sum * 5u + …;`
    fn mix_in(&mut self, sum: VarId, word: Expr, out: &mut Block) {
        let product = bin(BinaryOp::Mul, Expr::Var(sum), uint(self.draw.pick(&FACTORS)));
        let assign = self.assign(sum, bin(BinaryOp::Add, product, word));
        out.push(assign);
    }

    fn number_in_series(&mut self, scalar: Scalar, sum: VarId, out: &mut Block) {
        let number = match self.draw.below(8) {
            0..=2 => self.chain(scalar, Want::own(2)),
            3..=5 => self.algebra(scalar, Want::own(2)),
            6 => self.idiom(scalar, Want::own(2)),
            _ => self.arithmetic(scalar, Want::own(3)),
        };
        let word = match scalar {
            Scalar::Uint => number,
            _ if scalar.size() == 64 && self.draw.percent(50) => {
                cast(Scalar::Uint, bin(BinaryOp::Shr, number, uint(32)))
            }
            _ => cast(Scalar::Uint, number),
        };
        self.mix_in(sum, word, out);
    }

    /// An operation on a value of the type, or one that has none.
    fn operation_in_series(&mut self, scalar: Scalar, sum: VarId, out: &mut Block) {
        // Where the tangle is open, the word would be, too; and some operations are defined for a part of the lanes only.
        let class = if self.frame.flow.is_exact() { Class::Clean } else { Class::MaybeUndefined };
        let class = if self.draw.percent(25) { Class::MaybeUndefined } else { class };
        let fits = |info: &OpInfo| {
            info.gives != Gives::Nothing
                && (info.scalars.contains(&scalar) || !info.params.contains(&Param::Value))
                && match class {
                    Class::MaybeUndefined => info.may_be_undefined() && info.params.contains(&Param::Value),
                    _ => !info.op.starts_infinite(scalar),
                }
        };
        let Some(info) = self.choose(class, fits) else { return };
        let mut width = self.draw.weighted(&[(5, 1), (2, 2), (2, 3), (2, 4)]);
        if info.op == SubgroupOp::AllEqual && self.draw.percent(50) {
            width = 4;
        }
        // Each is logged by itself.
        if class == Class::MaybeUndefined {
            width = 1;
        }
        let value = Type::vector(scalar, width);
        let (expr, class) = self.call(info, value, class);
        let ty = info.result_type(Some(value)).expect("an operation on a value has a result");
        if class != Class::Clean {
            let var = self.frame.local("some", ty, class, Role::Data);
            return self.keep(var, expr, out);
        }
        let var = self.result_variable(ty, class);
        let assign = self.assign(var, expr);
        out.push(assign);
        for word in self.as_words(var) {
            self.mix_in(sum, word, out);
        }
    }
}
