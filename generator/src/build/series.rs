//! Many small things in a row, of types that the rest of the program may not use: what a compiler folds, rewrites and lowers type by type.
//!
//! A program holds little control flow, since that is what costs a driver its time. Straight code costs it almost nothing, and one word
//! keeps what all of it computes.

use std::ops::Range;

use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::{Category, Gives, OpInfo, Param, SubgroupOp, TABLE};
use tangle_program::tree::{Block, Expr, VarId};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::cond::Cond;
use super::frame::{Role, Source};
use super::log::{Moment, mixed};
use super::term::{Want, bin, cast, lane, uint};
use crate::class::{Class, Decision};
use crate::config::{Config, Size};

/// Odd factors: a product keeps every bit of what was there before.
const FACTORS: [u32; 5] = [5, 3, 9, 33, 257];

/// The places of a program in the row of all turns: about as many as its series has operations.
pub(super) fn turns(config: &Config, size: &Size) -> Range<u64> {
    let (least, most) = size.series;
    let count = u64::from(least + most) / 5;
    config.turn.map_or(0..0, |turn| turn.wrapping_mul(count)..turn.wrapping_mul(count).saturating_add(count))
}

/// One of `count` by its turn: every one once in `count` turns, and such that follow each other are far apart.
fn spread(turn: u64, count: u64) -> u64 {
    let is_prime_to = |step: &u64| (2..=*step).all(|d| !step.is_multiple_of(d) || !count.is_multiple_of(d));
    // By the golden ratio no part of the row is left out for long.
    let step = (count * 618 / 1000..count).find(is_prime_to).unwrap_or(1);
    turn % count.max(1) * step % count.max(1)
}

