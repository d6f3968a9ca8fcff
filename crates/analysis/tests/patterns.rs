//! The worked examples of the documents that the project starts from, as cases: `corpus/patterns/`.
//!
//! They are what people write with subgroups: the Khronos subgroup tutorial and the page on
//! VK_KHR_shader_subgroup_uniform_control_flow. Log sites stand where an example writes its output.
//!
//! After a change: `TANGLE_WRITE_PATTERNS=1 cargo test -p tangle-analysis --test patterns`.

#[path = "../../program/tests/common/mod.rs"]
mod common;

use common::tour::{component, select};
use common::*;
use tangle_program::case::{Case, Tier};
use tangle_program::memory::{AtomicOp, Shared, StorageClass, Sync};
use tangle_program::ops::{BinaryOp, UnaryOp};
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Atomic, Block, Builtin, Expr, Function, Load, LoopKind, Stmt, SubgroupCall, Test, VarId};
use tangle_program::types::{Scalar, Type};

#[test]
fn corpus_holds_the_patterns() {
    check_corpus("patterns", "TANGLE_WRITE_PATTERNS", patterns());
}

fn patterns() -> Vec<(&'static str, Case)> {
    vec![
        ("ballot_compaction", ballot_compaction()),
        ("ballot_threshold", ballot_threshold()),
        ("broadcast_first_of_elected_load", broadcast_first_of_elected_load()),
        ("elect_then_broadcast", elect_then_broadcast()),
        ("elect_then_broadcast_corrected", elect_then_broadcast_corrected()),
        ("max_pooling", max_pooling()),
        ("quad_exchange", quad_exchange()),
        ("reduced_atomic_max", reduced_atomic_max()),
        ("reverse_scan", reverse_scan()),
        ("scan_by_loop", scan_by_loop()),
        ("strided_scan", strided_scan()),
        ("triangle_compaction", triangle_compaction()),
        ("vote_fast_path", vote_fast_path()),
        ("xor_butterfly", xor_butterfly()),
    ]
}

const INVOCATIONS: u32 = 64;

/// An example: its main, and whatever inputs make its lanes disagree.
fn example(about: &str, tier: Tier, main: Vec<Function>) -> Case {
    let mut case = case(about, main);
    case.tier = tier;
    case.entry_point.workgroups_mut().size = [INVOCATIONS, 1, 1];
    let words = |a: u32, b: u32| (0..INVOCATIONS).map(|i| (i * a + i / 7) % b).collect();
    case.data.inputs = vec![words(5, 11), words(3, 7)];
    case
}

/// The same with arrays in a storage buffer: one cell, and a place for each invocation.
fn with_buffer(mut case: Case) -> Case {
    let array = |name: &str, len| Shared {
        name: name.into(),
        scalar: Scalar::Uint,
        len,
        init: 0,
        parts: 1,
        storage: StorageClass::StorageBuffer,
    };
    case.program.shared = vec![array("cell", 1), array("places", 3 * INVOCATIONS)];
    case
}

const CELL: u32 = 0;
const PLACES: u32 = 1;

fn var(id: VarId) -> Expr {
    Expr::Var(id)
}

fn add(x: Expr, y: Expr) -> Expr {
    binary(x, BinaryOp::Add, y)
}

fn op(op: SubgroupOp, args: impl IntoIterator<Item = Expr>) -> Expr {
    Expr::subgroup(op, args.into_iter().collect::<Vec<_>>())
}

fn all_lanes() -> Expr {
    ballot(Expr::Bool(true))
}

/// What the lanes ask for: true in some.
fn wants() -> Expr {
    binary(Expr::Input(0), BinaryOp::Lt, Expr::Input(1))
}

fn atomic(op: AtomicOp, array: u32, index: Expr, value: Expr, dest: Option<VarId>) -> Stmt {
    Stmt::Atomic(Box::new(Atomic { op, array, index, compare: None, value, dest }))
}

/// `places[place % len] = value`, as an atomic, which may go anywhere.
fn put(place: Expr, value: Expr) -> Stmt {
    atomic(AtomicOp::Add, PLACES, binary(place, BinaryOp::Mod, uint(3 * INVOCATIONS)), value, None)
}

