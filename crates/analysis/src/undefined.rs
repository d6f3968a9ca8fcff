//! Which values may be undefined.
//!
//! An undefined value is poison: whatever is computed from it is undefined too, even `x - x`, and the program stays valid only as
//! long as it decides nothing (rules D1 and D2). This analysis says where poison may be, without knowing the lane map: it goes by
//! the operations that can give an undefined result at all, except the forms that are defined for every tangle.
//!
//! A variable may be undefined if anything assigned to it anywhere in its function may be; order of execution is ignored. So is the
//! place of a call: an undefined argument at one call makes the parameter undefined for all. So is shared memory: an array holds
//! undefined values if one is ever written to it.

use tangle_program::case::EntryPoint;
use tangle_program::float;
use tangle_program::memory::ArrayId;
use tangle_program::ops::Intrinsic;
use tangle_program::subgroup::{Defined, Fold, SubgroupOp};
use tangle_program::tree::{
    Arg, Block, Builtin, Direction, Expr, Function, FunctionId, Program, Stmt, SubgroupCall, VarId,
};
use tangle_program::types::Scalar;

/// Places that hold values: which may hold an undefined one.
pub(crate) trait Places {
    /// True if the variable of the function may hold one.
    fn var(&self, var: VarId) -> bool;
    /// An array in shared memory.
    fn array(&self, array: ArrayId) -> bool;
}

/// True if some lane's value may be undefined though its operands are not. `scalar`: that of its first operand.
pub(crate) fn makes_undefined(
    expr: &Expr,
    scalar: impl FnOnce() -> Option<Scalar>,
    entry_point: &EntryPoint,
    places: &impl Places,
) -> bool {
    match expr {
        Expr::Var(var) => places.var(*var),
        Expr::Load(load) => places.array(load.array),
        Expr::Subgroup(call) => !is_defined_form(call, scalar, entry_point),
        Expr::Bool(_)
        | Expr::Int(_)
        | Expr::Uint(_)
        | Expr::Float(..)
        | Expr::Builtin(_)
        | Expr::Input(_)
        | Expr::InputOf(..)
        | Expr::Flat(_)
        | Expr::Uniform(_)
        | Expr::Push(_)
        | Expr::Constant(_)
        | Expr::Unary(..)
        | Expr::Binary(..)
        | Expr::Select(..)
        | Expr::Cast(..)
        | Expr::Intrinsic(..)
        | Expr::Vector(..)
        | Expr::Component(..)
        | Expr::Resource(_)
        | Expr::Element(..) => false,
    }
}

/// True if some lane's value may be undefined.
fn may_be_undefined(expr: &Expr, function: &Function, entry_point: &EntryPoint, places: &impl Places) -> bool {
    expr.any(&mut |expr| {
        let scalar = || expr.operands().next()?.ty(function).map(|ty| ty.scalar);
        makes_undefined(expr, scalar, entry_point, places)
    })
}

/// True if the result is defined in every lane of every tangle, given defined operands. (Operators that are not
/// defined for all operands do not come in here: they are guarded, [`crate::validate`].)
fn is_defined_form(call: &SubgroupCall, scalar: impl FnOnce() -> Option<Scalar>, entry_point: &EntryPoint) -> bool {
    if call.op.may_leave_open()
        && let Some(value) = call.args.first().filter(|value| value.is_preserved())
    {
        return is_ordered(value);
    }
    if matches!(call.op, SubgroupOp::Exclusive(_)) {
        return !scalar().is_some_and(|scalar| call.op.starts_infinite(scalar));
    }
    let second = call.args.get(1);
    let mask = call.args.first();
    match call.op.info().defined {
        Defined::Always => true,
        Defined::Never => false,
        // The own lane, and lanes found in the tangle itself, are in the tangle.
        Defined::OwnLaneOrInTangle => {
            second.is_some_and(|lane| *lane == Expr::Builtin(Builtin::Lane) || is_in_tangle(lane))
        }
        Defined::LaneInTangle => second.is_some_and(is_in_tangle),
        Defined::ZeroSecond => second == Some(&Expr::Uint(0)),
        Defined::BitIndex => match second {
            Some(Expr::Builtin(Builtin::Lane)) => true,
            Some(Expr::Uint(index)) => *index < entry_point.subgroup_size.required().unwrap_or(1),
            _ => false,
        },
        Defined::MaskInTangle => {
            mask.is_some_and(|mask| is_own_bit(mask) || matches!(mask, Expr::Subgroup(c) if c.op == SubgroupOp::Ballot))
        }
        Defined::FullMask => mask.is_some_and(|mask| is_own_bit(mask) || is_full_ballot(mask)),
    }
}

