//! A small program for every planted fault: what a right device logs, and what the faulty one does.
//!
//! A text names the log sites `A`, `B`, … with the lanes (local indices) that come by as a hexadecimal mask, and the words that they log, in the
//! order of the lanes; several words of a lane are joined by `/`. `A=07` alone: each logs just that mask.

use super::common::*;
use tangle_oracle::faults::Fault;
use tangle_program::case::{Case, FloatControls, FloatMode, SpecConstant, Tier};
use tangle_program::control::{LoopControl, SelectionControl};
use tangle_program::memory::{AtomicOp, Shared, StorageClass, Sync};
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{
    Arg, Atomic, Builtin, Direction, Expr, Label, Load, Local, LoopKind, Param, Resource, Stmt, SubgroupCall,
};
use tangle_program::types::{Scalar, Shape, Type};

const A: u32 = 1;
const B: u32 = 2;
const C: u32 = 3;

/// A fault, a program, and what is logged on a device with subgroups of 8 without it and with it.
pub type Row = (Fault, Case, &'static str, &'static str);

/// The programs of all faults.
#[derive(Default)]
pub struct Programs {
    /// At least one for each fault.
    pub rows: Vec<Row>,
    /// Programs on which a fault does nothing.
    pub same: Vec<(Fault, Case)>,
}

pub fn programs() -> Programs {
    let mut programs = Programs::default();
    for topic in [
        control_flow,
        who_takes_part,
        operations,
        memory,
        elements,
        nested_aggregates,
        descriptors,
        types,
        preserved,
        rounded,
        built_ins_and_arithmetic,
        idioms,
        algebra,
        statements,
        uniform_operands,
        open_tangles,
    ] {
        topic(&mut programs);
    }
    programs
}

/// The lane: less than 8, as an index and a distance of a shift have to be.
fn lane() -> Expr {
    bin(super::common::lane(), BinaryOp::BitAnd, uint(7))
}

fn number(expr: Expr) -> Expr {
    Expr::Cast(Scalar::Uint, Box::new(expr))
}

fn int(expr: Expr) -> Expr {
    Expr::Cast(Scalar::Int, Box::new(expr))
}

/// True in the lanes of a mask.
fn among(mask: u32) -> Expr {
    bin(bin(bin(uint(mask), BinaryOp::Shr, lane()), BinaryOp::BitAnd, uint(1)), BinaryOp::Eq, uint(1))
}

/// The lanes of a mask log an expression at A.
fn of(mask: u32, value: Expr) -> Case {
    main_of([if mask == 0xFF { log(A, [value]) } else { when(among(mask), [log(A, [value])]) }])
}

/// The same of a value that has to be in a variable to be logged: it is a floating-point number, or has 64 bits.
fn of_type(mask: u32, scalar: Scalar, value: Expr) -> Case {
    let mut case = main_of([when(among(mask), [set(0, value), log(A, [var(0)])])]);
    case.program.functions[0].locals = vec![Local::new("x0", Type::scalar(scalar))];
    case
}

fn clustered(op: SubgroupOp, args: impl Into<Vec<Expr>>, size: u32) -> Expr {
    Expr::Subgroup(SubgroupCall { op, args: args.into(), cluster: Some(size) })
}

/// Adds 1 to the second variable.
fn count() -> Stmt {
    set(1, bin(var(1), BinaryOp::Add, uint(1)))
}

fn parity() -> Expr {
    bin(lane(), BinaryOp::BitAnd, uint(1))
}

fn control_flow(programs: &mut Programs) {
    use Fault as F;
    let sides = || main_of([when(below(8), []), see(A), either(below(4), [], []), see(B)]);
    let branch = |control| {
        let branch = Stmt::If { cond: below(4), then: vec![see(A)], otherwise: vec![see(B)], control };
        main_of([branch])
    };
    let continues = || main_of([counted(0, uint(2), [], [count(), when(odd(), [Stmt::Continue])]), log(A, [var(1)])]);
    let test = |control| {
        let mut counted = counted(0, lane(), [], [count()]);
        if let Stmt::Loop(l) = &mut counted {
            l.control = control;
        }
        main_of([counted, log(A, [var(1)])])
    };
    let bounded = |kind, bound| {
        let mut counted = counted(0, bound, [], [count()]);
        if let Stmt::Loop(l) = &mut counted {
            l.kind = kind;
        }
        main_of([counted, log(A, [var(1)])])
    };
    let endless = || {
        let zero = bin(var(0), BinaryOp::Eq, uint(0));
        let less = set(0, bin(var(0), BinaryOp::Shr, uint(1)));
        let mut looped = counted(2, uint(32), [], [less, count(), when(zero, [Stmt::Break])]);
        if let Stmt::Loop(l) = &mut looped {
            l.kind = LoopKind::Endless;
        }
        main_of([set(0, uint(16)), looped, log(A, [var(1)])])
    };
    let early = || {
        let callee = function("callee", [when(below(4), [Stmt::Return(None)]), see(A)]);
        case(vec![callee, function("main", [call(0), see(B)])])
    };
    let out = || {
        let body = [set(0, uint(7)), when(below(4), [Stmt::Return(None)]), set(0, uint(8))];
        let mut callee = function("callee", body);
        callee.params = vec![Param { name: "x0".into(), direction: Direction::Out, ty: Type::UINT }];
        callee.locals.clear();
        let call = Stmt::Call { function: 0, args: vec![Arg::Out(0)], dest: None };
        case(vec![callee, function("main", [set(0, uint(1)), call, log(A, [var(0)])])])
    };
    let arms = |first: Stmt, second: Stmt| {
        switch(parity(), [arm([Label::Case(0)], [first]), arm([Label::Case(1)], [second, Stmt::Break])])
    };
    programs.rows.extend([
        (F::IfMergeLosesLastLane, sides(), "A=FF B=FF", "A=FF B=7F"),
        (F::IfMergeKeepsOneSide, sides(), "A=FF B=FF", "A=FF B=F0"),
        (
            F::LoopMergeLosesEarlyLanes,
            main_of([counted(0, bin(lane(), BinaryOp::BitAnd, uint(3)), [], []), see(A)]),
            "A=FF",
            "A=88",
        ),
        (F::ContinueBreaks, continues(), "A=FF:[2]", "A=FF:[2 1 2 1 2 1 2 1]"),
        (F::ContinueLanesLost, continues(), "A=FF:[2]", "A=55:[2]"),
        (
            F::BreakIgnored,
            main_of([counted(0, uint(2), [], [when(odd(), [Stmt::Break]), count()]), log(A, [var(1)])]),
            "A=FF:[2 0 2 0 2 0 2 0]",
            "A=FF:[2]",
        ),
        (F::EarlyReturnLost, early(), "A=F0 B=FF", "A=F0 B=F0"),
        (F::ReturnIgnored, early(), "A=F0 B=FF", "A=FF B=FF"),
        (F::SwitchMergeLosesLanes, main_of([arms(Stmt::Break, set(0, uint(1))), see(A)]), "A=FF", "A=AA"),
        (F::FallthroughLost, main_of([arms(see(A), see(B)), see(C)]), "A=55 B=FF C=FF", "A=55 B=AA C=AA"),
        (F::LoopTestOfFirstLane, test(LoopControl::Unspecified), "A=FF:[0 1 2 3 4 5 6 7]", "A=FF:[0]"),
        (F::UnrolledTestOfFirstLane, test(LoopControl::Unroll), "A=FF:[0 1 2 3 4 5 6 7]", "A=FF:[0]"),
        (F::BranchOfFirstLane, branch(SelectionControl::Unspecified), "A=0F B=F0", "A=FF B=-"),
        (F::FlattenedBranchOfFirstLane, branch(SelectionControl::Flatten), "A=0F B=F0", "A=FF B=-"),
        (F::ZeroTripRuns, bounded(LoopKind::While, uint(0)), "A=FF:[0]", "A=FF:[1]"),
        (F::OneTripSkipped, bounded(LoopKind::While, uint(1)), "A=FF:[1]", "A=FF:[0]"),
        (F::SingleBlockLoopOnce, bounded(LoopKind::DoWhile, uint(3)), "A=FF:[3]", "A=FF:[1]"),
        (F::EndlessLoopOnce, endless(), "A=FF:[5]", "A=FF:[1]"),
        (F::LongLoopStops, bounded(LoopKind::Forever, uint(100)), "A=FF:[100]", "A=FF:[48]"),
        (F::AssumptionUnreachable, main_of([see(A), Stmt::Assume(Expr::Bool(true)), see(B)]), "A=FF B=FF", "A=FF B=-"),
        (F::EarlyReturnNoCopyOut, out(), "A=FF:[7 7 7 7 8 8 8 8]", "A=FF:[1 1 1 1 8 8 8 8]"),
        (
            F::StoreToLeftLanes,
            main_of([counted(0, uint(1), [], [when(odd(), [Stmt::Continue]), set(1, uint(5))]), log(A, [var(1)])]),
            "A=FF:[5 0 5 0 5 0 5 0]",
            "A=FF:[5]",
        ),
        (
            F::StoreIgnoresIf,
            main_of([when(odd(), [set(1, uint(5))]), log(A, [var(1)])]),
            "A=FF:[0 5 0 5 0 5 0 5]",
            "A=FF:[5]",
        ),
    ]);
    // A `continue` in a switch is none of its business.
    let inside = switch(parity(), [arm([Label::Case(1)], [Stmt::Continue])]);
    let in_switch = main_of([counted(0, uint(2), [], [count(), inside]), log(A, [var(1)])]);
    programs.same.push((F::ContinueBreaks, in_switch));
    programs.same.extend([
        (F::BranchOfFirstLane, branch(SelectionControl::Flatten)),
        (F::FlattenedBranchOfFirstLane, branch(SelectionControl::DontFlatten)),
        (F::LoopTestOfFirstLane, test(LoopControl::Unroll)),
        (F::UnrolledTestOfFirstLane, test(LoopControl::DontUnroll)),
    ]);
    // Each subgroup has a lowest lane of its own.
    let mut two = main_of([either(bin(Expr::Builtin(Builtin::LocalIndex), BinaryOp::Lt, uint(8)), [see(A)], [see(B)])]);
    two.entry_point.workgroups_mut().size = [16, 1, 1];
    programs.same.push((F::BranchOfFirstLane, two));
}