/// After a barrier: everybody logs the cell and a place.
fn read_back(f: &mut Function, site: u32) -> Block {
    let [cell, place] = ["cell_now", "place_now"].map(|name| f.add_local(name, Type::UINT));
    let load = |array, index| Expr::Load(Load { array, scalar: Scalar::Uint, index: Box::new(index) });
    vec![
        Stmt::ControlBarrier(Sync::Barrier),
        assign(cell, load(CELL, uint(0))),
        assign(place, load(PLACES, Expr::Builtin(Builtin::LocalIndex))),
        Stmt::Log { site, values: vec![var(cell), var(place)] },
    ]
}

/// `uint base = 0; if (subgroupElect()) base = atomicAdd(cell, count); base = subgroupBroadcastFirst(base);`
fn elected_add(base: VarId, count: VarId) -> Block {
    vec![
        assign(base, uint(0)),
        branch(op(SubgroupOp::Elect, []), [atomic(AtomicOp::Add, CELL, uint(0), var(count), Some(base))], []),
        assign(base, op(SubgroupOp::BroadcastFirst, [var(base)])),
    ]
}

/// The lanes that want it are counted by a ballot, one atomic makes room for all of them, and `placed` does what puts a lane's value there: at its
/// rank in the ballot of `among`.
fn compaction(f: &mut Function, among: Expr, placed: impl FnOnce(Stmt) -> Stmt) -> Block {
    let [count, base, offset] = ["count", "base", "offset"].map(|name| f.add_local(name, Type::UINT));
    join([
        vec![assign(count, op(SubgroupOp::BallotBitCount, [ballot(wants())]))],
        elected_add(base, count),
        vec![
            assign(offset, op(SubgroupOp::BallotExclusiveBitCount, [ballot(among)])),
            Stmt::Log { site: 1, values: vec![var(count), var(offset)] },
            placed(put(add(var(base), var(offset)), Expr::Input(1))),
        ],
    ])
}

/// By the lanes that want it.
fn where_wanted(stmt: Stmt) -> Stmt {
    branch(wants(), [stmt], [])
}

fn ballot_compaction() -> Case {
    with_buffer(example(
        "Ballot compaction: one atomic for each subgroup makes room for the lanes that want it, in uniform control flow.",
        Tier::Plain,
        main_of(|f| join([compaction(f, wants(), where_wanted), read_back(f, 2)])),
    ))
}

fn ballot_threshold() -> Case {
    example(
        "A branch that all take if a quarter of the lanes want to: the bits of a ballot against the subgroup size.",
        Tier::Maximal,
        main_of(|f| {
            let mask = mask_of(f);
            let wanting = op(SubgroupOp::BallotBitCount, [ballot(wants())]);
            let enough =
                binary(Expr::Builtin(Builtin::SubgroupSize), BinaryOp::Le, binary(wanting, BinaryOp::Mul, uint(4)));
            join([vec![branch(enough, point(1, mask), point(2, mask))], point(3, mask).into()])
        }),
    )
}

fn broadcast_first_of_elected_load() -> Case {
    example(
        "One lane loads, and the broadcast of the first lane tells the others.",
        Tier::Plain,
        main_of(|f| {
            let value = f.add_local("value", Type::UINT);
            vec![
                branch(op(SubgroupOp::Elect, []), [assign(value, add(Expr::Input(0), uint(100)))], []),
                assign(value, op(SubgroupOp::BroadcastFirst, [var(value)])),
                log(1, value),
            ]
        }),
    )
}

fn elect_then_broadcast() -> Case {
    let about = "Elect, then broadcast, within a branch that only some lanes take: the form that the guide to \
                 VK_KHR_shader_subgroup_uniform_control_flow calls broken. At tier plain nothing says that the lanes come together behind the \
                 elected one's branch, so that what they are told is left open; it is not at tier maximal.";
    with_buffer(example(
        about,
        Tier::Plain,
        main_of(|f| {
            let inside = compaction(f, Expr::Bool(true), |put| put);
            join([vec![branch(wants(), inside, [])], read_back(f, 2)])
        }),
    ))
}

