//! Static bounds: what values an expression can have.
//!
//! [`ExprInfo::range`] is an interval analysis without flow: a variable can hold anything of its type, except the counter of a
//! loop, which nothing else writes. That is enough for the guards a program must have around operations that are not defined for
//! all operands (`x << (y & 31u)`, `x / (y | 1u)`), and for loop bounds. The data of a case belong to it, so that a bound may
//! come from a buffer and still be known here and unknown to the compiler.
//!
//! The bounds hold for values that are defined.

use std::cell::OnceCell;

use crate::info::ExprInfo;
pub use crate::interval::Interval;
use crate::undefined::{InFunction, MayBeUndefined};
use crate::uniform::Here;
use tangle_program::case::{Case, Data, EntryPoint, SubgroupSize};
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::rounded_intrinsics;
use tangle_program::subgroup::{Fold, Gives, MAX_SUBGROUP_SIZE, Reach, SubgroupOp};
use tangle_program::tree::{Block, Builtin, Expr, Function, FunctionId, Loop, LoopKind, Stmt, VarId, walk_block};
use tangle_program::types::{Scalar, Type};

/// The most iterations of one loop, unless it only sums something up ([`crate::cost::MAX_LONG_ITERATIONS`]), and the greatest step of its counter.
pub const MAX_LOOP_ITERATIONS: u64 = 128;

/// What is known where an expression stands: its function, the entry point and the data, and where undefined values may be.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    function: &'a Function,
    entry_point: &'a EntryPoint,
    data: &'a Data,
    inputs: Vec<OnceCell<Interval>>,
    /// For the variables of the function: loop counters.
    counters: Vec<Option<Interval>>,
    /// Which values may be undefined; without it, none.
    undefined: Option<InFunction<'a>>,
    /// Helper invocations may be considered inactive, and get anything from a subgroup operation (rule H3).
    excludes_helpers: bool,
    /// What is uniform at the place that a check has come to.
    pub(crate) here: Here,
}