impl Builder<'_> {
    /// Numbers and operations of several types, mixed into one word, and its log.
    pub(crate) fn series(&mut self, out: &mut Block) {
        let (scalars, ops) = (self.weights.scalars, self.weights.ops);
        self.level_operations();
        let types = self.series_types();
        let floats: Vec<Scalar> = self.offered().into_iter().filter(|scalar| scalar.is_float()).collect();
        for &scalar in &types {
            let weight = &mut self.weights.scalars[scalar as usize];
            *weight = (*weight).max(2);
        }
        let sum = self.frame.local("sum", Type::UINT, Class::Clean, Role::Data);
        let input = self.input();
        let assign = self.assign(sum, input);
        out.push(assign);
        let (least, most) = self.size.series;
        for _ in 0..self.draw.range(least, most) {
            if self.is_done() {
                break;
            }
            if self.preserves() && self.draw.percent(20) {
                self.preserved_statement(out);
                continue;
            }
            if self.rounds() && self.draw.percent(20) {
                self.rounded_statement(out);
                continue;
            }
            match self.draw.below(100) {
                0..12 => self.operation_in_series(sum, out),
                12..20 => self.arm_in_series(sum, out),
                20..28 if !floats.is_empty() => {
                    let scalar = self.draw.pick(&floats);
                    let word = self.float_algebra(scalar);
                    self.mix_in(sum, word, out);
                }
                _ => {
                    let scalar = self.draw.pick(&types);
                    self.number_in_series(scalar, sum, out);
                }
            }
        }
        (self.weights.scalars, self.weights.ops) = (scalars, ops);
        self.observe(Moment::Operation, &[sum], out);
    }

    /// Operations of a part of the lanes, perhaps by a key that only these share.
    fn arm_in_series(&mut self, sum: VarId, out: &mut Block) {
        let exact = self.frame.flow.is_exact() && self.is_maximal();
        let (cond, key) = if exact && self.broadcasts_by_key() && self.draw.percent(50) {
            let mask = self.draw.pick(&[3, 1, 7]);
            let key = bin(BinaryOp::BitAnd, lane(), uint(mask));
            let known = uint(self.draw.range(1, mask));
            let expr = bin(BinaryOp::Eq, key.clone(), known);
            (Cond { expr, decision: Decision::Divergent, source: Source::Lane }, Some((key, mask)))
        } else {
            (self.condition(), None)
        };
        let shared = key.as_ref().map(|_| self.frame.local("shared", Type::UINT, Class::MaybeUndefined, Role::Data));
        let count = self.draw.range(1, 3);
        let stmt = self.branch(
            cond,
            |b| {
                let mut block = Vec::new();
                if let (Some((key, mask)), Some(var)) = (key, shared) {
                    b.operation_by_key(key, mask, var, &mut block);
                }
                (0..count).for_each(|_| b.operation_in_series(sum, &mut block));
                b.nonempty(block)
            },
            |_| Vec::new(),
        );
        out.push(stmt);
        if let Some(var) = shared {
            self.log(vec![Expr::Var(var)], out);
        }
    }

    /// An operation whose operand only the lanes that are here have in common. They are those with these low bits of their number: lane
    /// `key` is one of them, and so is every lane that is a multiple of `mask + 1` further.
    fn operation_by_key(&mut self, key: Expr, mask: u32, var: VarId, out: &mut Block) {
        // A float that may be undefined cannot be made a word of.
        let discrete: Vec<Scalar> = self.offered().into_iter().filter(|scalar| !scalar.is_float()).collect();
        let scalar = self.draw.pick(&discrete);
        let ty = Type::vector(scalar, 1);
        let value = match scalar {
            Scalar::Bool => self.boolean(Want::own(1)),
            _ => self.varying(scalar, Want::own(1)),
        };
        let far = self.has(SubgroupOp::Rotate) && self.sure_size() > 2 * (mask + 1);
        let expr = if far && self.draw.percent(40) {
            // Of the lanes that are not here, some have 0.
            let one = Expr::Intrinsic(Intrinsic::Min, vec![key, uint(1)]);
            let distance = bin(BinaryOp::Mul, one, uint(mask + 1));
            Expr::subgroup(SubgroupOp::Rotate, [value, distance])
        } else {
            Expr::subgroup(SubgroupOp::Broadcast, [value, key])
        };
        let result = self.result_variable(ty, Class::MaybeUndefined);
        let assign = self.assign(result, expr);
        out.push(assign);
        for word in self.as_words(result) {
            self.mix_in(var, word, out);
        }
    }

    fn broadcasts_by_key(&self) -> bool {
        self.has(SubgroupOp::Broadcast) && self.has_dynamic_broadcast()
    }

    /// All types that there are.
    fn offered(&self) -> Vec<Scalar> {
        Scalar::ALL.into_iter().filter(|s| !s.is_extended() || self.config.scalars.contains(s)).collect()
    }

    /// Words, and three of the integer types that there are.
    fn series_types(&mut self) -> Vec<Scalar> {
        let offered: Vec<Scalar> = self.offered().into_iter().filter(|scalar| scalar.is_integer()).collect();
        let mut types = vec![Scalar::Uint, Scalar::Int];
        types.extend((0..3).map(|_| self.draw.pick(&offered)));
        types
    }

    /// All operations that the device has, folds as often together as the others.
    fn level_operations(&mut self) {
        for (weight, info) in self.weights.ops.iter_mut().zip(&TABLE) {
            let has = self.config.categories.contains(&info.category) && !self.config.without.contains(&info.op);
            *weight = match (has, info.op.fold()) {
                (false, _) => 0,
                (true, Some(_)) => 2,
                (true, None) => 6,
            };
        }
    }

    /// `sum = sum * 5u + …;`
    fn mix_in(&mut self, sum: VarId, word: Expr, out: &mut Block) {
        let factor = self.draw.pick(&FACTORS);
        self.mix(sum, factor, word, out);
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

    /// The operation whose turn it is, with the type of its value. By chance most of them would not be seen in a hundred programs, and a driver's
    /// compiler has code of its own for many.
    fn operation_in_turn(&mut self) -> Option<(SubgroupOp, Type)> {
        let turn = self.turns.next()?;
        let offered = self.offered();
        let types = |info: &OpInfo| match info.params.contains(&Param::Value) {
            true => offered.iter().copied().filter(|scalar| info.scalars.contains(scalar)).collect(),
            false => vec![Scalar::Uint],
        };
        let has_result = |info: &OpInfo| info.gives != Gives::Nothing && info.category != Category::Derivative;
        let rows = self.weights.ops.iter().zip(&TABLE).filter(|&(&weight, info)| weight > 0 && has_result(info));
        let all: Vec<_> = rows.flat_map(|(_, info)| types(info).into_iter().map(|scalar| (info.op, scalar))).collect();
        let count = all.len() as u64;
        let place = spread(turn, count);
        let &(op, scalar) = all.get(place as usize)?;
        // In every round of all turns each has another width of the four.
        let width = 1 + (turn / count + place) % 4;
        Some((op, Type::vector(scalar, width as u8)))
    }

    /// An operation on a value of any type, or one that has none.
    fn operation_in_series(&mut self, sum: VarId, out: &mut Block) {
        // Where the tangle is open, the word would be, too; and some operations are defined for a part of the lanes only.
        let is_exact = self.frame.flow.is_exact() && !self.draw.percent(25);
        let class = if is_exact { Class::Clean } else { Class::MaybeUndefined };
        let turn = if is_exact { self.operation_in_turn() } else { None };
        let value = match turn {
            Some((_, ty)) => ty,
            None => {
                let scalar = self.draw.pick(&self.offered());
                Type::vector(scalar, self.draw.weighted(&[(5, 1), (2, 2), (2, 3), (2, 4)]))
            }
        };
        let scalar = value.scalar;
        let fits = |info: &OpInfo, class: Class| {
            info.gives != Gives::Nothing
                && (info.scalars.contains(&scalar) || !info.params.contains(&Param::Value))
                && match class {
                    Class::MaybeUndefined => info.may_be_undefined() && info.params.contains(&Param::Value),
                    _ => !info.op.starts_infinite(scalar),
                }
        };
        let in_turn = turn.and_then(|(op, _)| {
            let mut of_class = |class| Some((self.choose(class, |info| info.op == op && fits(info, class))?, class));
            of_class(Class::Clean).or_else(|| of_class(Class::MaybeUndefined))
        });
        let chosen = in_turn.or_else(|| Some((self.choose(class, |info| fits(info, class))?, class)));
        let Some((info, class)) = chosen else { return };
        let all_equal = info.op == SubgroupOp::AllEqual && turn.is_none() && self.draw.percent(50);
        let value = if all_equal { Type::vector(scalar, 4) } else { value };
        let (expr, class) = self.call(info, value, class);
        let ty = info.result_type(Some(value)).expect("an operation on a value has a result");
        if class != Class::Clean {
            return self.keep_open(expr, ty, class, out);
        }
        let var = self.result_variable(ty, class);
        let assign = self.assign(var, expr);
        out.push(assign);
        for word in self.as_words(var) {
            self.mix_in(sum, word, out);
        }
    }

    /// A result that may be open in a variable of its own: a word for all components of a vector, which are open together, or one of its floats, of which
    /// a word is not made if it may be undefined.
    fn keep_open(&mut self, result: Expr, ty: Type, class: Class, out: &mut Block) {
        let (seen, of) = if ty.is_scalar() {
            (result, ty)
        } else {
            let vector = self.frame.local("some", ty, class, Role::Hidden);
            let assign = self.assign(vector, result);
            out.push(assign);
            if ty.scalar.is_float() {
                let component = self.draw.below(ty.width.into()) as u8;
                (Expr::Component(Box::new(Expr::Var(vector)), component), Type::scalar(ty.scalar))
            } else {
                let words = self.as_words(vector).into_iter();
                (words.reduce(|hash, word| mixed(hash, 31, word)).unwrap_or(uint(0)), Type::UINT)
            }
        };
        let var = self.frame.local("some", of, class, Role::Data);
        self.keep(var, seen, out)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tangle_program::tree::walk_block;

    use super::*;
    use crate::from_seed;

    /// How many operations stand with how many of the types of their values in the programs of these seeds.
    fn pairs(config: impl Fn(u64) -> Config) -> usize {
        let mut found = BTreeSet::new();
        for seed in 0..120 {
            let case = from_seed(seed, &config(seed));
            for function in &case.program.functions {
                let mut note = |expr: &Expr| {
                    if let Expr::Subgroup(call) = expr {
                        let ty = call.args.first().and_then(|arg| arg.ty(function));
                        found.extend(ty.map(|ty| (call.op, ty.scalar)));
                    }
                };
                walk_block(&function.body, &mut |stmt| stmt.direct_exprs().for_each(|expr| expr.walk(&mut note)));
            }
        }
        found.len()
    }

    /// In 120 programs, which are what a driver compiles in a minute.
    #[test]
    fn operations_come_with_nearly_every_type() {
        let by_chance = pairs(|_| Config::default());
        let in_turn = pairs(|seed| Config { turn: Some(seed), ..Config::default() });
        assert!(in_turn > 530 && in_turn > by_chance + 40, "{in_turn}, {by_chance} by chance");
    }

    #[test]
    fn every_one_has_its_turn() {
        for count in [1, 2, 3, 4, 6, 12, 97, 600, 1_000] {
            let mut seen: Vec<u64> = (count..2 * count).map(|turn| spread(turn, count)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>(), "{count}");
        }
        assert_eq!(spread(5, 0), 0);
        let apart = (0..599).map(|turn| spread(turn + 1, 600).abs_diff(spread(turn, 600))).min();
        assert!(apart > Some(100), "{apart:?}");
    }
}