fn who_takes_part(programs: &mut Programs) {
    use Fault as F;
    let sides = || main_of([either(below(4), [see(A)], [see(B)])]);
    let early = || {
        let callee = function("callee", [when(below(4), [Stmt::Return(None)]), see(A)]);
        case(vec![callee, function("main", [call(0)])])
    };
    let any = op(SubgroupOp::Any, [bin(lane(), BinaryOp::Eq, uint(5))]);
    programs.rows.extend([
        (F::ThenWithAllLanes, sides(), "A=0F B=F0", "A=0F:[255] B=F0"),
        (F::ElseWithAllLanes, sides(), "A=0F B=F0", "A=0F B=F0:[255]"),
        (
            F::LoopSeesLeftLanes,
            main_of([counted(0, uint(1), [], [when(odd(), [Stmt::Continue]), see(A)])]),
            "A=55",
            "A=55:[255]",
        ),
        (F::FunctionSeesReturnedLanes, early(), "A=F0", "A=F0:[255]"),
        (
            F::ShortCircuitWithAllLanes,
            of(0xFF, number(bin(below(4), BinaryOp::And, any))),
            "A=FF:[0]",
            "A=FF:[1 1 1 1 0 0 0 0]",
        ),
        (F::MaskAlwaysFull, of(0xAA, ballot()), "A=AA", "A=AA:[255]"),
        (F::LastLaneNeverActive, of(0xAA, ballot()), "A=AA", "A=AA:[42 42 42 0]"),
        (F::LaneZeroAssumedActive, of(0xAA, ballot()), "A=AA", "A=AA:[171]"),
        (
            F::SwitchSeesOneLane,
            main_of([switch(uint(1), [arm([Label::Default], [see(A)])])]),
            "A=FF",
            "A=FF:[1 0 0 0 0 0 0 0]",
        ),
    ]);
    programs.same.extend([0xFF, 0x80].map(|mask| (F::LastLaneNeverActive, of(mask, ballot()))));
}

fn operations(programs: &mut Programs) {
    use Fault as F;
    use SubgroupOp as Op;
    let one = || uint(1);
    let is = |n| bin(lane(), BinaryOp::Eq, uint(n));
    let all = || op(Op::Ballot, [Expr::Bool(true)]);
    let low = |mask: Expr| Expr::Component(Box::new(mask), 0);
    let mask = |bits| Expr::Vector(Type::MASK, vec![uint(bits), uint(0), uint(0), uint(0)]);
    let subset = || op(Op::Partition, [parity()]);
    let less_one = || bin(lane(), BinaryOp::Sub, one());
    let sum = Fold::Add;
    programs.rows.extend([
        (F::ElectHighest, of(0x3C, number(op(Op::Elect, []))), "A=3C:[1 0 0 0]", "A=3C:[0 0 0 1]"),
        (F::ElectLaneZero, of(0x3C, number(op(Op::Elect, []))), "A=3C:[1 0 0 0]", "A=3C:[0]"),
        (F::BroadcastFirstLaneZero, of(0x3C, op(Op::BroadcastFirst, [lane()])), "A=3C:[2]", "A=3C:[0]"),
        (F::BroadcastNextLane, of(0xFF, op(Op::Broadcast, [lane(), uint(2)])), "A=FF:[2]", "A=FF:[3]"),
        (F::InclusiveIsExclusive, of(0x0F, op(Op::Inclusive(sum), [one()])), "A=0F:[1 2 3 4]", "A=0F:[0 1 2 3]"),
        (F::ExclusiveIsInclusive, of(0x0F, op(Op::Exclusive(sum), [one()])), "A=0F:[0 1 2 3]", "A=0F:[1 2 3 4]"),
        (F::ScanReversed, of(0x0F, op(Op::Inclusive(sum), [one()])), "A=0F:[1 2 3 4]", "A=0F:[4 3 2 1]"),
        (F::ScanReversed, of(0x0F, op(Op::Exclusive(sum), [one()])), "A=0F:[0 1 2 3]", "A=0F:[3 2 1 0]"),
        (F::IdentityMissing, of(0x0F, op(Op::Exclusive(Fold::Mul), [uint(2)])), "A=0F:[1 2 4 8]", "A=0F:[0 2 4 8]"),
        (
            F::IdentityUnsigned,
            of(0x03, op(Op::Exclusive(Fold::Min), [int(lane())])),
            "A=03:[2147483647 0]",
            "A=03:[4294967295 0]",
        ),
        (F::MinMaxUnsigned, of(0x03, op(Op::Reduce(Fold::Max), [int(less_one())])), "A=03:[0]", "A=03:[4294967295]"),
        (F::MinMaxSigned, of(0x03, op(Op::Reduce(Fold::Max), [less_one()])), "A=03:[4294967295]", "A=03:[0]"),
        (F::ReduceInactive, of(0x0F, op(Op::Reduce(sum), [one()])), "A=0F:[4]", "A=0F:[8]"),
        (F::AddTruncates, of(0x03, op(Op::Reduce(sum), [uint(40000)])), "A=03:[80000]", "A=03:[14464]"),
        (F::ReduceFourLanes, of(0xFE, op(Op::Reduce(sum), [lane()])), "A=FE:[28]", "A=FE:[10]"),
        (F::XorIsOr, of(0x03, op(Op::Reduce(Fold::Xor), [one()])), "A=03:[0]", "A=03:[1]"),
        (F::AndInactiveZero, of(0x0F, op(Op::Reduce(Fold::And), [uint(3)])), "A=0F:[3]", "A=0F:[0]"),
        (F::AllInactiveFalse, of(0x0F, number(op(Op::All, [Expr::Bool(true)]))), "A=0F:[1]", "A=0F:[0]"),
        (F::AnyFirstOnly, of(0xFF, number(op(Op::Any, [is(3)]))), "A=FF:[1]", "A=FF:[0]"),
        (F::AllEqualEndsOnly, of(0xFF, number(op(Op::AllEqual, [number(is(3))]))), "A=FF:[0]", "A=FF:[1]"),
        (F::BallotIgnoresPredicate, of(0x0F, low(op(Op::Ballot, [odd()]))), "A=0F:[10]", "A=0F"),
        (F::BallotWithoutSelf, of(0x03, ballot()), "A=03", "A=03:[2 1]"),
        (
            F::InverseBallotNeighbour,
            of(0x0F, number(op(Op::InverseBallot, [mask(5)]))),
            "A=0F:[1 0 1 0]",
            "A=0F:[0 1 0 0]",
        ),
        (
            F::BitExtractOwnLane,
            of(0x07, number(op(Op::BallotBitExtract, [mask(5), uint(2)]))),
            "A=07:[1]",
            "A=07:[1 0 1]",
        ),
        (
            F::InclusiveBitCountOffByOne,
            of(0x0F, op(Op::BallotInclusiveBitCount, [all()])),
            "A=0F:[1 2 3 4]",
            "A=0F:[0 1 2 3]",
        ),
        (
            F::ExclusiveBitCountOffByOne,
            of(0x0F, op(Op::BallotExclusiveBitCount, [all()])),
            "A=0F:[0 1 2 3]",
            "A=0F:[1 2 3 4]",
        ),
        (F::BitCountSaturates, of(0xFF, op(Op::BallotBitCount, [all()])), "A=FF:[8]", "A=FF:[3]"),
        (F::FindMsbIsLsb, of(0x3C, op(Op::BallotFindMsb, [all()])), "A=3C:[5]", "A=3C:[2]"),
        (F::FindLsbOffByOne, of(0x3C, op(Op::BallotFindLsb, [all()])), "A=3C:[2]", "A=3C:[3]"),
        (F::ShuffleTwoBits, of(0xFF, op(Op::Shuffle, [lane(), uint(5)])), "A=FF:[5]", "A=FF:[1]"),
        (F::ShuffleXorFirstMask, of(0xFF, op(Op::ShuffleXor, [lane(), lane()])), "A=FF:[0]", "A=FF:[0 1 2 3 4 5 6 7]"),
        (
            F::ShuffleUpIsDown,
            of(0xFF, op(Op::ShuffleUp, [lane(), one()])),
            "A=FF:[0 0 1 2 3 4 5 6]",
            "A=FF:[1 2 3 4 5 6 7 0]",
        ),
        (
            F::ShuffleDownByOne,
            of(0xFF, op(Op::ShuffleDown, [lane(), uint(2)])),
            "A=FF:[2 3 4 5 6 7 0 0]",
            "A=FF:[1 2 3 4 5 6 7 0]",
        ),
        (
            F::RotateBackwards,
            of(0xFF, op(Op::Rotate, [lane(), one()])),
            "A=FF:[1 2 3 4 5 6 7 0]",
            "A=FF:[7 0 1 2 3 4 5 6]",
        ),
        (
            F::ClusteredRotateWhole,
            of(0xFF, clustered(Op::ClusteredRotate, [lane(), one()], 4)),
            "A=FF:[1 2 3 0 5 6 7 4]",
            "A=FF:[1 2 3 4 5 6 7 0]",
        ),
        (F::ClusterIgnored, of(0xFF, clustered(Op::Clustered(sum), [one()], 4)), "A=FF:[4]", "A=FF:[8]"),
        (F::ClusterOfTwo, of(0xFF, clustered(Op::Clustered(sum), [one()], 4)), "A=FF:[4]", "A=FF:[2]"),
        (F::QuadSwapsExchanged, of(0x0F, op(Op::QuadSwapHorizontal, [lane()])), "A=0F:[1 0 3 2]", "A=0F:[2 3 0 1]"),
        (F::QuadSwapsExchanged, of(0x0F, op(Op::QuadSwapVertical, [lane()])), "A=0F:[2 3 0 1]", "A=0F:[1 0 3 2]"),
        (F::QuadDiagonalIsHorizontal, of(0x0F, op(Op::QuadSwapDiagonal, [lane()])), "A=0F:[3 2 1 0]", "A=0F:[1 0 3 2]"),
        (
            F::QuadBroadcastFirstQuad,
            of(0xFF, op(Op::QuadBroadcast, [lane(), one()])),
            "A=FF:[1 1 1 1 5 5 5 5]",
            "A=FF:[1]",
        ),
        (F::PartitionFindsInactive, of(0x05, low(op(Op::Partition, [uint(7)]))), "A=05", "A=05:[255]"),
        (F::PartitionOfLowBit, of(0x0F, low(op(Op::Partition, [lane()]))), "A=0F:[1 2 4 8]", "A=0F:[5 10 5 10]"),
        (F::PartitionIgnored, of(0xFF, op(Op::Partitioned(sum), [one(), subset()])), "A=FF:[4]", "A=FF:[8]"),
        (
            F::PartitionedScanCrosses,
            of(0x0F, op(Op::PartitionedInclusive(sum), [one(), subset()])),
            "A=0F:[1 1 2 2]",
            "A=0F:[1 2 3 4]",
        ),
        (
            F::PartitionedScanCrosses,
            of(0x0F, op(Op::PartitionedExclusive(sum), [one(), subset()])),
            "A=0F:[0 0 1 1]",
            "A=0F:[0 1 2 3]",
        ),
        (
            F::PartitionedInclusiveIsExclusive,
            of(0x0F, op(Op::PartitionedInclusive(sum), [one(), subset()])),
            "A=0F:[1 1 2 2]",
            "A=0F:[0 0 1 1]",
        ),
        (F::QuadAnyOfSubgroup, of(0xFF, number(op(Op::QuadAny, [is(5)]))), "A=FF:[0 0 0 0 1 1 1 1]", "A=FF:[1]"),
        (
            F::QuadAllInactiveFalse,
            of(0xF7, number(op(Op::QuadAll, [Expr::Bool(true)]))),
            "A=F7:[1]",
            "A=F7:[0 0 0 1 1 1 1]",
        ),
    ]);
}