impl<'a> Scope<'a> {
    /// The scope of a function of a case.
    pub fn new(case: &'a Case, function: &'a Function) -> Scope<'a> {
        let mut scope = Scope::unfinished(function, &case.entry_point, &case.data);
        scope.excludes_helpers = case.excludes_helpers();
        scope.learn_counters(&function.body);
        scope
    }

    /// The scope of a function whose body is not there yet. Nothing is known of its variables but what [`Scope::learn`] is given.
    pub fn unfinished(function: &'a Function, entry_point: &'a EntryPoint, data: &'a Data) -> Scope<'a> {
        let inputs = vec![OnceCell::new(); data.inputs.len()];
        Scope {
            function,
            entry_point,
            data,
            inputs,
            counters: vec![None; function.var_count()],
            undefined: None,
            excludes_helpers: false,
            here: Here::default(),
        }
    }

    /// The scope with what is known of undefined values in the function, which has this number.
    #[must_use]
    pub fn with_undefined(self, undefined: &'a MayBeUndefined<'a>, function: FunctionId) -> Scope<'a> {
        Scope { undefined: Some(undefined.in_function(function)), ..self }
    }

    /// What is known of undefined values.
    pub(crate) fn undefined(&self) -> Option<InFunction<'a>> {
        self.undefined
    }

    /// The function whose variables and expressions it is asked for.
    pub fn function(&self) -> &'a Function {
        self.function
    }

    /// The entry point, whose launch bounds the built-ins.
    pub fn entry_point(&self) -> &'a EntryPoint {
        self.entry_point
    }

    /// Lets a variable, the counter of a loop, be known to stay in an interval.
    pub fn learn(&mut self, counter: VarId, range: Interval) {
        let counter = counter as usize;
        if counter >= self.counters.len() {
            self.counters.resize(counter + 1, None);
        }
        self.counters[counter] = Some(range);
    }

    fn learn_counters(&mut self, block: &'a Block) {
        walk_block(block, &mut |stmt| {
            let Stmt::Loop(l) = stmt else { return };
            if (l.counter as usize) < self.counters.len() {
                self.learn(l.counter, self.counter_range(l));
            }
        });
    }

    /// What the counter of a loop can hold at any time: also before the loop (0) and after it.
    fn counter_range(&self, l: &Loop) -> Interval {
        let bound = self.info(&l.bound).range.hi;
        let last = match &l.kind {
            LoopKind::For { init, step, .. } => {
                let init = self.info(init).range.hi;
                init.max(bound.saturating_sub(1).saturating_add(i128::from(*step)))
            }
            LoopKind::DoWhile => bound.max(1),
            LoopKind::While | LoopKind::Forever | LoopKind::Endless => bound,
        };
        Interval::new(0, last).wrapped(Scalar::Uint)
    }

    /// The most iterations of a loop: how often its body can start.
    pub fn iterations(&self, l: &Loop) -> u64 {
        let bound = self.info(&l.bound).range.hi;
        let iterations = match &l.kind {
            LoopKind::For { init, step, .. } => {
                let (distance, step) = (bound - self.info(init).range.lo, i128::from(*step).max(1));
                (distance + step - 1).max(0) / step
            }
            LoopKind::DoWhile => bound.max(1),
            LoopKind::While | LoopKind::Forever | LoopKind::Endless => bound,
        };
        u64::try_from(iterations).unwrap_or(0)
    }

    /// The values that an expression can have, `operands` being what is known of its operands; for a vector, that its components can have.
    pub(crate) fn range_from(&self, expr: &Expr, scalar: Scalar, operands: &[ExprInfo]) -> Interval {
        let of = |i: usize| operands.get(i).map_or(Interval::all(scalar), |operand| operand.range);
        match expr {
            Expr::Bool(value) => Interval::exactly(i128::from(*value)),
            Expr::Int(value) => Interval::exactly(i128::from(*value)),
            Expr::Uint(value) => Interval::exactly(i128::from(*value)),
            Expr::Float(..) | Expr::Load(_) => Interval::all(scalar),
            Expr::Var(var) => self.counters.get(*var as usize).copied().flatten().unwrap_or(Interval::all(scalar)),
            Expr::Builtin(builtin) => self.builtin(*builtin),
            Expr::Input(k) | Expr::InputOf(k, _) => self.input(*k as usize),
            Expr::Flat(k) => {
                self.data.flats.get(*k as usize).map_or(Interval::all(Scalar::Uint), |words| hull_of(words))
            }
            Expr::Uniform(k) => word(&self.data.uniforms, *k),
            Expr::Push(k) => word(&self.data.push, *k),
            Expr::Constant(k) => self.constant(*k),
            Expr::Unary(op, _) => unary(*op, scalar, of(0)),
            Expr::Binary(op, ..) => match operands {
                [x, y] if op.is_comparison() => compared(*op, x, y),
                _ if op.is_comparison() || op.is_logical() => Interval::all(Scalar::Bool),
                _ => binary(*op, scalar, of(0), of(1)),
            },
            Expr::Select(..) => of(1).hull(of(2)),
            Expr::Cast(to, _) => operands.first().map_or(Interval::all(*to), |x| cast(*to, x)),
            Expr::Intrinsic(op, _) => match operands {
                [first, ..] => intrinsic(*op, first, of),
                [] => Interval::all(scalar),
            },
            Expr::Vector(..) => {
                operands.iter().map(|x| x.range).reduce(Interval::hull).unwrap_or(Interval::all(scalar))
            }
            Expr::Component(_, c) => {
                let part = |x: &ExprInfo| x.components.as_ref()?.get(usize::from(*c)).copied();
                operands.first().and_then(part).unwrap_or(of(0))
            }
            Expr::Subgroup(call) => self.subgroup(call.op, scalar, of(0)),
            // Of a nested aggregate as a whole nothing is known.
            Expr::Element(..) if operands.first().is_some_and(ExprInfo::is_nested) => Interval::all(scalar),
            Expr::Element(..) => of(0),
            Expr::Resource(_) => {
                let words = self.data.resources.iter().map(|&word| Interval::exactly(word.into()));
                words.reduce(Interval::hull).unwrap_or(Interval::all(scalar))
            }
        }
    }

    /// `gl_SubgroupID` and `gl_NumSubgroups` are unknown: how invocations are packed is free, and a driver was seen to report them
    /// wrongly (docs/rules.md, section M).
    fn builtin(&self, builtin: Builtin) -> Interval {
        let size = match self.entry_point.subgroup_size {
            SubgroupSize::Required(size) => Interval::exactly(i128::from(size)),
            SubgroupSize::Default | SubgroupSize::Varying => Interval::new(1, i128::from(MAX_SUBGROUP_SIZE)),
        };
        let below = |n: u64| Interval::new(0, (i128::from(n) - 1).max(0));
        let [x, y, z] = self.entry_point.workgroups().size.map(u64::from);
        let product = |sides: [u32; 3]| sides.iter().fold(1, |n: u64, &side| n.saturating_mul(u64::from(side)));
        let range = match builtin {
            Builtin::Lane => Interval::new(0, (size.hi - 1).max(0)),
            Builtin::SubgroupSize => size,
            Builtin::LocalIndex => below(product(self.entry_point.workgroups().size)),
            Builtin::LocalX => below(x),
            Builtin::LocalY => below(y),
            Builtin::LocalZ => below(z),
            Builtin::WorkgroupIndex => below(product(self.entry_point.workgroups().count)),
            Builtin::Helper | Builtin::HelperInput => Interval::new(0, 1),
            Builtin::SubgroupId
            | Builtin::NumSubgroups
            | Builtin::EqMask
            | Builtin::GeMask
            | Builtin::GtMask
            | Builtin::LeMask
            | Builtin::LtMask => Interval::all(Scalar::Uint),
        };
        range.wrapped(Scalar::Uint)
    }

    fn input(&self, k: usize) -> Interval {
        let (Some(cell), Some(words)) = (self.inputs.get(k), self.data.inputs.get(k)) else {
            return Interval::all(Scalar::Uint);
        };
        *cell.get_or_init(|| hull_of(words))
    }

    /// Both of its values count, so that the module is in order with either.
    fn constant(&self, k: u32) -> Interval {
        self.data.constants.get(k as usize).map_or(Interval::all(Scalar::Uint), |constant| {
            Interval::exactly(constant.value.into()).hull(Interval::exactly(constant.default.into()))
        })
    }

    fn subgroup(&self, op: SubgroupOp, scalar: Scalar, x: Interval) -> Interval {
        let most = match self.entry_point.subgroup_size {
            SubgroupSize::Required(size) => i128::from(size.min(MAX_SUBGROUP_SIZE)),
            SubgroupSize::Default | SubgroupSize::Varying => i128::from(MAX_SUBGROUP_SIZE),
        };
        match (op.info().gives, op) {
            _ if self.excludes_helpers && op.info().reach != Reach::Quad => Interval::all(scalar),
            (Gives::Bool | Gives::Nothing | Gives::Mask, _) => Interval::all(scalar),
            (Gives::Uint, SubgroupOp::BallotFindLsb | SubgroupOp::BallotFindMsb) => Interval::new(0, most - 1),
            (Gives::Uint, _) => Interval::new(0, most),
            (Gives::Same, _) if scalar.is_float() => Interval::all(scalar),
            (Gives::Same, SubgroupOp::Exclusive(fold) | SubgroupOp::PartitionedExclusive(fold)) => {
                let identity = as_integer(scalar, fold.identity(scalar));
                folded(fold, scalar, x, most).hull(Interval::exactly(identity))
            }
            // What combines nothing moves a value from some lane.
            (Gives::Same, op) => op.fold().map_or(x, |fold| folded(fold, scalar, x, most)),
        }
    }
}