fn elect_then_broadcast_corrected() -> Case {
    let about = "The same, corrected: a vote takes the whole subgroup into the branch, so that its lanes come together behind the elected \
                 one's branch, which tier subgroup_uniform promises.";
    with_buffer(example(
        about,
        Tier::SubgroupUniform,
        main_of(|f| {
            let inside = compaction(f, wants(), where_wanted);
            join([vec![branch(op(SubgroupOp::Any, [wants()]), inside, [])], read_back(f, 2)])
        }),
    ))
}

fn max_pooling() -> Case {
    example(
        "Max pooling: the maximum of each cluster, written by the first lane of each.",
        Tier::Plain,
        main_of(|f| {
            let real = Type::scalar(Scalar::Float);
            let most = f.add_local("most", real);
            let value = Expr::Cast(Scalar::Float, Box::new(Expr::Input(0)));
            let call = SubgroupCall { op: SubgroupOp::Clustered(Fold::Max), args: vec![value], cluster: Some(4) };
            let first = lane_bits(3, 0);
            vec![assign(most, Expr::Subgroup(call)), branch(first, [log(1, most)], [])]
        }),
    )
}

fn quad_exchange() -> Case {
    example(
        "The sum of a quad by two swaps, written by its first lane.",
        Tier::Plain,
        main_of(|f| {
            let (sum, other) = (f.add_local("sum", Type::UINT), f.add_local("other", Type::UINT));
            let exchange = |swap| vec![assign(other, op(swap, [var(sum)])), assign(sum, add(var(sum), var(other)))];
            join([
                vec![assign(sum, Expr::Input(0))],
                exchange(SubgroupOp::QuadSwapHorizontal),
                exchange(SubgroupOp::QuadSwapVertical),
                vec![
                    assign(other, op(SubgroupOp::QuadBroadcast, [lane(), uint(0)])),
                    Stmt::Log { site: 1, values: vec![var(sum), var(other)] },
                    branch(lane_bits(3, 0), [log(2, sum)], []),
                ],
            ])
        }),
    )
}

fn reduced_atomic_max() -> Case {
    with_buffer(example(
        "The maximum of everything: a reduction, and one atomic for each subgroup.",
        Tier::Plain,
        main_of(|f| {
            let most = f.add_local("most", Type::UINT);
            join([
                vec![
                    assign(most, op(SubgroupOp::Reduce(Fold::Max), [Expr::Input(0)])),
                    log(1, most),
                    branch(op(SubgroupOp::Elect, []), [atomic(AtomicOp::Max, CELL, uint(0), var(most), None)], []),
                ],
                read_back(f, 2),
            ])
        }),
    ))
}

/// A scan of shuffles over distances that double.
fn shuffle_scan(about: &str, first: u32, shuffle: SubgroupOp, reaches: impl Fn(Expr) -> Expr) -> Case {
    example(
        about,
        Tier::Plain,
        main_of(|f| {
            let [sum, other, i] = ["sum", "other", "i"].map(|name| f.add_local(name, Type::UINT));
            let distance = || binary(uint(first), BinaryOp::Shl, binary(var(i), BinaryOp::BitAnd, uint(7)));
            let cond = binary(distance(), BinaryOp::Lt, Expr::Builtin(Builtin::SubgroupSize));
            let body = vec![
                assign(other, op(shuffle, [var(sum), distance()])),
                branch(reaches(distance()), [assign(sum, binary(var(sum), BinaryOp::Mul, var(other)))], []),
            ];
            let kind = LoopKind::For { init: uint(0), step: 1, update: Vec::new() };
            let scan = repeat(kind, i, uint(7), Some(Test { before: Vec::new(), cond }), body);
            vec![assign(sum, add(Expr::Input(0), uint(1))), scan, Stmt::Log { site: 1, values: vec![var(sum)] }]
        }),
    )
}

fn reverse_scan() -> Case {
    let size = || Expr::Builtin(Builtin::SubgroupSize);
    shuffle_scan(
        "A scan from the highest lane down, by shuffles from above over distances that double.",
        1,
        SubgroupOp::ShuffleDown,
        |distance| binary(binary(size(), BinaryOp::Sub, distance), BinaryOp::Gt, lane()),
    )
}

fn strided_scan() -> Case {
    shuffle_scan(
        "A scan of the even lanes and one of the odd lanes, by shuffles from below over distances that double.",
        2,
        SubgroupOp::ShuffleUp,
        |distance| binary(distance, BinaryOp::Le, lane()),
    )
}