/// A program with an array.
fn with_array(scalar: Scalar, init: u32, storage: StorageClass, body: impl Into<Vec<Stmt>>) -> Case {
    let mut case = main_of(body);
    case.program.shared = vec![Shared { name: "s".into(), scalar, len: 16, init, parts: 1, storage }];
    case
}

fn load(scalar: Scalar, index: Expr) -> Expr {
    Expr::Load(Load { array: 0, scalar, index: Box::new(index) })
}

fn atomic(op: AtomicOp, index: Expr, compare: Option<Expr>, value: Expr) -> Stmt {
    Stmt::Atomic(Box::new(Atomic { op, array: 0, index, compare, value, dest: None }))
}

fn memory(programs: &mut Programs) {
    use AtomicOp as Op;
    use Fault as F;
    const SHARED: StorageClass = StorageClass::Workgroup;
    let barrier = || Stmt::ControlBarrier(Sync::Barrier);
    let store = || Stmt::Store { array: 0, element: None, value: bin(lane(), BinaryOp::Add, uint(1)) };
    let stored = |storage, index| {
        with_array(Scalar::Uint, 0, storage, [store(), barrier(), log(A, [load(Scalar::Uint, index)])])
    };
    let neighbour = || bin(lane(), BinaryOp::BitXor, uint(1));
    let own = |scalar, init, atomics: Vec<Stmt>| {
        let after = [barrier(), set(0, load(scalar, lane())), log(A, [var(0)])];
        let mut case = with_array(scalar, init, SHARED, [atomics, after.to_vec()].concat());
        case.program.functions[0].locals = vec![Local::new("x0", Type::scalar(scalar))];
        case
    };
    let counted_once =
        |add: Stmt| with_array(Scalar::Uint, 0, SHARED, [add, barrier(), log(A, [load(Scalar::Uint, uint(0))])]);
    let add = || atomic(Op::Add, uint(0), None, uint(1));
    let two = || {
        let mut case = counted_once(add());
        case.entry_point.workgroups_mut().size = [16, 1, 1];
        case
    };
    let got = |op, init, value| {
        let atomic = Atomic { op, array: 0, index: uint(0), compare: None, value, dest: Some(0) };
        with_array(Scalar::Uint, init, SHARED, [Stmt::Atomic(Box::new(atomic)), log(A, [var(0)])])
    };
    let large = || bin(Expr::Cast(Scalar::Uint64, Box::new(uint(1))), BinaryOp::Shl, uint(32));
    let put = |scalar, value| Stmt::Store { array: 0, element: None, value: Expr::Cast(scalar, Box::new(value)) };
    let to = |element, value| Stmt::Store {
        array: 0,
        element: Some(uint(element)),
        value: Expr::Cast(Scalar::Uint8, Box::new(value)),
    };
    let beside = |stores: [Stmt; 2]| {
        let found = |element| {
            let index = bin(bin(lane(), BinaryOp::Mul, uint(2)), BinaryOp::Add, uint(element));
            Expr::Cast(Scalar::Uint, Box::new(load(Scalar::Uint8, index)))
        };
        let body = [stores.to_vec(), vec![Stmt::ControlBarrier(Sync::Barrier), log(A, [found(0), found(1)])]].concat();
        let mut case = with_array(Scalar::Uint8, 5, StorageClass::StorageBuffer, body);
        case.program.shared[0].parts = 2;
        case
    };
    let narrow = |scalar, stores: Vec<Stmt>, value| {
        let body = [stores, vec![Stmt::ControlBarrier(Sync::Barrier), log(A, [value])]].concat();
        with_array(scalar, 5, StorageClass::StorageBuffer, body)
    };
    programs.rows.extend([
        (F::StoreToNextSlot, stored(SHARED, lane()), "A=FF:[1 2 3 4 5 6 7 8]", "A=FF:[0 1 2 3 4 5 6 7]"),
        (F::BarrierIgnored, stored(SHARED, neighbour()), "A=FF:[2 1 4 3 6 5 8 7]", "A=FF:[0]"),
        (
            F::BufferBarrierIgnored,
            stored(StorageClass::StorageBuffer, neighbour()),
            "A=FF:[2 1 4 3 6 5 8 7]",
            "A=FF:[0]",
        ),
        (
            F::NarrowLoadsSwapped,
            narrow(Scalar::Uint8, vec![put(Scalar::Uint8, lane())], load(Scalar::Uint8, lane())),
            "A=FF:[0 1 2 3 4 5 6 7]",
            "A=FF:[1 0 3 2 5 4 7 6]",
        ),
        (
            F::NarrowLoadLosesSign,
            narrow(
                Scalar::Int8,
                vec![put(Scalar::Int8, bin(lane(), BinaryOp::Add, uint(0x80)))],
                bin(number(load(Scalar::Int8, lane())), BinaryOp::BitAnd, uint(0xFF)),
            ),
            "A=FF:[128 129 130 131 132 133 134 135]",
            "A=FF:[0 1 2 3 4 5 6 7]",
        ),
        (
            F::NarrowStoreClobbers,
            narrow(
                Scalar::Uint16,
                vec![when(bin(lane(), BinaryOp::Eq, uint(3)), [put(Scalar::Uint16, lane())])],
                load(Scalar::Uint16, lane()),
            ),
            "A=FF:[5 5 5 3 5 5 5 5]",
            "A=FF:[5 5 5 3 0 5 5 5]",
        ),
        (
            F::AdjacentStoresSwapped,
            beside([to(0, lane()), to(1, uint(9))]),
            "A=FF:[0/9 1/9 2/9 3/9 4/9 5/9 6/9 7/9]",
            "A=FF:[9/0 9/1 9/2 9/3 9/4 9/5 9/6 9/7]",
        ),
        (
            F::AdjacentStoreWithoutCondition,
            beside([to(0, uint(8)), when(odd(), [to(1, uint(9))])]),
            "A=FF:[8/5 8/9 8/5 8/9 8/5 8/9 8/5 8/9]",
            "A=FF:[8/9]",
        ),
        (F::AdjacentStoreLost, beside([to(1, uint(8)), to(0, uint(9))]), "A=FF:[9/8]", "A=FF:[5/8]"),
        (F::AtomicFirstLaneOnly, two(), "A=FFFF:[16]", "A=FFFF:[2]"),
        (F::AtomicIgnoresIf, counted_once(when(odd(), [add()])), "A=FF:[4]", "A=FF:[8]"),
        (
            F::ExchangeLost,
            own(Scalar::Uint, 0, vec![atomic(Op::Exchange, lane(), None, uint(5))]),
            "A=FF:[5]",
            "A=FF:[0]",
        ),
        (
            F::CompSwapSwaps,
            own(Scalar::Uint, 0, vec![atomic(Op::CompSwap, lane(), Some(uint(3)), uint(5))]),
            "A=FF:[0]",
            "A=FF:[5]",
        ),
        (
            F::AtomicMinMaxUnsigned,
            own(Scalar::Int, 0, vec![atomic(Op::Max, lane(), None, Expr::Int(-1))]),
            "A=FF:[0]",
            "A=FF:[4294967295]",
        ),
        (
            F::WideAtomicTruncates,
            own(Scalar::Uint64, 3, vec![atomic(Op::Add, lane(), None, large())]),
            "A=FF:[3/1]",
            "A=FF:[3/0]",
        ),
        (F::TicketTwice, got(Op::Add, 0, uint(1)), "A=FF:[0 1 2 3 4 5 6 7]", "A=FF:[0 0 2 3 4 5 6 7]"),
        (F::AtomicOfLastLost, two(), "A=FFFF:[16]", "A=FFFF:[15]"),
        (F::ExchangeOfFirst, got(Op::Exchange, 9, lane()), "A=FF:[9 0 1 2 3 4 5 6]", "A=FF:[9]"),
        (
            F::BitsOfFirst,
            got(Op::Or, 0, bin(uint(1), BinaryOp::Shl, lane())),
            "A=FF:[0 1 3 7 15 31 63 127]",
            "A=FF:[0]",
        ),
        (F::AtomicXorIsOr, own(Scalar::Uint, 1, vec![atomic(Op::Xor, lane(), None, uint(1))]), "A=FF:[0]", "A=FF:[1]"),
    ]);
    let own = || Expr::Builtin(Builtin::LocalIndex);
    let exchanged = || {
        let greatest = op(SubgroupOp::Reduce(Fold::Max), [own()]);
        vec![store(), Stmt::SubgroupBarrier(SubgroupOp::Barrier), log(A, [load(Scalar::Uint, greatest)])]
    };
    let in_storage = |storage| with_array(Scalar::Uint, 0, storage, exchanged());
    let apart = || with_array(Scalar::Uint, 0, SHARED, [when(odd(), exchanged())]);
    programs.rows.extend([
        (F::SubgroupBarrierIgnored, in_storage(SHARED), "A=FF:[8]", "A=FF:[0 0 0 0 0 0 0 8]"),
        (
            F::BufferSubgroupBarrierIgnored,
            in_storage(StorageClass::StorageBuffer),
            "A=FF:[8]",
            "A=FF:[0 0 0 0 0 0 0 8]",
        ),
        (F::PartialSubgroupBarrierIgnored, apart(), "A=AA:[8]", "A=AA:[0 0 0 8]"),
    ]);
    programs.same.extend([
        (F::SubgroupBarrierIgnored, in_storage(StorageClass::StorageBuffer)),
        (F::BufferSubgroupBarrierIgnored, in_storage(SHARED)),
        (F::PartialSubgroupBarrierIgnored, in_storage(SHARED)),
    ]);
    let elsewhere = [(F::BarrierIgnored, StorageClass::StorageBuffer), (F::BufferBarrierIgnored, SHARED)];
    programs.same.extend(elsewhere.map(|(fault, storage)| (fault, stored(storage, neighbour()))));
    // What is there of an invocation's own needs no barrier, both elements of it.
    programs.same.push((F::BufferBarrierIgnored, beside([to(0, lane()), to(1, uint(9))])));
}