fn as_integer(scalar: Scalar, bits: u64) -> i128 {
    if scalar.is_signed() { i128::from(scalar.extend(bits) as i64) } else { i128::from(bits) }
}

/// From the least to the greatest of these words.
fn hull_of(words: &[u32]) -> Interval {
    let (lo, hi) = (words.iter().min(), words.iter().max());
    lo.zip(hi).map_or(Interval::all(Scalar::Uint), |(&lo, &hi)| Interval::new(lo.into(), hi.into()))
}

fn word(words: &[u32], k: u32) -> Interval {
    words.get(k as usize).map_or(Interval::all(Scalar::Uint), |&word| Interval::exactly(i128::from(word)))
}

/// The combination of 1 to `most` values of a range.
fn folded(fold: Fold, scalar: Scalar, x: Interval, most: i128) -> Interval {
    match fold {
        Fold::Add => Interval::new(x.lo.min(x.lo * most), x.hi.max(x.hi * most)).wrapped(scalar),
        Fold::Min | Fold::Max => x,
        Fold::And if x.lo >= 0 => Interval::new(0, x.hi),
        Fold::Or | Fold::Xor if x.lo >= 0 => x.bits_of(x),
        Fold::Mul | Fold::And | Fold::Or | Fold::Xor => Interval::all(scalar),
    }
}

fn unary(op: UnaryOp, scalar: Scalar, x: Interval) -> Interval {
    match op {
        UnaryOp::Neg => Interval::new(-x.hi, -x.lo).wrapped(scalar),
        UnaryOp::BitNot if !scalar.is_signed() => {
            let all = Interval::all(scalar);
            Interval::new(all.hi - x.hi, all.hi - x.lo)
        }
        UnaryOp::BitNot => Interval::new(-1 - x.hi, -1 - x.lo),
        UnaryOp::Not => Interval::new(1 - x.hi, 1 - x.lo),
    }
}