/// True if a preserved number is visibly neither a NaN nor a negative zero, so that a minimum or maximum of it is one number (docs/rules.md,
/// rules F7 and F8): its bits are those of an infinity at most.
fn is_ordered(value: &Expr) -> bool {
    match value {
        Expr::Intrinsic(op, args) if op.is_from_bits() => match args.as_slice() {
            [Expr::Intrinsic(Intrinsic::Min, bounds)] => matches!(bounds.as_slice(), [_, Expr::Uint(most)]
                if u64::from(*most) <= float::infinity(Scalar::Float)),
            [Expr::Uint(bits)] => u64::from(*bits) <= float::infinity(Scalar::Float),
            _ => false,
        },
        Expr::Intrinsic(Intrinsic::Mix, args) => args.iter().take(2).all(is_ordered),
        Expr::Select(_, x, y) => is_ordered(x) && is_ordered(y),
        Expr::Vector(_, args) => args.iter().all(is_ordered),
        Expr::Component(x, _) => is_ordered(x),
        // An infinity of the operation itself may be negative, but no zero.
        Expr::Subgroup(call) => call.op.info().preserves() && call.args.first().is_some_and(is_ordered),
        _ => false,
    }
}

/// The lane number of some lane of the tangle.
fn is_in_tangle(lane: &Expr) -> bool {
    let Expr::Subgroup(call) = lane else { return false };
    let of_lane = call.args.first() == Some(&Expr::Builtin(Builtin::Lane));
    match call.op {
        SubgroupOp::BroadcastFirst | SubgroupOp::Reduce(Fold::Min | Fold::Max) => of_lane,
        SubgroupOp::BallotFindLsb | SubgroupOp::BallotFindMsb => call.args.first().is_some_and(is_full_ballot),
        _ => false,
    }
}

fn is_own_bit(mask: &Expr) -> bool {
    *mask == Expr::Builtin(Builtin::EqMask)
}

fn is_full_ballot(mask: &Expr) -> bool {
    matches!(mask, Expr::Subgroup(call) if call.op == SubgroupOp::Ballot && call.args.first() == Some(&Expr::Bool(true)))
}

/// What is known of a whole program.
#[derive(Clone, Debug)]
pub struct MayBeUndefined<'a> {
    program: &'a Program,
    entry_point: &'a EntryPoint,
    functions: Vec<Marks>,
    arrays: Vec<bool>,
}

/// What may be undefined in one function: variables, parameters first, and its result.
#[derive(Clone, Debug)]
struct Marks {
    vars: Vec<bool>,
    result: bool,
}

impl<'a> MayBeUndefined<'a> {
    /// Analyses a program, until nothing more is found.
    pub fn of(program: &'a Program, entry_point: &'a EntryPoint) -> MayBeUndefined<'a> {
        let functions = &program.functions;
        let none = |function: &Function| Marks { vars: vec![false; function.var_count()], result: false };
        let arrays = vec![false; program.shared.len()];
        let mut found =
            MayBeUndefined { program, entry_point, functions: functions.iter().map(none).collect(), arrays };
        // Marks only ever appear, so this ends, mostly after two rounds.
        loop {
            let mut round = Round { program, found: &mut found, current: 0, changed: false };
            for (id, function) in functions.iter().enumerate() {
                round.current = id;
                round.block(&function.body);
            }
            if !round.changed {
                return found;
            }
        }
    }

    /// True if the variable may hold an undefined value.
    pub fn var(&self, function: FunctionId, var: VarId) -> bool {
        let marks = self.functions.get(function as usize);
        marks.and_then(|marks| marks.vars.get(var as usize)).copied().unwrap_or(false)
    }

    /// True if the value of an expression of the function may be undefined.
    fn expr(&self, function: FunctionId, expr: &Expr) -> bool {
        let of = self.program.functions.get(function as usize);
        of.is_none_or(|of| may_be_undefined(expr, of, self.entry_point, &self.in_function(function)))
    }

    /// What its variables, and the arrays, hold.
    pub(crate) fn in_function(&self, function: FunctionId) -> InFunction<'_> {
        InFunction { found: self, function }
    }

    /// True if the result of the function may be undefined.
    pub fn result(&self, function: FunctionId) -> bool {
        self.functions.get(function as usize).is_some_and(|marks| marks.result)
    }
}

/// What the variables of one function, and the arrays, hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFunction<'a> {
    found: &'a MayBeUndefined<'a>,
    function: FunctionId,
}

impl Places for InFunction<'_> {
    fn var(&self, var: VarId) -> bool {
        self.found.var(self.function, var)
    }

    fn array(&self, array: ArrayId) -> bool {
        self.found.arrays.get(array as usize).copied().unwrap_or(false)
    }
}

/// One pass over the program.
struct Round<'r, 'a> {
    program: &'r Program,
    found: &'r mut MayBeUndefined<'a>,
    current: usize,
    changed: bool,
}