/// `main` with a variable of this type, numbered 0, whose elements are set one after the other, then these statements.
fn with_aggregate(ty: Type, elements: Vec<Expr>, body: impl Into<Vec<Stmt>>) -> Case {
    let set = |(index, value)| Stmt::SetElement { var: 0, index: uint(index), inner: vec![], value };
    let before: Vec<Stmt> = (0..).zip(elements).map(set).collect();
    let mut case = main_of([before, body.into()].concat());
    case.program.functions[0].locals = vec![Local::new("x0", ty)];
    case
}

fn elements(programs: &mut Programs) {
    use Fault as F;
    let element = |index| Expr::element(var(0), index);
    let array = Type { shape: Shape::Array(4), ..Type::UINT };
    let numbers = || vec![uint(10), uint(11), uint(12), uint(13)];
    let by_lane = || bin(lane(), BinaryOp::BitAnd, uint(3));
    let members = Type { shape: Shape::Struct(2), ..Type::UINT };
    let matrix = Type { shape: Shape::Matrix(2), scalar: Scalar::Float, width: 2 };
    let floats = |x: i32| {
        Expr::Vector(
            Type::vector(Scalar::Float, 2),
            vec![Expr::Float(Scalar::Float, 4 * x), Expr::Float(Scalar::Float, 4 * x)],
        )
    };
    let column = |n| Expr::Component(Box::new(element(uint(n))), 0);
    let columns = || {
        let body = [set(1, column(0)), set(2, column(1)), log(A, [var(1), var(2)])];
        let mut case = with_aggregate(matrix, vec![floats(1), floats(2)], body);
        let float = Type::scalar(Scalar::Float);
        case.program.functions[0].locals.extend([Local::new("x1", float), Local::new("x2", float)]);
        case
    };
    let vector = Type::vector(Scalar::Uint, 4);
    let two_subgroups = || {
        let mut case = with_aggregate(
            array,
            numbers(),
            [log(A, [element(bin(Expr::Builtin(Builtin::LocalIndex), BinaryOp::Shr, uint(3)))])],
        );
        case.entry_point.workgroups_mut().size = [16, 1, 1];
        case
    };
    let large = Type { shape: Shape::Array(64), ..Type::vector(Scalar::Uint, 2) };
    let pair = Type::vector(Scalar::Uint, 2);
    let crowded = |mut case: Case| {
        case.program.functions[0].locals.extend([Local::new("x1", Type::UINT), Local::new("x2", large)]);
        case
    };
    programs.rows.extend([
        (
            F::LargeArrayWraps,
            with_aggregate(
                Type { shape: Shape::Array(64), ..Type::UINT },
                vec![],
                [
                    Stmt::SetElement { var: 0, index: uint(40), inner: vec![], value: uint(7) },
                    log(A, [element(uint(8))]),
                ],
            ),
            "A=FF:[0]",
            "A=FF:[7]",
        ),
        (
            F::ElementLostInOneTrip,
            crowded(with_aggregate(
                pair,
                vec![uint(1), uint(2)],
                [
                    counted(
                        1,
                        uint(1),
                        [],
                        [Stmt::SetElement { var: 0, index: uint(0), inner: vec![], value: uint(9) }],
                    ),
                    log(A, [element(uint(0))]),
                ],
            )),
            "A=FF:[9]",
            "A=FF:[1]",
        ),
        (
            F::SpilledOperandLost,
            crowded(with_aggregate(
                pair,
                vec![uint(5), uint(6)],
                [
                    Stmt::SetElement {
                        var: 2,
                        index: uint(0),
                        inner: vec![],
                        value: Expr::Vector(pair, vec![uint(1), uint(2)]),
                    },
                    set(1, Expr::Component(Box::new(Expr::element(var(2), uint(0))), 0)),
                    log(A, [Expr::Component(Box::new(bin(var(0), BinaryOp::BitXor, var(0))), 0)]),
                ],
            )),
            "A=FF:[0]",
            "A=FF:[5]",
        ),
        (
            F::ElementOfFirstLane,
            with_aggregate(array, numbers(), [when(among(0x1E), [log(A, [element(by_lane())])])]),
            "A=1E:[11 12 13 10]",
            "A=1E:[11]",
        ),
        (
            F::ElementStoreOfFirstLane,
            with_aggregate(
                array,
                numbers(),
                [
                    Stmt::SetElement { var: 0, index: by_lane(), inner: vec![], value: uint(5) },
                    log(A, [element(uint(1))]),
                ],
            ),
            "A=FF:[11 5 11 11 11 5 11 11]",
            "A=FF:[11]",
        ),
        (
            F::LastElementIsFirst,
            with_aggregate(array, numbers(), [log(A, [element(uint(0)), element(uint(3))])]),
            "A=FF:[10/13]",
            "A=FF:[13/13]",
        ),
        (
            F::MembersReversed,
            with_aggregate(members, vec![uint(1), uint(2)], [log(A, [element(uint(0)), element(uint(1))])]),
            "A=FF:[1/2]",
            "A=FF:[2/1]",
        ),
        (F::NextColumn, columns(), "A=FF:[1065353216/1073741824]", "A=FF:[1073741824/1065353216]"),
        (
            F::DynamicComponentIsFirst,
            with_aggregate(vector, numbers(), [when(among(0x0F), [log(A, [element(by_lane())])])]),
            "A=0F:[10 11 12 13]",
            "A=0F:[10]",
        ),
    ]);
    programs.same.push((F::ElementOfFirstLane, two_subgroups()));
}