/// For the operators that are neither logical nor comparisons.
fn binary(op: BinaryOp, scalar: Scalar, x: Interval, y: Interval) -> Interval {
    let all = Interval::all(scalar);
    if scalar.is_float() {
        return all;
    }
    let corners = |f: fn(i128, i128) -> Option<i128>| {
        Interval::around([f(x.lo, y.lo), f(x.lo, y.hi), f(x.hi, y.lo), f(x.hi, y.hi)], scalar)
    };
    match op {
        BinaryOp::Add => Interval::new(x.lo + y.lo, x.hi + y.hi).wrapped(scalar),
        BinaryOp::Sub => Interval::new(x.lo - y.hi, x.hi - y.lo).wrapped(scalar),
        BinaryOp::Mul => corners(i128::checked_mul),
        BinaryOp::Div if y.contains(0) => all,
        BinaryOp::Div => corners(i128::checked_div),
        BinaryOp::Mod if x.lo < 0 || y.lo <= 0 => all,
        BinaryOp::Mod if x.hi < y.lo => x,
        BinaryOp::Mod => Interval::new(0, x.hi.min(y.hi - 1)),
        BinaryOp::BitAnd => match (x.lo >= 0, y.lo >= 0) {
            (true, true) => Interval::new(0, x.hi.min(y.hi)),
            (true, false) => Interval::new(0, x.hi),
            (false, true) => Interval::new(0, y.hi),
            (false, false) => all,
        },
        BinaryOp::BitOr | BinaryOp::BitXor if x.lo < 0 || y.lo < 0 => all,
        BinaryOp::BitOr => Interval { lo: x.lo.max(y.lo), ..x.bits_of(y) },
        BinaryOp::BitXor => x.bits_of(y),
        BinaryOp::Shl | BinaryOp::Shr if !y.is_within(Interval::new(0, i128::from(scalar.size()) - 1)) => all,
        BinaryOp::Shl => corners(|x, y| x.checked_mul(1 << y)),
        BinaryOp::Shr => corners(|x, y| Some(x >> y)),
        BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne => all,
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => all,
    }
}

/// Of a conversion of a number or bool.
fn cast(to: Scalar, x: &ExprInfo) -> Interval {
    let (from, all) = (x.scalar(), Interval::all(to));
    let x = if from.is_float() { whole_part(x) } else { x.range };
    let wrap = all.hi - all.lo + 1;
    match (from, to) {
        (Scalar::Bool, _) => x,
        (_, Scalar::Bool) if from.is_float() => all,
        _ if to.is_float() => all,
        (_, Scalar::Bool) => Interval::new(i128::from(!x.contains(0)), i128::from(x != Interval::exactly(0))),
        _ => {
            // All of it may lie one turn off.
            let turned = [0, wrap, -wrap].map(|by| Interval::new(x.lo + by, x.hi + by));
            turned.into_iter().find(|turned| turned.is_within(all)).unwrap_or(all)
        }
    }
}

/// The integers that a float can be converted to.
fn whole_part(x: &ExprInfo) -> Interval {
    // More than any integer type has, and room to calculate with it.
    const PLENTY: i128 = 1 << 100;
    let most = x.extent.map_or(PLENTY, |extent| (extent.most as i128).min(PLENTY));
    Interval::new(-most, most)
}

/// What a comparison can give.
fn compared(op: BinaryOp, x: &ExprInfo, y: &ExprInfo) -> Interval {
    if x.scalar().is_float() {
        return Interval::all(Scalar::Bool);
    }
    let (x, y) = (x.range, y.range);
    let (always, never) = match op {
        BinaryOp::Lt => (x.hi < y.lo, x.lo >= y.hi),
        BinaryOp::Le => (x.hi <= y.lo, x.lo > y.hi),
        BinaryOp::Gt => (x.lo > y.hi, x.hi <= y.lo),
        BinaryOp::Ge => (x.lo >= y.hi, x.hi < y.lo),
        BinaryOp::Ne => (x.hi < y.lo || y.hi < x.lo, x.lo == x.hi && x == y),
        BinaryOp::Eq => (x.lo == x.hi && x == y, x.hi < y.lo || y.hi < x.lo),
        _ => (false, false),
    };
    Interval::new(always.into(), (!never).into())
}