impl Round<'_, '_> {
    fn block(&mut self, block: &Block) {
        block.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Return(Some(value)) => {
                if !self.found.functions[self.current].result && self.expr(value) {
                    self.found.functions[self.current].result = true;
                    self.changed = true;
                }
            }
            Stmt::Call { function, args, dest } => self.call(*function as usize, args, *dest),
            Stmt::Store { array, value, .. } => {
                if self.expr(value) {
                    self.mark_array(*array);
                }
            }
            Stmt::Atomic(atomic) => {
                if self.expr(&atomic.value) || atomic.compare.as_ref().is_some_and(|compare| self.expr(compare)) {
                    self.mark_array(atomic.array);
                }
                let holds = self.found.arrays.get(atomic.array as usize).copied().unwrap_or(false);
                if let Some(dest) = atomic.dest.filter(|_| holds) {
                    self.mark(self.current, dest);
                }
            }
            // What a statement writes is undefined if something is that it reads.
            _ => {
                for var in stmt.written() {
                    if stmt.direct_exprs().any(|expr| self.expr(expr)) {
                        self.mark(self.current, var);
                    }
                }
                stmt.nested_blocks().for_each(|block| self.block(block));
            }
        }
    }

    fn call(&mut self, callee: usize, args: &[Arg], dest: Option<VarId>) {
        let Some(function) = self.program.functions.get(callee) else { return };
        for (id, (param, arg)) in (0..).zip(function.params.iter().zip(args)) {
            let into = match arg {
                Arg::In(value) => self.expr(value),
                Arg::Out(var) => param.direction == Direction::Inout && self.var(self.current, *var),
            };
            if into {
                self.mark(callee, id);
            }
            if let Arg::Out(var) = arg
                && self.var(callee, id)
            {
                self.mark(self.current, *var);
            }
        }
        if let Some(dest) = dest
            && self.found.functions[callee].result
        {
            self.mark(self.current, dest);
        }
    }

    fn var(&self, function: usize, var: VarId) -> bool {
        self.found.functions[function].vars.get(var as usize).copied().unwrap_or(false)
    }

    fn expr(&self, expr: &Expr) -> bool {
        self.found.expr(self.current as FunctionId, expr)
    }

    fn mark_array(&mut self, array: ArrayId) {
        if let Some(mark) = self.found.arrays.get_mut(array as usize) {
            self.changed |= !*mark;
            *mark = true;
        }
    }

    fn mark(&mut self, function: usize, var: VarId) {
        if let Some(mark) = self.found.functions[function].vars.get_mut(var as usize) {
            self.changed |= !*mark;
            *mark = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::case::{SpirvVersion, SubgroupSize};
    use tangle_program::ops::BinaryOp;
    use tangle_program::tree::{Local, Param};
    use tangle_program::types::{Scalar, Type};

    fn entry_point(subgroup_size: SubgroupSize) -> EntryPoint {
        EntryPoint { subgroup_size, ..EntryPoint::compute([8, 1, 1], [1, 1, 1], SpirvVersion::V1_3) }
    }

    fn lane() -> Expr {
        Expr::Builtin(Builtin::Lane)
    }

    fn ballot(predicate: Expr) -> Expr {
        Expr::subgroup(SubgroupOp::Ballot, [predicate])
    }

    fn shuffle(source: Expr) -> Expr {
        Expr::subgroup(SubgroupOp::Shuffle, [Expr::Input(0), source])
    }

    /// Variable 0 holds something undefined, and no other place does.
    struct FirstVar;

    impl Places for FirstVar {
        fn var(&self, var: VarId) -> bool {
            var == 0
        }

        fn array(&self, _: ArrayId) -> bool {
            false
        }
    }

    #[test]
    fn forms() {
        use SubgroupOp as Op;
        let odd = || Expr::binary(BinaryOp::Eq, Expr::binary(BinaryOp::BitAnd, lane(), Expr::Uint(1)), Expr::Uint(1));
        let call = |op, x, y| Expr::subgroup(op, [x, y]);
        let one = |op, x| Expr::subgroup(op, [x]);
        let first = || one(Op::BroadcastFirst, lane());
        let found = || one(Op::BallotFindLsb, ballot(Expr::Bool(true)));
        let function = &program(vec![], vec![]).functions[1];
        for (expr, want) in [
            (Expr::Input(0), false),
            (Expr::Var(0), true),
            (Expr::Var(1), false),
            (Expr::binary(BinaryOp::Sub, Expr::Var(0), Expr::Var(0)), true),
            (one(Op::Reduce(Fold::Add), lane()), false),
            (one(Op::Reduce(Fold::Add), Expr::Var(0)), true),
            (shuffle(Expr::Uint(0)), true),
            (shuffle(lane()), false),
            (shuffle(first()), false),
            (shuffle(one(Op::BroadcastFirst, Expr::Input(0))), true),
            (shuffle(found()), false),
            (shuffle(one(Op::Reduce(Fold::Max), lane())), false),
            (shuffle(one(Op::BallotFindLsb, ballot(odd()))), true),
            (call(Op::Broadcast, lane(), Expr::Uint(0)), true),
            (call(Op::Broadcast, lane(), first()), false),
            (call(Op::ShuffleXor, lane(), Expr::Uint(1)), true),
            (call(Op::ShuffleXor, lane(), Expr::Uint(0)), false),
            (call(Op::ShuffleUp, Expr::Var(0), Expr::Uint(0)), true),
            (call(Op::Rotate, lane(), Expr::Uint(0)), false),
            (call(Op::QuadBroadcast, lane(), Expr::Uint(0)), true),
            (call(Op::BallotBitExtract, Expr::Var(1), lane()), false),
            (call(Op::BallotBitExtract, Expr::Var(1), Expr::Uint(0)), false),
            (call(Op::BallotBitExtract, Expr::Var(1), Expr::Uint(1)), true),
            (one(Op::BallotBitCount, Expr::Var(1)), true),
            (one(Op::BallotBitCount, ballot(odd())), false),
            (one(Op::BallotInclusiveBitCount, Expr::Builtin(Builtin::EqMask)), false),
            (one(Op::BallotExclusiveBitCount, Expr::Builtin(Builtin::LeMask)), true),
            (one(Op::BallotFindMsb, ballot(odd())), true),
            (one(Op::BallotFindMsb, ballot(Expr::Bool(true))), false),
            (one(Op::Exclusive(Fold::Min), lane()), false),
            // An infinity.
            (one(Op::Exclusive(Fold::Min), Expr::Float(Scalar::Float, 4)), true),
            (one(Op::Exclusive(Fold::Add), Expr::Float(Scalar::Float, 4)), false),
        ] {
            assert_eq!(
                may_be_undefined(&expr, function, &entry_point(SubgroupSize::Default), &FirstVar),
                want,
                "{expr:?}"
            );
        }
        let third = call(Op::BallotBitExtract, Expr::Var(1), Expr::Uint(3));
        assert!(!may_be_undefined(&third, function, &entry_point(SubgroupSize::Required(4)), &FirstVar));
        assert!(may_be_undefined(&third, function, &entry_point(SubgroupSize::Required(2)), &FirstVar));
    }

    /// `f(in a, out b, inout c) -> uint`, and a main with the locals 0 to 3.
    fn program(callee: Block, main: Block) -> Program {
        let param = |name: &str, direction| Param { name: name.into(), direction, ty: Type::UINT };
        let function = |name: &str, params, body| Function {
            name: name.into(),
            params,
            result: Some(Type::UINT),
            locals: (0..4).map(|i| Local::new(format!("v{i}"), Type::UINT)).collect(),
            body,
        };
        let params = vec![param("a", Direction::In), param("b", Direction::Out), param("c", Direction::Inout)];
        Program { shared: vec![], functions: vec![function("f", params, callee), function("main", vec![], main)] }
    }

    fn assign(var: VarId, value: Expr) -> Stmt {
        Stmt::Assign { var, value }
    }

    #[test]
    fn spread() {
        let entry_point = entry_point(SubgroupSize::Default);
        let undefined = || shuffle(Expr::Uint(0));
        let call = |arg, out, inout| Stmt::Call {
            function: 0,
            args: vec![Arg::In(arg), Arg::Out(out), Arg::Out(inout)],
            dest: Some(3),
        };
        let marked = |callee: Block, main: Block| -> Vec<VarId> {
            let program = program(callee, main);
            let found = MayBeUndefined::of(&program, &entry_point);
            (0..4).filter(|&var| found.var(1, var)).collect()
        };
        let none: Vec<VarId> = vec![];
        // Order does not matter: 0 is undefined by way of 1, which comes later.
        assert_eq!(marked(vec![], vec![assign(0, Expr::Var(1)), assign(1, undefined())]), [0, 1]);
        assert_eq!(marked(vec![], vec![call(Expr::Uint(1), 1, 2)]), none);
        // Through the result.
        assert_eq!(marked(vec![Stmt::Return(Some(undefined()))], vec![call(Expr::Uint(1), 1, 2)]), [3]);
        // In through a, out through b.
        assert_eq!(marked(vec![assign(1, Expr::Var(0))], vec![call(undefined(), 1, 2)]), [1]);
        // In and out through c.
        assert_eq!(
            marked(vec![assign(1, Expr::Var(2))], vec![assign(2, undefined()), call(Expr::Uint(1), 1, 2)]),
            [1, 2]
        );
        // What an out argument held before is lost.
        assert_eq!(marked(vec![assign(2, Expr::Var(1))], vec![assign(1, undefined()), call(Expr::Uint(1), 1, 2)]), [1]);
    }
}
