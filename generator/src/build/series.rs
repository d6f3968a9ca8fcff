//! Many small things in a row, of types that the rest of the program may not use: what a compiler folds, rewrites and lowers type by type.
//!
//! A program holds little control flow, since that is what costs a driver its time. Straight code costs it almost nothing.

use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::Param;
use tangle_program::tree::{Block, Expr};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::expression::{Want, bin, cast, uint};
use super::log::Moment;
use crate::class::Class;

impl Builder<'_> {
    /// Numbers mixed into one word, or operations on values of several types.
    pub(crate) fn series(&mut self, out: &mut Block) {
        let before = self.weights.scalars;
        let numbers = self.draw.percent(60);
        let fits = |scalar: &Scalar| if numbers { scalar.is_integer() } else { true };
        let offered: Vec<Scalar> =
            Scalar::ALL.into_iter().filter(|s| self.config.scalars.contains(s) && fits(s)).collect();
        let mut types = vec![Scalar::Uint, Scalar::Int];
        if self.draw.percent(65) && !offered.is_empty() {
            types = vec![self.draw.pick(&offered), self.draw.pick(&offered), Scalar::Uint];
        }
        for &scalar in &types {
            let weight = &mut self.weights.scalars[scalar as usize];
            *weight = (*weight).max(2);
        }
        if numbers {
            self.numbers(&types, out);
        } else {
            self.operations(&types, out);
        }
        self.weights.scalars = before;
    }

    /// `sum = sum * 5u + …;`, several times, and its log.
    fn numbers(&mut self, types: &[Scalar], out: &mut Block) {
        let sum = self.result_variable(Type::UINT, Class::Clean);
        let mut value = self.input();
        for _ in 0..self.draw.range(4, 9) {
            let scalar = self.draw.pick(types);
            let number = match self.draw.below(8) {
                0..=4 => self.algebra(scalar, Want::own(2)),
                5 | 6 => self.idiom(scalar, Want::own(2)),
                _ => self.arithmetic(scalar, Want::own(3)),
            };
            let word = match scalar {
                Scalar::Uint => number,
                _ if scalar.size() == 64 && self.draw.percent(50) => {
                    cast(Scalar::Uint, bin(BinaryOp::Shr, number, uint(32)))
                }
                _ => cast(Scalar::Uint, number),
            };
            // Odd factors keep every bit of what was there before.
            value = bin(BinaryOp::Add, bin(BinaryOp::Mul, value, uint(self.draw.pick(&[5, 3, 9, 33, 257]))), word);
            let assign = self.assign(sum, value);
            out.push(assign);
            value = Expr::Var(sum);
        }
        self.observe(Moment::Operation, &[sum], out);
    }

    /// One operation after the other, each on a value of one of the types.
    fn operations(&mut self, types: &[Scalar], out: &mut Block) {
        for _ in 0..self.draw.range(2, 4) {
            let scalar = self.draw.pick(types);
            let chosen = self.choose(Class::MaybeUndefined, |info| {
                info.params.contains(&Param::Value) && info.scalars.contains(&scalar)
            });
            let Some(info) = chosen else { continue };
            let value = Type::vector(scalar, self.draw.weighted(&[(5, 1), (2, 2), (1, 3), (2, 4)]));
            let (expr, class) = self.call(info, value, Class::MaybeUndefined);
            let ty = info.result_type(Some(value)).expect("an operation on a value has a result");
            let var = self.result_variable(ty, class);
            self.keep(var, expr, out);
        }
    }
}