/// `var[index][inner] = value;`
fn set_inner(var: u32, index: u32, inner: u32, value: u32) -> Stmt {
    Stmt::SetElement { var, index: uint(index), inner: vec![uint(inner)], value: uint(value) }
}

fn nested_aggregates(programs: &mut Programs) {
    use Fault as F;
    let ty = |name: &str| name.parse::<Type>().expect("there is such a type");
    let element = |of: u32, index: u32| Expr::element(var(of), uint(index));
    let inner = |index: u32, inner: u32| Expr::element(element(0, index), uint(inner));
    let arrays = || ty("array(array(u32, 2), 2)");
    let record = || ty("struct(u32, u8, u32)");
    // An array in a struct in an array.
    let innermost = ty("array(struct(array(u32, 2), u32), 2)");
    let in_innermost = |index: u32| Expr::element(inner(1, 0), uint(index));
    let set_innermost = Stmt::SetElement { var: 0, index: uint(1), inner: vec![uint(0), uint(1)], value: uint(7) };
    let members = || vec![uint(10), Expr::Cast(Scalar::Uint8, Box::new(uint(11))), uint(12)];
    let others = |mut case: Case, more: u32| {
        case.program.functions[0].locals.extend((1..=more).map(|k| Local::new(format!("x{k}"), record())));
        case
    };
    let made = |first: u32| {
        let members = [uint(first), Expr::Cast(Scalar::Uint8, Box::new(uint(first + 1))), uint(first + 2)];
        Expr::Vector(record(), members.into())
    };
    let phi = [
        set(1, made(20)),
        either(among(0x0F), [set(2, var(0))], [set(2, var(1))]),
        log(A, [element(2, 0), element(2, 2)]),
    ];
    programs.rows.extend([
        (
            F::MemberOfTheSameType,
            with_aggregate(record(), members(), [log(A, [element(0, 0), element(0, 2)])]),
            "A=FF:[10/12]",
            "A=FF:[10/10]",
        ),
        (
            F::InnerIndexIgnored,
            with_aggregate(arrays(), vec![], [set_inner(0, 1, 1, 7), log(A, [inner(1, 0), inner(1, 1)])]),
            "A=FF:[0/7]",
            "A=FF:[0/0]",
        ),
        (
            F::InnerIndexIgnored,
            with_aggregate(innermost, vec![], [set_innermost, log(A, [in_innermost(0), in_innermost(1)])]),
            "A=FF:[0/7]",
            "A=FF:[0/0]",
        ),
        (
            F::InnerStoreToFirst,
            with_aggregate(arrays(), vec![], [set_inner(0, 1, 1, 7), log(A, [inner(1, 0), inner(1, 1)])]),
            "A=FF:[0/7]",
            "A=FF:[7/0]",
        ),
        (
            F::OuterIndexIgnored,
            with_aggregate(arrays(), vec![], [set_inner(0, 1, 1, 7), log(A, [inner(0, 1), inner(1, 1)])]),
            "A=FF:[0/7]",
            "A=FF:[7/7]",
        ),
        (
            F::CopyOfAggregateElided,
            others(
                with_aggregate(
                    record(),
                    members(),
                    [
                        set(1, var(0)),
                        Stmt::SetElement { var: 0, index: uint(0), inner: vec![], value: uint(9) },
                        log(A, [element(0, 0), element(1, 0)]),
                    ],
                ),
                1,
            ),
            "A=FF:[9/10]",
            "A=FF:[9/9]",
        ),
        (
            F::PhiOfFirstPart,
            others(with_aggregate(record(), members(), phi), 2),
            "A=FF:[10/12 10/12 10/12 10/12 20/22 20/22 20/22 20/22]",
            "A=FF:[10/22 10/22 10/22 10/22 20/22 20/22 20/22 20/22]",
        ),
    ]);
    // Of one type alone there is nothing to mistake, and an array in a variable is in no aggregate.
    let alike = with_aggregate(ty("struct(u32, 2)"), vec![uint(1), uint(2)], [log(A, [element(0, 0), element(0, 1)])]);
    let plain = with_aggregate(ty("array(u32, 2)"), vec![uint(1), uint(2)], [log(A, [element(0, 1)])]);
    programs.same.extend([
        (F::MemberOfTheSameType, alike),
        (F::InnerIndexIgnored, plain.clone()),
        (F::InnerStoreToFirst, plain.clone()),
        (F::OuterIndexIgnored, plain),
    ]);
}

/// `array[index]` of resources that hold 10, 11, 12 and 13.
fn resource(class: ResourceClass, index: Expr, non_uniform: bool) -> Expr {
    Expr::Resource(Resource { class, index: Box::new(index), non_uniform })
}

fn descriptors(programs: &mut Programs) {
    use Fault as F;
    use ResourceClass::{StorageBuffer, StorageImage, StorageTexelBuffer, UniformBuffer};
    let by_lane = || bin(lane(), BinaryOp::BitAnd, uint(3));
    let with = |body: Vec<Stmt>| {
        let mut case = main_of(body);
        case.data.resources = vec![10, 11, 12, 13];
        case
    };
    let some = |class| with(vec![when(among(0x36), [log(A, [resource(class, by_lane(), true)])])]);
    // The variable is 0 in lane 0, which does not come there.
    let uniform = |class| {
        let index = bin(var(1), BinaryOp::BitAnd, uint(3));
        let inside = vec![set(1, uint(2)), log(A, [resource(class, index, false)])];
        with(vec![when(among(0x36), inside)])
    };
    programs.rows.extend([
        (F::DescriptorOfFirstLane, some(StorageBuffer), "A=36:[11 12 10 11]", "A=36:[11]"),
        (F::UniformDescriptorOfLane0, uniform(UniformBuffer), "A=36:[12]", "A=36:[10]"),
        (F::FirstStorageImage, some(StorageImage), "A=36:[11 12 10 11]", "A=36:[10]"),
        (F::UniformBufferOfTwo, uniform(UniformBuffer), "A=36:[12]", "A=36:[10]"),
        (F::NextStorageBuffer, some(StorageBuffer), "A=36:[11 12 10 11]", "A=36:[12 13 11 12]"),
        (F::TexelBufferOfFirstLane, some(StorageTexelBuffer), "A=36:[11 12 10 11]", "A=36:[11]"),
    ]);
}