fn scan_by_loop() -> Case {
    example(
        "What a scan means, as a loop: every lane leaves at its own number, and the sum that it takes along is that of an exclusive scan.",
        Tier::Maximal,
        main_of(|f| {
            let [sum, scanned, value, i] = ["sum", "scanned", "value", "i"].map(|name| f.add_local(name, Type::UINT));
            let body = vec![
                branch(binary(var(i), BinaryOp::Eq, add(lane(), uint(1))), [Stmt::Break], []),
                assign(value, op(SubgroupOp::Reduce(Fold::Max), [lane()])),
                assign(sum, add(var(sum), binary(var(value), BinaryOp::BitXor, var(i)))),
            ];
            vec![
                assign(scanned, op(SubgroupOp::Exclusive(Fold::Add), [Expr::Input(0)])),
                counted(i, uint(64), [], body),
                Stmt::Log { site: 1, values: vec![var(sum), var(scanned), var(i)] },
            ]
        }),
    )
}

fn triangle_compaction() -> Case {
    with_buffer(example(
        "Culling of triangles: an exclusive scan of 3 or 0 vertices, one atomic by the highest lane, a maximum to tell the others.",
        Tier::Plain,
        main_of(|f| {
            let [kept, offset, base] = ["kept", "offset", "base"].map(|name| f.add_local(name, Type::UINT));
            let highest = binary(op(SubgroupOp::BallotFindMsb, [all_lanes()]), BinaryOp::Eq, lane());
            let room = add(var(offset), var(kept));
            let vertex = |k: u32| put(add(add(var(base), var(offset)), uint(k)), add(Expr::Input(1), uint(k)));
            join([
                vec![
                    assign(kept, select(wants(), uint(3), uint(0))),
                    assign(offset, op(SubgroupOp::Exclusive(Fold::Add), [var(kept)])),
                    Stmt::Log { site: 1, values: vec![var(offset)] },
                    branch(highest, [atomic(AtomicOp::Add, CELL, uint(0), room, Some(base))], []),
                    assign(base, op(SubgroupOp::Reduce(Fold::Max), [var(base)])),
                    branch(wants(), [vertex(0), vertex(1), vertex(2)], []),
                ],
                read_back(f, 2),
            ])
        }),
    ))
}

fn vote_fast_path() -> Case {
    example(
        "Two fast paths for subgroups whose lanes agree, and a slow one for those whose lanes do not.",
        Tier::Maximal,
        main_of(|f| {
            let mask = mask_of(f);
            let condition = f.add_local("condition", Type::BOOL);
            let small = binary(Expr::Input(0), BinaryOp::Lt, select(lane_is(BinaryOp::Lt, 8), uint(20), uint(4)));
            let slow = branch(var(condition), point(3, mask), point(4, mask));
            let none = Expr::unary(UnaryOp::Not, op(SubgroupOp::Any, [var(condition)]));
            join([
                vec![
                    assign(condition, small),
                    branch(
                        op(SubgroupOp::All, [var(condition)]),
                        point(1, mask),
                        [branch(none, point(2, mask), [slow])],
                    ),
                ],
                point(5, mask).into(),
            ])
        }),
    )
}

fn xor_butterfly() -> Case {
    example(
        "A reduction by exchanges with the lane whose number differs in one bit, until a break at the subgroup size.",
        Tier::Plain,
        main_of(|f| {
            let [sum, other, i] = ["sum", "other", "i"].map(|name| f.add_local(name, Type::UINT));
            let bit = || binary(uint(1), BinaryOp::Shl, binary(var(i), BinaryOp::BitAnd, uint(7)));
            let body = vec![
                branch(binary(Expr::Builtin(Builtin::SubgroupSize), BinaryOp::Eq, bit()), [Stmt::Break], []),
                assign(other, op(SubgroupOp::ShuffleXor, [var(sum), bit()])),
                assign(sum, add(var(sum), var(other))),
            ];
            let first = component(all_lanes(), 0);
            vec![
                assign(sum, Expr::Input(0)),
                counted(i, uint(8), [], body),
                assign(other, first),
                Stmt::Log { site: 1, values: vec![var(sum), var(other)] },
            ]
        }),
    )
}