/// Of a built-in function, `first` being its first operand and `arg` the ranges of all.
fn intrinsic(op: Intrinsic, first: &ExprInfo, arg: impl Fn(usize) -> Interval) -> Interval {
    let (scalar, x) = (first.scalar(), first.range);
    let all = Interval::all(scalar);
    if scalar.is_float() {
        return all;
    }
    let min = |x: Interval, y: Interval| Interval::new(x.lo.min(y.lo), x.hi.min(y.hi));
    let max = |x: Interval, y: Interval| Interval::new(x.lo.max(y.lo), x.hi.max(y.hi));
    let found = |always: bool| Interval::new(if always { 0 } else { -1 }, 31);
    match op {
        Intrinsic::Min => min(x, arg(1)),
        Intrinsic::Max => max(x, arg(1)),
        Intrinsic::Clamp => min(max(x, arg(1)), arg(2)),
        Intrinsic::Abs if x.lo <= all.lo => all,
        Intrinsic::Abs => {
            let least = if x.contains(0) { 0 } else { x.lo.abs().min(x.hi.abs()) };
            Interval::new(least, x.lo.abs().max(x.hi.abs()))
        }
        Intrinsic::Sign => Interval::new(x.lo.signum(), x.hi.signum()),
        Intrinsic::BitfieldExtract => match (scalar, arg(2).hi) {
            (_, ..=0) => Interval::exactly(0),
            (Scalar::Uint, bits @ 1..=31) => Interval::new(0, (1 << bits) - 1),
            (_, bits @ 1..=31) => Interval::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            _ => all,
        },
        Intrinsic::BitfieldInsert | Intrinsic::BitfieldReverse => all,
        Intrinsic::BitCount => {
            let most = if x.lo >= 0 { i128::from(128 - x.hi.leading_zeros()) } else { 32 };
            Interval::new(i128::from(first.is_nonzero), most)
        }
        Intrinsic::FindLsb => found(first.is_nonzero),
        // A negative int is searched for a 0, and -1 has none.
        Intrinsic::FindMsb => found(first.is_nonzero && x.lo >= 0),
        Intrinsic::Expect => x,
        Intrinsic::MulHigh => {
            let corners =
                [x.lo * arg(1).lo, x.lo * arg(1).hi, x.hi * arg(1).lo, x.hi * arg(1).hi].map(|x| Some(x >> 32));
            Interval::around(corners, scalar)
        }
        Intrinsic::SignedRem => {
            let most = (arg(1).lo.abs().max(arg(1).hi.abs()) - 1).max(0);
            Interval::new(x.lo.clamp(-most, 0), x.hi.clamp(0, most))
        }
        Intrinsic::SignedMod => Interval::new((arg(1).lo + 1).min(0), (arg(1).hi - 1).max(0)),
        Intrinsic::AddCarry | Intrinsic::SubBorrow => Interval::new(0, 1),
        Intrinsic::Mix => x.hull(arg(1)),
        Intrinsic::Any | Intrinsic::All => Interval::all(Scalar::Bool),
        Intrinsic::Dot | Intrinsic::DotAccSat | Intrinsic::Floor | Intrinsic::Ceil | Intrinsic::Trunc => all,
        Intrinsic::Pack16
        | Intrinsic::Pack32
        | Intrinsic::Pack64
        | Intrinsic::Unpack8
        | Intrinsic::Unpack16
        | Intrinsic::Unpack32
        | Intrinsic::FromBits
        | Intrinsic::FromAllBits
        | Intrinsic::ToBits
        | rounded_intrinsics!() => {
            op.info().result(first.ty.unwrap_or(Type::UINT)).map_or(all, |ty| Interval::all(ty.scalar))
        }
    }
}