fn types(programs: &mut Programs) {
    use Fault as F;
    use SubgroupOp as Op;
    let cast = |scalar, expr| Expr::Cast(scalar, Box::new(expr));
    let large = || bin(cast(Scalar::Uint64, lane()), BinaryOp::Shl, uint(32));
    let float = |scalar| cast(scalar, bin(lane(), BinaryOp::Add, uint(1)));
    let half = Scalar::Float16;
    let negative = || Expr::unary(tangle_program::ops::UnaryOp::Neg, Expr::Cast(Scalar::Float, Box::new(lane())));
    let vector = Expr::Vector(Type::vector(Scalar::Float, 2), vec![float(Scalar::Float), float(Scalar::Float)]);
    let second = |expr| Expr::Component(Box::new(expr), 1);
    let one = || cast(Scalar::Float, uint(1));
    let narrow = |n: i32| cast(Scalar::Int8, Expr::Int(n));
    let quarter = bin(cast(Scalar::Double, lane()), BinaryOp::Mul, Expr::Float(Scalar::Double, 1));
    let quarters = bin(Expr::Float(Scalar::Double, 1 << 21), BinaryOp::Add, quarter);
    programs.rows.extend([
        (
            F::WideFoldTruncates,
            of_type(0x03, Scalar::Uint64, op(Op::Reduce(Fold::Max), [large()])),
            "A=03:[0/1]",
            "A=03:[0/0]",
        ),
        (
            F::NarrowMinMaxUnsigned,
            of(0x03, int(op(Op::Reduce(Fold::Max), [cast(Scalar::Int8, int(bin(lane(), BinaryOp::Sub, uint(1))))]))),
            "A=03:[0]",
            "A=03:[4294967295]",
        ),
        (
            F::NarrowAddSaturates,
            of(0x03, number(op(Op::Reduce(Fold::Add), [cast(Scalar::Uint8, uint(200))]))),
            "A=03:[144]",
            "A=03:[255]",
        ),
        (
            F::NarrowAddSaturates,
            of(0x03, int(op(Op::Reduce(Fold::Add), [narrow(-100)]))),
            "A=03:[56]",
            "A=03:[4294967168]",
        ),
        (
            F::WideIdentityNarrow,
            of_type(0x03, Scalar::Uint64, op(Op::Exclusive(Fold::Min), [large()])),
            "A=03:[4294967295/4294967295 0/0]",
            "A=03:[4294967295/0 0/0]",
        ),
        (
            F::WideMoveHighStays,
            of_type(0x06, Scalar::Uint64, op(Op::BroadcastFirst, [large()])),
            "A=06:[0/1]",
            "A=06:[0/1 0/2]",
        ),
        (
            F::ByteMoveLosesTop,
            of(0x03, number(op(Op::BroadcastFirst, [cast(Scalar::Uint8, uint(200))]))),
            "A=03:[200]",
            "A=03:[72]",
        ),
        (F::NarrowCompareUnsigned, of(0x01, number(bin(narrow(-1), BinaryOp::Lt, narrow(1)))), "A=01", "A=01:[0]"),
        (
            F::FloatMinMaxZeroFill,
            of_type(0x06, Scalar::Float, op(Op::Reduce(Fold::Min), [float(Scalar::Float)])),
            "A=06:[1073741824]",
            "A=06:[0]",
        ),
        (
            F::FloatMulZeroFill,
            of_type(0x06, Scalar::Float, op(Op::Reduce(Fold::Mul), [one()])),
            "A=06:[1065353216]",
            "A=06:[0]",
        ),
        (
            F::FloatMulIdentityOfInt,
            of_type(0x03, Scalar::Float, op(Op::Exclusive(Fold::Mul), [one()])),
            "A=03:[1065353216]",
            "A=03:[1 1065353216]",
        ),
        // 1.0 and 2.0 as integers: 0x3F800000 + 0x40000000.
        (
            F::FloatAddOfBits,
            of_type(0x03, Scalar::Float, op(Op::Reduce(Fold::Add), [float(Scalar::Float)])),
            "A=03:[1077936128]",
            "A=03:[2139095040]",
        ),
        // Of 0.0 and -1.0 the bits of the second are larger.
        (F::FloatMinMaxOfBits, of(0x03, int(op(Op::Reduce(Fold::Max), [negative()]))), "A=03:[0]", "A=03:[4294967295]"),
        (
            F::FloatCompareOfBits,
            of(0x06, number(bin(negative(), BinaryOp::Lt, Expr::Float(Scalar::Float, -6)))),
            "A=06:[0 1]",
            "A=06:[1 0]",
        ),
        // 2049 has no place in 11 bits.
        (
            F::FloatAddInHalf,
            of(0x03, int(op(Op::Reduce(Fold::Add), [cast(Scalar::Float, bin(uint(1024), BinaryOp::Add, lane()))]))),
            "A=03:[2049]",
            "A=03:[2048]",
        ),
        (
            F::FloatScanShort,
            of_type(0x0F, Scalar::Float, op(Op::Inclusive(Fold::Add), [float(Scalar::Float)])),
            "A=0F:[1065353216 1077936128 1086324736 1092616192]",
            "A=0F:[1065353216 1077936128 1086324736 1086324736]",
        ),
        (F::FloatAllEqualLow, of(0x03, number(op(Op::AllEqual, [float(Scalar::Float)]))), "A=03:[0]", "A=03:[1]"),
        (
            F::FloatVectorLosesLast,
            of_type(0x03, Scalar::Float, second(op(Op::Reduce(Fold::Max), [vector]))),
            "A=03:[1073741824]",
            "A=03:[1065353216 1073741824]",
        ),
        (
            F::HalfMovePairsSwapped,
            of_type(0x0F, half, op(Op::ShuffleXor, [float(half), uint(2)])),
            "A=0F:[1077936128 1082130432 1065353216 1073741824]",
            "A=0F:[1082130432 1077936128 1073741824 1065353216]",
        ),
        // 2¹⁹ and a quarter has a bit in the low word.
        (
            F::DoubleMoveLowStays,
            of_type(0x03, Scalar::Double, op(Op::BroadcastFirst, [quarters])),
            "A=03:[0/1092616192]",
            "A=03:[0/1092616192 2147483648/1092616192]",
        ),
    ]);
}

/// docs/rules.md, rules F6 to F9
fn preserved(programs: &mut Programs) {
    use Fault as F;
    use Intrinsic::{FromAllBits, Mix, ToBits};
    let from = |bits: Expr| Expr::Intrinsic(FromAllBits, vec![bits]);
    let log_of = |value: Expr| {
        let mut case = of(0x03, value);
        case.entry_point.float_controls = FloatControls::NONE
            .with(FloatMode::SignedZeroInfNanPreserve, Scalar::Float)
            .with(FloatMode::DenormPreserve, Scalar::Float);
        case
    };
    let bits = |op: SubgroupOp, value: Expr| log_of(Expr::Intrinsic(ToBits, vec![Expr::subgroup(op, [from(value)])]));
    let (one, nan, negative_zero, infinity) = (0x3F80_0000, 0x7FC0_0000, 0x8000_0000, 0x7F80_0000);
    programs.rows.extend([
        (
            F::IdentityFinite,
            bits(SubgroupOp::Exclusive(Fold::Min), uint(one)),
            "A=03:[2139095040 1065353216]",
            "A=03:[2139095039 1065353216]",
        ),
        (
            F::NanWins,
            bits(SubgroupOp::Reduce(Fold::Min), Expr::Intrinsic(Mix, vec![uint(one), uint(nan), odd()])),
            "A=03:[1065353216]",
            "A=03:[2143289344]",
        ),
        (F::NanEqual, log_of(number(op(SubgroupOp::AllEqual, [from(uint(nan))]))), "A=03:[0]", "A=03:[1]"),
        (F::ZeroMoveLosesSign, bits(SubgroupOp::BroadcastFirst, uint(negative_zero)), "A=03:[2147483648]", "A=03:[0]"),
        (
            F::InfinityMoveClamped,
            bits(SubgroupOp::BroadcastFirst, uint(infinity)),
            "A=03:[2139095040]",
            "A=03:[2139095039]",
        ),
        (F::DenormalFlushed, bits(SubgroupOp::Reduce(Fold::Max), uint(1)), "A=03:[1]", "A=03:[0]"),
    ]);
}

/// docs/rules.md, rule F10
fn rounded(programs: &mut Programs) {
    use Fault as F;
    use FloatMode::{RoundingModeRTE, RoundingModeRTZ};
    use Intrinsic as I;
    let rounding = |mode, scalar, op, args: &[Expr]| {
        let value = number(Expr::Intrinsic(op, args.to_vec()));
        let mut case = of(0x03, value);
        case.entry_point.float_controls = FloatControls::NONE.with(mode, scalar);
        case
    };
    let to_nearest = |op, args: &[Expr]| rounding(RoundingModeRTE, Scalar::Float, op, args);
    let halves = |op, args: &[Expr]| rounding(RoundingModeRTE, Scalar::Float16, op, args);
    // 2²⁴ + 1 or + 3: in the middle, with an even number below or above.
    let integer = || bin(uint(0x0100_0001), BinaryOp::BitOr, bin(parity(), BinaryOp::Shl, uint(1)));
    // 1 + 2⁻¹¹ or 1 + 3 · 2⁻¹¹
    let middle = || bin(uint(0x3F80_1000), BinaryOp::BitOr, bin(parity(), BinaryOp::Shl, uint(13)));
    // 1 + 2⁻¹¹ + 2⁻³⁰
    let word = |bits: u32| Expr::Cast(Scalar::Uint64, Box::new(uint(bits)));
    let double = || bin(bin(word(0x3FF0_0200), BinaryOp::Shl, uint(32)), BinaryOp::BitOr, word(0x0040_0000));
    programs.rows.extend([
        (
            F::ZeroIsNearest,
            rounding(RoundingModeRTZ, Scalar::Float, I::IntToFloatRtz, &[integer()]),
            "A=03:[1266679808 1266679809]",
            "A=03:[1266679808 1266679810]",
        ),
        (
            F::NearestIsZero,
            to_nearest(I::IntToFloatRte, &[integer()]),
            "A=03:[1266679808 1266679810]",
            "A=03:[1266679808 1266679809]",
        ),
        (
            F::NearestIsZero,
            to_nearest(I::FAddRte, &[uint(0x3F80_0001), uint(0x3380_0000)]),
            "A=03:[1065353218]",
            "A=03:[1065353217]",
        ),
        (F::RoundedTwice, halves(I::FloatToHalfRte, &[double()]), "A=03:[15361]", "A=03:[15360]"),
        (F::TiesAway, halves(I::FloatToHalfRte, &[middle()]), "A=03:[15360 15362]", "A=03:[15361 15362]"),
    ]);
    programs.same.extend([
        (F::ZeroIsNearest, to_nearest(I::IntToFloatRte, &[integer()])),
        (F::RoundedTwice, halves(I::FloatToHalfRte, &[middle()])),
    ]);
}

fn built_ins_and_arithmetic(programs: &mut Programs) {
    use Fault as F;
    let mask = |builtin, c| Expr::Component(Box::new(Expr::Builtin(builtin)), c);
    let constant = |default, value| {
        let mut case = of(0x01, Expr::Constant(0));
        case.data.constants = vec![SpecConstant { default, value }];
        case
    };
    let intrinsic = |op, args: Vec<Expr>| Expr::Intrinsic(op, args);
    let shifted = bin(Expr::Int(-8), BinaryOp::Shr, uint(1));
    programs.rows.extend([
        (F::GeMaskIsGt, of(0x03, mask(Builtin::GeMask, 0)), "A=03:[255 254]", "A=03:[254 252]"),
        (F::LtMaskIsLe, of(0x03, mask(Builtin::LtMask, 0)), "A=03:[0 1]", "A=03:[1 3]"),
        (F::GtMaskTooLong, of(0x01, mask(Builtin::GtMask, 3)), "A=01:[0]", "A=01:[4294967295]"),
        (F::SpecialisationIgnored, constant(3, 5), "A=01:[5]", "A=01:[3]"),
        (F::SpecialisationTruncates, constant(3, 65541), "A=01:[65541]", "A=01:[5]"),
        (F::ShiftRightLogical, of(0x01, shifted), "A=01:[4294967292]", "A=01:[2147483644]"),
        (F::CompareSigned, of(0x01, number(bin(uint(u32::MAX), BinaryOp::Gt, uint(1)))), "A=01", "A=01:[0]"),
        (
            F::ExtractUnsigned,
            of(0x01, intrinsic(Intrinsic::BitfieldExtract, vec![Expr::Int(-1), Expr::Int(0), Expr::Int(4)])),
            "A=01:[4294967295]",
            "A=01:[15]",
        ),
        (F::FindMsbUnsigned, of(0x01, intrinsic(Intrinsic::FindMsb, vec![Expr::Int(-2)])), "A=01:[0]", "A=01:[31]"),
        (F::ExpectationIsMin, of(0x01, intrinsic(Intrinsic::Expect, vec![uint(7), uint(2)])), "A=01:[7]", "A=01:[2]"),
    ]);
}

fn idioms(programs: &mut Programs) {
    use BinaryOp::*;
    use Fault as F;
    use Intrinsic as I;
    let one = |value: Expr| of(0x01, value);
    let call = |op, args: Vec<Expr>| Expr::Intrinsic(op, args);
    let (x, y) = (|| uint(0x1200_0034), || uint(0xFFFF_FFF0));
    let words = |values: &[u32]| {
        let parts = values.iter().map(|&value| uint(value)).collect();
        Expr::Vector(Type::vector(Scalar::Uint, values.len() as u8), parts)
    };
    let less = || bin(words(&[1, 2]), Lt, words(&[2, 1]));
    let part = |value: Expr, c| Expr::Component(Box::new(value), c);
    let sign = || bin(Expr::Int(-5), Shr, uint(31));
    let cut = |value: Expr| Expr::Cast(Scalar::Uint, Box::new(value));
    let funnel = |low: Expr| bin(bin(x(), Shl, uint(8)), BitOr, bin(low, Shr, uint(24)));
    programs.rows.extend([
        (F::RotateGoesBack, one(funnel(x())), "A=01:[13330]", "A=01:[873594880]"),
        (F::FunnelSwapped, one(funnel(uint(7))), "A=01:[13312]", "A=01:[1810]"),
        (F::NeverCarries, one(number(bin(bin(x(), Add, y()), Lt, x()))), "A=01", "A=01:[0]"),
        (F::NextByte, one(bin(bin(uint(0x0003_0201), Shr, uint(8)), BitAnd, uint(255))), "A=01:[2]", "A=01:[3]"),
        (
            F::DifferenceWraps,
            one(bin(call(I::Max, vec![uint(3), uint(5)]), Sub, call(I::Min, vec![uint(3), uint(5)]))),
            "A=01:[2]",
            "A=01:[4294967294]",
        ),
        (
            F::SumWraps,
            one(bin(y(), Add, call(I::Min, vec![uint(32), Expr::unary(UnaryOp::BitNot, y())]))),
            "A=01:[4294967295]",
            "A=01:[16]",
        ),
        (F::XorOfSame, one(bin(x(), BitXor, x())), "A=01:[0]", "A=01:[301989940]"),
        (F::LogicRegrouped, one(bin(bin(uint(1), BitAnd, uint(2)), BitOr, uint(4))), "A=01:[4]", "A=01:[0]"),
        (
            F::AbsIsNothing,
            one(number(bin(bin(Expr::Int(-5), BitXor, sign()), Sub, sign()))),
            "A=01:[5]",
            "A=01:[4294967291]",
        ),
        (F::QuotientOf24Bits, one(bin(x(), Div, bin(lane(), BitOr, uint(1)))), "A=01:[301989940]", "A=01:[52]"),
        (
            F::DotDoesNotSaturate,
            one(call(I::DotAccSat, vec![uint(2), uint(3), uint(u32::MAX)])),
            "A=01:[4294967295]",
            "A=01:[5]",
        ),
        (
            F::DotUnsigned,
            one(number(call(I::Dot, vec![Expr::Int(0xFF), Expr::Int(1)]))),
            "A=01:[4294967295]",
            "A=01:[255]",
        ),
        (F::PackedBackwards, one(cut(call(I::Pack64, vec![words(&[5, 6])]))), "A=01:[5]", "A=01:[6]"),
        (F::UnpackedBackwards, one(number(part(call(I::Unpack8, vec![uint(0x0403_0201)]), 1))), "A=01:[2]", "A=01:[3]"),
        (F::HighProductSigned, one(call(I::MulHigh, vec![y(), uint(3)])), "A=01:[2]", "A=01:[4294967295]"),
        (F::CarryIsBorrow, one(call(I::AddCarry, vec![uint(1), uint(2)])), "A=01:[0]", "A=01"),
        (
            F::ModuloIsRemainder,
            one(number(call(I::SignedMod, vec![Expr::Int(-7), Expr::Int(3)]))),
            "A=01:[2]",
            "A=01:[4294967295]",
        ),
        (
            F::RemainderIsModulo,
            one(number(call(I::SignedRem, vec![Expr::Int(-7), Expr::Int(3)]))),
            "A=01:[4294967295]",
            "A=01:[2]",
        ),
        (F::MixOfTheOther, one(call(I::Mix, vec![uint(5), uint(6), Expr::Bool(true)])), "A=01:[6]", "A=01:[5]"),
        (F::ComparesFirstComponents, one(number(part(less(), 1))), "A=01:[0]", "A=01"),
        (F::AnyIsAll, one(number(call(I::Any, vec![less()]))), "A=01", "A=01:[0]"),
    ]);
}

fn algebra(programs: &mut Programs) {
    use BinaryOp::{Add, BitAnd, BitOr, BitXor, Lt, Shl, Shr, Sub};
    use Fault as F;
    use Intrinsic as I;
    let one = |value: Expr| of(0x01, value);
    let (x, y) = (|| bin(lane(), BitXor, uint(0x8000_0003)), || bin(lane(), BitXor, uint(5)));
    let neg = |x: Expr| Expr::unary(UnaryOp::Neg, x);
    let not = |x: Expr| Expr::unary(UnaryOp::BitNot, x);
    let call = |op, args: Vec<Expr>| Expr::Intrinsic(op, args);
    programs.rows.extend([
        (F::MinusOfANegation, one(bin(y(), Sub, neg(uint(3)))), "A=01:[8]", "A=01:[2]"),
        (F::ShiftsCancel, one(bin(bin(x(), Shl, uint(1)), Shr, uint(1))), "A=01:[3]", "A=01:[2147483651]"),
        (F::OrderOfTheOtherSign, one(call(I::Mix, vec![x(), y(), bin(x(), Lt, y())])), "A=01:[2147483651]", "A=01:[5]"),
        (F::BitsPastAMask, one(bin(bin(y(), BitOr, uint(8)), BitAnd, uint(4))), "A=01:[4]", "A=01:[12]"),
        (F::SumKeepsTheDifference, one(bin(bin(y(), Sub, uint(2)), Add, uint(2))), "A=01:[5]", "A=01:[3]"),
        (F::XorTwice, one(bin(bin(y(), BitXor, uint(3)), BitXor, y())), "A=01:[3]", "A=01:[5]"),
        (F::Absorbed, one(call(I::Min, vec![call(I::Max, vec![y(), uint(3)]), uint(3)])), "A=01:[3]", "A=01:[5]"),
        (F::ShiftWithoutSign, one(number(bin(int(x()), Shr, uint(31)))), "A=01:[4294967295]", "A=01"),
        (F::InverseOfADifference, one(not(bin(y(), Sub, uint(3)))), "A=01:[4294967293]", "A=01:[4294967294]"),
    ]);
}