/// True if the value of an expression of this range, or every component, is known not to be zero: `x | 1`, say.
pub(crate) fn is_nonzero_from(expr: &Expr, range: Interval, operands: &[ExprInfo]) -> bool {
    let of = |i: usize| operands.get(i).is_some_and(|operand| operand.is_nonzero);
    // A conversion makes no zero of a number if its low bits are all there are.
    let keeps = |to: &Scalar| *to != Scalar::Bool && operands.first().is_some_and(|x| x.scalar().size() <= to.size());
    match expr {
        Expr::Binary(BinaryOp::BitOr, ..) => of(0) || of(1),
        Expr::Unary(UnaryOp::Neg, _) => of(0),
        Expr::Cast(to, _) if keeps(to) => of(0),
        Expr::Select(..) => of(1) && of(2),
        Expr::Vector(..) => operands.iter().all(|x| x.is_nonzero),
        _ => !range.contains(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::case::{SpecConstant, SpirvVersion};
    use tangle_program::tree::{Local, SubgroupCall};

    fn entry_point() -> EntryPoint {
        EntryPoint::compute([8, 4, 1], [3, 2, 1], SpirvVersion::V1_3)
    }

    fn function() -> Function {
        let locals = [Type::UINT, Type::INT, Type::MASK, Type::UINT]
            .iter()
            .zip(["u", "i", "v", "counter"])
            .map(|(&ty, name)| Local::new(name, ty));
        Function { name: "f".into(), params: vec![], result: None, locals: locals.collect(), body: vec![] }
    }

    const U: Expr = Expr::Var(0);
    const I: Expr = Expr::Var(1);
    const V: Expr = Expr::Var(2);
    const COUNTER: Expr = Expr::Var(3);
    const ALL_INT: (i128, i128) = (i32::MIN as i128, i32::MAX as i128);
    const ALL_UINT: (i128, i128) = (0, u32::MAX as i128);

    fn bin(x: Expr, op: BinaryOp, y: Expr) -> Expr {
        Expr::binary(op, x, y)
    }

    fn intrinsic(op: Intrinsic, args: &[Expr]) -> Expr {
        Expr::Intrinsic(op, args.to_vec())
    }

    fn sub(op: SubgroupOp, arg: Expr) -> Expr {
        Expr::subgroup(op, [arg])
    }

    fn cast(scalar: Scalar, x: Expr) -> Expr {
        Expr::Cast(scalar, Box::new(x))
    }

    #[test]
    fn ranges() {
        use BinaryOp::*;
        use Expr::{Int, Uint};
        let (function, entry_point) = (function(), entry_point());
        let data = Data {
            inputs: vec![vec![3, 9, 4]],
            uniforms: vec![7],
            constants: vec![SpecConstant { default: 9, value: 4 }],
            flats: Vec::new(),
            ..Data::default()
        };
        let mut scope = Scope::unfinished(&function, &entry_point, &data);
        scope.learn(3, Interval::new(0, 5));
        let low = |x: Expr, mask| bin(x, BitAnd, Uint(mask));
        let small = |x: Expr| bin(x, BitAnd, Int(7));
        let neg = |x| Expr::unary(UnaryOp::Neg, x);
        let lane = Expr::Builtin(Builtin::Lane);
        for (expr, (lo, hi)) in [
            (U, ALL_UINT),
            (I, ALL_INT),
            (COUNTER, (0, 5)),
            (Expr::Bool(true), (1, 1)),
            (Expr::Input(0), (3, 9)),
            (Expr::Input(5), ALL_UINT),
            (Expr::Uniform(0), (7, 7)),
            (Expr::Push(0), ALL_UINT),
            (Expr::Constant(0), (4, 9)),
            (Expr::Constant(1), ALL_UINT),
            (lane.clone(), (0, 127)),
            (Expr::Builtin(Builtin::SubgroupSize), (1, 128)),
            (Expr::Builtin(Builtin::LocalIndex), (0, 31)),
            (Expr::Builtin(Builtin::LocalY), (0, 3)),
            (Expr::Builtin(Builtin::LocalZ), (0, 0)),
            (Expr::Builtin(Builtin::WorkgroupIndex), (0, 5)),
            (Expr::Builtin(Builtin::NumSubgroups), ALL_UINT),
            (low(U, 31), (0, 31)),
            (bin(Uint(12), BitAnd, U), (0, 12)),
            (small(I), (0, 7)),
            (bin(I, BitAnd, Int(-8)), ALL_INT),
            (bin(low(U, 4), BitOr, Uint(3)), (3, 7)),
            (bin(low(U, 4), BitXor, Uint(9)), (0, 15)),
            (bin(U, Mod, Uint(10)), (0, 9)),
            (bin(low(U, 3), Mod, Uint(10)), (0, 3)),
            (bin(U, Mod, U), ALL_UINT),
            (bin(low(U, 7), Add, Uint(1)), (1, 8)),
            (bin(U, Add, Uint(1)), ALL_UINT),
            (bin(low(U, 7), Sub, Uint(1)), ALL_UINT),
            (bin(Uint(9), Sub, low(U, 7)), (2, 9)),
            (bin(small(I), Sub, Int(10)), (-10, -3)),
            (bin(small(I), Mul, Int(-3)), (-21, 0)),
            (bin(U, Mul, U), ALL_UINT),
            (bin(U, Div, Uint(16)), (0, 0x0FFF_FFFF)),
            (bin(small(I), Div, Int(-2)), (-3, 0)),
            (bin(I, Div, Int(-1)), ALL_INT),
            (bin(U, Div, low(U, 1)), ALL_UINT),
            (bin(Uint(1), Shl, low(U, 4)), (1, 16)),
            (bin(Uint(1), Shl, low(U, 63)), ALL_UINT),
            (bin(U, Shr, Uint(28)), (0, 15)),
            (bin(I, Shr, Uint(30)), (-2, 1)),
            (bin(U, Lt, U), (0, 1)),
            (neg(small(I)), (-7, 0)),
            (neg(I), ALL_INT),
            (Expr::unary(UnaryOp::BitNot, small(I)), (-8, -1)),
            (Expr::unary(UnaryOp::BitNot, Uint(1)), (0xFFFF_FFFE, 0xFFFF_FFFE)),
            (Expr::Select(Box::new(Expr::Bool(true)), Box::new(Uint(2)), Box::new(low(U, 1))), (0, 2)),
            (cast(Scalar::Uint, small(I)), (0, 7)),
            (cast(Scalar::Uint, Int(-1)), (0xFFFF_FFFF, 0xFFFF_FFFF)),
            (cast(Scalar::Uint, I), ALL_UINT),
            (cast(Scalar::Int, Uint(u32::MAX)), (-1, -1)),
            (cast(Scalar::Int, Expr::Bool(true)), (1, 1)),
            (cast(Scalar::Uint64, U), ALL_UINT),
            (cast(Scalar::Uint64, I), (0, u64::MAX.into())),
            (cast(Scalar::Uint64, Int(-1)), (u64::MAX.into(), u64::MAX.into())),
            (cast(Scalar::Int64, cast(Scalar::Uint64, Int(-1))), (-1, -1)),
            (cast(Scalar::Int8, U), (-128, 127)),
            (cast(Scalar::Int8, Uint(200)), (-56, -56)),
            (cast(Scalar::Uint8, Int(-1)), (255, 255)),
            (cast(Scalar::Uint16, Uint(65536)), (0, 0)),
            (cast(Scalar::Uint16, low(U, 0x1_0000)), (0, 65535)),
            (bin(cast(Scalar::Uint64, U), Mul, cast(Scalar::Uint64, U)), (0, 0xFFFF_FFFE_0000_0001)),
            (bin(cast(Scalar::Uint8, U), Add, cast(Scalar::Uint8, Uint(1))), (0, 255)),
            (bin(cast(Scalar::Uint64, Uint(1)), Shl, low(U, 63)), (1, 1 << 63)),
            (bin(cast(Scalar::Uint8, Uint(1)), Shl, low(U, 15)), (0, 255)),
            (cast(Scalar::Bool, Uint(5)), (1, 1)),
            (cast(Scalar::Bool, Int(0)), (0, 0)),
            (intrinsic(Intrinsic::Min, &[U, Uint(4)]), (0, 4)),
            (intrinsic(Intrinsic::Max, &[I, Int(4)]), (4, i32::MAX.into())),
            (intrinsic(Intrinsic::Clamp, &[I, Int(-2), Int(3)]), (-2, 3)),
            (intrinsic(Intrinsic::Abs, &[bin(small(I), Sub, Int(10))]), (3, 10)),
            (intrinsic(Intrinsic::Abs, &[bin(small(I), Sub, Int(2))]), (0, 5)),
            (intrinsic(Intrinsic::Abs, &[I]), ALL_INT),
            (intrinsic(Intrinsic::Sign, &[I]), (-1, 1)),
            (intrinsic(Intrinsic::Sign, &[small(I)]), (0, 1)),
            (intrinsic(Intrinsic::BitfieldExtract, &[U, Int(3), Int(4)]), (0, 15)),
            (intrinsic(Intrinsic::BitfieldExtract, &[I, Int(3), Int(4)]), (-8, 7)),
            (intrinsic(Intrinsic::BitfieldExtract, &[I, Int(3), Int(0)]), (0, 0)),
            (intrinsic(Intrinsic::BitCount, &[U]), (0, 32)),
            (intrinsic(Intrinsic::BitCount, &[low(U, 5)]), (0, 3)),
            (intrinsic(Intrinsic::FindLsb, &[U]), (-1, 31)),
            (intrinsic(Intrinsic::FindMsb, &[bin(U, BitOr, Uint(1))]), (0, 31)),
            (intrinsic(Intrinsic::FindMsb, &[bin(I, BitOr, Int(1))]), (-1, 31)),
            (intrinsic(Intrinsic::Expect, &[low(U, 5), Uint(9)]), (0, 5)),
            (intrinsic(Intrinsic::MulHigh, &[U, Uint(16)]), (0, 15)),
            (intrinsic(Intrinsic::MulHigh, &[I, small(I)]), (-4, 3)),
            (intrinsic(Intrinsic::SignedRem, &[I, Int(3)]), (-2, 2)),
            (intrinsic(Intrinsic::SignedRem, &[I, Int(-3)]), (-2, 2)),
            (intrinsic(Intrinsic::SignedRem, &[Int(-1), Int(-3)]), (-1, 0)),
            (intrinsic(Intrinsic::SignedMod, &[I, Int(3)]), (0, 2)),
            (intrinsic(Intrinsic::SignedMod, &[I, Int(-3)]), (-2, 0)),
            (intrinsic(Intrinsic::AddCarry, &[U, U]), (0, 1)),
            (intrinsic(Intrinsic::Mix, &[low(U, 3), Uint(9), Expr::Bool(true)]), (0, 9)),
            (intrinsic(Intrinsic::Unpack8, &[U]), (0, 255)),
            (intrinsic(Intrinsic::Unpack16, &[I]), (-0x8000, 0x7FFF)),
            (intrinsic(Intrinsic::Dot, &[I, I]), ALL_INT),
            (bin(low(U, 5), Le, Uint(5)), (1, 1)),
            (bin(low(U, 5), Le, Uint(4)), (0, 1)),
            (bin(low(U, 5), Lt, Uint(6)), (1, 1)),
            (bin(low(U, 5), Lt, Uint(0)), (0, 0)),
            (bin(low(U, 5), Gt, Uint(5)), (0, 0)),
            (bin(small(I), Ge, Int(0)), (1, 1)),
            (bin(small(I), Ge, Int(8)), (0, 0)),
            (bin(low(U, 5), Ne, Uint(6)), (1, 1)),
            (bin(low(U, 5), Eq, Uint(6)), (0, 0)),
            (bin(low(U, 5), Eq, Uint(5)), (0, 1)),
            (bin(Expr::Uniform(0), Eq, Uint(7)), (1, 1)),
            (bin(Expr::Uniform(0), Ne, Uint(7)), (0, 0)),
            (bin(bin(Uint(1), Lt, Uint(2)), And, bin(Uint(1), Lt, Uint(2))), (0, 1)),
            (Expr::Vector(Type::MASK, vec![Uint(1), Uint(9), Uint(2), Uint(3)]), (1, 9)),
            (Expr::Component(Box::new(Expr::Vector(Type::MASK, vec![Uint(1), Uint(9), Uint(2), Uint(3)])), 1), (9, 9)),
            (Expr::Component(Box::new(V), 0), ALL_UINT),
            (sub(SubgroupOp::BroadcastFirst, low(U, 3)), (0, 3)),
            (sub(SubgroupOp::Reduce(Fold::Add), low(U, 3)), (0, 384)),
            (sub(SubgroupOp::Reduce(Fold::Add), Uint(3)), (3, 384)),
            (sub(SubgroupOp::Exclusive(Fold::Add), Uint(3)), (0, 384)),
            (sub(SubgroupOp::Inclusive(Fold::Mul), Uint(3)), ALL_UINT),
            (sub(SubgroupOp::Reduce(Fold::Min), small(I)), (0, 7)),
            (sub(SubgroupOp::Exclusive(Fold::Min), small(I)), (0, i32::MAX.into())),
            (sub(SubgroupOp::Reduce(Fold::Or), low(U, 5)), (0, 7)),
            (sub(SubgroupOp::Reduce(Fold::And), Uint(5)), (0, 5)),
            (sub(SubgroupOp::Ballot, Expr::Bool(true)), ALL_UINT),
            (sub(SubgroupOp::BallotBitCount, V), (0, 128)),
            (sub(SubgroupOp::BallotFindMsb, V), (0, 127)),
            (sub(SubgroupOp::All, Expr::Bool(true)), (0, 1)),
        ] {
            assert_eq!(scope.info(&expr).range, Interval::new(lo, hi), "{expr:?}");
        }
        let required = EntryPoint { subgroup_size: SubgroupSize::Required(16), ..entry_point.clone() };
        let scope = Scope::unfinished(&function, &required, &data);
        assert_eq!(scope.info(&lane).range, Interval::new(0, 15));
        let clustered = Expr::Subgroup(SubgroupCall {
            op: SubgroupOp::Clustered(Fold::Add),
            args: vec![Uint(2)],
            cluster: Some(4),
        });
        assert_eq!(scope.info(&clustered).range, Interval::new(2, 32));
    }

    #[test]
    fn nonzero() {
        let (function, entry_point, data) = (function(), entry_point(), Data::default());
        let scope = Scope::unfinished(&function, &entry_point, &data);
        let odd = || bin(I, BinaryOp::BitOr, Expr::Int(1));
        let vector = |x: Expr, y: Expr| Expr::Vector(Type::vector(Scalar::Int, 2), vec![x, y]);
        for (expr, want) in [
            (odd(), true),
            (cast(Scalar::Int64, odd()), true),
            // 256 | 1 is not zero, but its low bits may be those of 256 alone for other numbers.
            (cast(Scalar::Int8, odd()), false),
            (Expr::unary(UnaryOp::Neg, odd()), true),
            (cast(Scalar::Uint, odd()), true),
            (vector(odd(), Expr::Int(-1)), true),
            (vector(odd(), I), false),
            (I, false),
            (bin(I, BinaryOp::BitOr, Expr::Int(0)), false),
            (bin(odd(), BinaryOp::Mul, odd()), false),
            (Expr::Select(Box::new(Expr::Bool(true)), Box::new(odd()), Box::new(Expr::Int(0))), false),
        ] {
            assert_eq!(scope.info(&expr).is_nonzero, want, "{expr:?}");
        }
    }

    /// Against the loops as the table of [`Loop`] says them.
    #[test]
    fn loops() {
        let for_loop = |init, step| LoopKind::For { init: Expr::Uint(init), step, update: vec![] };
        for (kind, bound, iterations, last) in [
            (for_loop(0, 1), 4, 4, 4),
            (for_loop(1, 2), 6, 3, 7),
            (for_loop(9, 1), 4, 0, 9),
            (LoopKind::While, 4, 4, 4),
            (LoopKind::While, 0, 0, 0),
            (LoopKind::DoWhile, 4, 4, 4),
            (LoopKind::DoWhile, 0, 1, 1),
            (LoopKind::Forever, 4, 4, 4),
        ] {
            let l = Loop {
                kind,
                counter: 3,
                bound: Expr::Uint(bound),
                test: None,
                body: vec![],
                control: Default::default(),
            };
            let function = Function { body: vec![Stmt::Loop(Box::new(l.clone()))], ..function() };
            let (entry_point, data) = (entry_point(), Data::default());
            let mut scope = Scope::unfinished(&function, &entry_point, &data);
            scope.learn_counters(&function.body);
            assert_eq!(scope.iterations(&l), iterations, "{l:?}");
            assert_eq!(scope.info(&COUNTER).range.hi.max(0), last, "{l:?}");
        }
    }
}