fn statements(programs: &mut Programs) {
    use Fault as F;
    let ring =
        || main_of([set(0, lane()), set(1, uint(9)), set(2, var(0)), set(0, var(1)), set(1, var(2)), log(A, [var(1)])]);
    let barrier = || Stmt::ControlBarrier(Sync::Barrier);
    let by = |number| {
        let store = Stmt::Store { array: 0, element: None, value: bin(lane(), BinaryOp::Add, uint(1)) };
        let single = bin(Expr::Builtin(Builtin::LocalIndex), BinaryOp::Eq, uint(number));
        let body = [when(single, [store]), barrier(), log(A, [load(Scalar::Uint, uint(number))])];
        with_array(Scalar::Uint, 0, StorageClass::Workgroup, body)
    };
    let found = |index: Expr| Expr::InputOf(0, Box::new(index));
    let guarded = |otherwise: Vec<Stmt>| {
        let mirrored = bin(lane(), BinaryOp::BitXor, uint(7));
        let mut case =
            main_of([set(0, uint(9)), either(odd(), [set(0, found(mirrored))], otherwise), log(A, [var(0)])]);
        case.data.inputs = vec![(0..8).map(|word| 10 * word).collect()];
        case
    };
    // Lanes 0 to 2 return, the others break.
    let zero = || bin(var(0), BinaryOp::Eq, uint(0));
    let leave = || when(zero(), [Stmt::Return(None)]);
    let switched =
        || switch(var(0), [arm([Label::Case(0)], [Stmt::Return(None)]), arm([Label::Default], [Stmt::Break])]);
    let endless = |way_out: Stmt| {
        let less = set(0, bin(var(0), BinaryOp::Shr, uint(1)));
        let others = when(bin(uint(2), BinaryOp::Lt, lane()), [Stmt::Break]);
        let mut looped = counted(1, uint(32), [], [less, way_out, others]);
        if let Stmt::Loop(l) = &mut looped {
            l.kind = LoopKind::Endless;
        }
        main_of([set(0, bin(lane(), BinaryOp::Mul, uint(16))), looped, log(A, [uint(1)])])
    };
    programs.rows.extend([
        (F::RingWithoutATemporary, ring(), "A=FF:[0 1 2 3 4 5 6 7]", "A=FF:[9]"),
        (F::SingleStoreOfLaneZero, by(3), "A=FF:[4]", "A=FF:[0]"),
        (F::GuardedLoadHoisted, guarded(vec![]), "A=FF:[9 60 9 40 9 20 9 0]", "A=FF:[70 60 50 40 30 20 10 0]"),
        (
            F::LoadOfTheOtherArm,
            guarded(vec![set(0, found(lane()))]),
            "A=FF:[0 60 20 40 40 20 60 0]",
            "A=FF:[0 10 20 30 40 50 60 70]",
        ),
        (F::ReturnFromEndlessBreaks, endless(leave()), "A=F8:[1]", "A=FF:[1]"),
        (F::ReturnFromSwitchBreaks, endless(switched()), "A=F8:[1]", "A=FF:[1]"),
    ]);
    // The lanes that return are the ones that are left when the others break, lane 0 has nothing from the beginning.
    let mut long = main_of([
        counted(0, bin(uint(65_534), BinaryOp::Add, lane()), [], [set(1, bin(var(1), BinaryOp::Add, uint(3)))]),
        log(A, [var(0), var(1)]),
    ]);
    if let Some(Stmt::Loop(l)) = long.program.functions[0].body.first_mut() {
        l.kind = LoopKind::While;
    }
    programs.rows.push((
        F::LoopCounterOf16Bits,
        long,
        "A=FF:[65534/196602 65535/196605 65536/196608 65537/196611 65538/196614 65539/196617 65540/196620 65541/196623]",
        "A=FF:[65534/196602 65535/196605 0/0 1/3 2/6 3/9 4/12 5/15]",
    ));
    programs.same.push((F::SingleStoreOfLaneZero, by(0)));
}

/// The operand that has to be uniform is so among the lanes that are there; lane 0, which is not, has another one.
fn uniform_operands(programs: &mut Programs) {
    use Fault as F;
    use SubgroupOp as Op;
    let key = || bin(lane(), BinaryOp::BitAnd, uint(1));
    let odd = |value: Expr| main_of([when(bin(key(), BinaryOp::Eq, uint(1)), [log(A, [value])])]);
    let wide = || Expr::Cast(Scalar::Uint64, Box::new(lane()));
    let high = bin(wide(), BinaryOp::Shl, uint(32));
    let mask = Expr::Vector(Type::MASK, vec![bin(key(), BinaryOp::Mul, uint(0x28)), uint(0), uint(0), uint(0)]);
    programs.rows.extend([
        (F::BroadcastIdOfLaneZero, odd(op(Op::Broadcast, [lane(), key()])), "A=AA:[1]", "A=AA:[0]"),
        (
            F::RotateDistanceOfLaneZero,
            odd(op(Op::Rotate, [lane(), bin(key(), BinaryOp::Mul, uint(2))])),
            "A=AA:[3 5 7 1]",
            "A=AA:[1 3 5 7]",
        ),
        (F::InverseBallotOfLaneZero, odd(number(op(Op::InverseBallot, [mask]))), "A=AA:[0 1 1 0]", "A=AA:[0]"),
        (F::AllEqualLowWord, of(0x0F, number(op(Op::AllEqual, [high]))), "A=0F:[0]", "A=0F:[1]"),
    ]);
}

/// Lanes 0 to 5 come to the operation, lanes 0 to 2 by another way than lanes 3 to 5: without maximal reconvergence it is open who is
/// together, and the devices here put them all together.
fn open(value: Expr) -> Case {
    Case { tier: Tier::Plain, ..main_of([when(below(6), [when(below(3), []), log(A, [value])])]) }
}

fn open_tangles(programs: &mut Programs) {
    use Fault as F;
    use SubgroupOp as Op;
    let is = |n| bin(lane(), BinaryOp::Eq, uint(n));
    let sum = || op(Op::Reduce(Fold::Add), [uint(1)]);
    programs.rows.extend([
        (F::OpenElectsTwo, open(number(op(Op::Elect, []))), "A=3F:[1 0 0 0 0 0]", "A=3F:[1 1 0 0 0 0]"),
        (F::OpenElectsNone, open(number(op(Op::Elect, []))), "A=3F:[1 0 0 0 0 0]", "A=3F:[0]"),
        (F::OpenBallotWithoutSelf, open(ballot()), "A=3F", "A=3F:[62 61 59 55 47 31]"),
        (F::OpenBallotOtherBranch, open(ballot()), "A=3F", "A=3F:[127]"),
        (F::OpenBallotInconsistent, open(ballot()), "A=3F", "A=3F:[63 63 63 56 56 56]"),
        (F::OpenBallotSplit, open(ballot()), "A=3F", "A=3F:[7 7 7 56 56 56]"),
        (F::OpenReduceWithoutFirst, open(sum()), "A=3F:[6]", "A=3F:[5]"),
        (F::OpenReduceAll, open(sum()), "A=3F:[6]", "A=3F:[8]"),
        (
            F::OpenScanWithoutFirst,
            open(op(Op::Inclusive(Fold::Add), [uint(1)])),
            "A=3F:[1 2 3 4 5 6]",
            "A=3F:[1 1 2 3 4 5]",
        ),
        (
            F::OpenBroadcastFirstOutside,
            Case {
                tier: Tier::Plain,
                ..main_of([when(among(0x3E), [when(below(3), []), log(A, [op(Op::BroadcastFirst, [lane()])])])])
            },
            "A=3E:[1]",
            "A=3E:[0]",
        ),
        (F::OpenShuffleNextLane, open(op(Op::Shuffle, [lane(), lane()])), "A=3F:[0 1 2 3 4 5]", "A=3F:[1 2 3 4 5 0]"),
        (F::OpenVoteWithoutLast, open(number(op(Op::Any, [is(5)]))), "A=3F:[1]", "A=3F:[0]"),
        (F::OpenOperationsSplit, open(sum()), "A=3F:[6]", "A=3F:[3]"),
    ]);
    // Where everybody is together by the rules they do not show.
    for fault in Fault::ALL.iter().copied().filter(|fault| fault.is_of_open_tangles()) {
        let case = Case { tier: Tier::Plain, ..main_of([log(A, [ballot(), sum(), number(op(Op::Elect, []))])]) };
        programs.same.push((fault, case));
    }
}
