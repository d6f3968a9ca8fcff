//! The table of coverage, by hand: what counts where, and what is a gap.

use std::collections::BTreeSet;

use tangle_analysis::context::{Context, Contexts, Placed};
use tangle_oracle::coverage::{At, Cell, Coverage, Fill, Gap, reachable, reachable_in};
use tangle_oracle::predict::OpUse;
use tangle_program::case::Stage;
use tangle_program::subgroup::{Category, Fold, Gives, SubgroupOp as Op, TABLE};
use tangle_program::types::{Scalar, Type};

const ADD: Op = Op::Reduce(Fold::Add);
const UINT: Type = Type::scalar(Scalar::Uint);
const UVEC2: Type = Type::vector(Scalar::Uint, 2);

fn cell(counts: [u64; 3]) -> Cell {
    counts.into()
}

fn placed(op: Op, ty: Option<Type>, contexts: &[Context]) -> Placed {
    Placed { op, ty, contexts: contexts.iter().fold(Contexts::default(), |set, &context| set.with(context)) }
}

fn used([executed_full, executed_partial, checked_full, checked_partial]: [u64; 4]) -> OpUse {
    OpUse { executed_full, executed_partial, checked_full, checked_partial }
}

/// Two cases: sums on `uint` in a divergent `if` and on `uvec2` in a loop, and an election; then the first of them in another stage.
fn example() -> Coverage {
    use Context::{DivergentIf, LoopBody, Partial, Uniform};
    let program = [
        placed(ADD, Some(UINT), &[Partial, DivergentIf]),
        placed(ADD, Some(UVEC2), &[Uniform, LoopBody]),
        placed(Op::Elect, None, &[Uniform]),
    ];
    let mut coverage = Coverage::default();
    // Nothing is known of the last: it was not reached.
    coverage.add(Stage::Compute, &program, &[used([8, 3, 5, 2]), used([16, 1, 7, 4])]);
    coverage.add(Stage::Vertex, &program[..1], &[used([2, 30, 1, 10])]);
    coverage
}

#[test]
fn what_counts_where() {
    let coverage = example();
    assert_eq!(coverage.cases, 2);
    assert_eq!(coverage.stages(), BTreeSet::from([Stage::Compute, Stage::Vertex]));
    let sum = coverage.operation(ADD);
    let elect = coverage.operation(Op::Elect);
    for (what, found, expected) in [
        ("sums", sum.anywhere, [3, 60, 29]),
        ("sums in an if", sum.cell(Context::DivergentIf), [2, 43, 18]),
        ("sums in a loop", sum.cell(Context::LoopBody), [1, 17, 11]),
        ("sums where it is uniform", sum.cell(Context::Uniform), [1, 17, 11]),
        // Where lanes may part: the places. Where they had parted: the executions, wherever that was.
        ("sums of a part of the lanes", sum.cell(Context::Partial), [2, 34, 16]),
        ("sums in a switch", sum.cell(Context::SwitchCase), [0, 0, 0]),
        ("sums in compute shaders", sum.in_stage(Stage::Compute), [2, 28, 18]),
        ("sums in vertex shaders", sum.in_stage(Stage::Vertex), [1, 32, 11]),
        ("sums in fragment shaders", sum.in_stage(Stage::Fragment), [0, 0, 0]),
        ("elections", elect.anywhere, [1, 0, 0]),
        ("elections of a part of the lanes", elect.cell(Context::Partial), [0, 0, 0]),
        ("sums of uint", coverage.of_scalar(ADD, Scalar::Uint).0, [2, 43, 18]),
        ("sums of uvec2", coverage.of_scalar(ADD, Scalar::Uint).1, [1, 17, 11]),
        ("sums of int", coverage.of_scalar(ADD, Scalar::Int).0, [0, 0, 0]),
        ("sums of ivec", coverage.of_scalar(ADD, Scalar::Int).1, [0, 0, 0]),
        ("elections have no type", coverage.of_scalar(Op::Elect, Scalar::Uint).0, [0, 0, 0]),
    ] {
        assert_eq!(found, cell(expected), "{what}");
    }
    assert!(!elect.contexts.contains_key(&Context::Partial), "a context where it never stood is left out");
}

#[test]
fn tables_add_up() {
    let mut twice = example();
    twice.merge(&example());
    assert_eq!(twice.cases, 4);
    let sum = twice.operation(ADD);
    assert_eq!(sum.anywhere, cell([6, 120, 58]));
    assert_eq!(sum.cell(Context::Partial), cell([4, 68, 32]));
    assert_eq!(sum.in_stage(Stage::Vertex), cell([2, 64, 22]));
    let mut empty = Coverage::default();
    empty.merge(&example());
    assert_eq!(empty, example());
}

#[test]
fn the_text_of_a_table_is_read_back() {
    let text = serde_json::to_string(&example()).expect("it has a text");
    assert!(text.contains(r#""-":{"anywhere":[1,0,0]"#), "{text}");
    assert!(text.contains(r#""u32x2":{"anywhere":[1,17,11]"#), "{text}");
    assert_eq!(serde_json::from_str::<Coverage>(&text).expect("it is a table"), example());
    assert!(serde_json::from_str::<Coverage>(&text.replace("u32x2", "u32x9")).is_err());
}

#[test]
fn how_far_a_cell_got() {
    for (counts, fill) in
        [([0, 0, 0], Fill::Empty), ([1, 0, 0], Fill::Generated), ([1, 1, 0], Fill::Reached), ([9, 1, 1], Fill::Checked)]
    {
        assert_eq!(cell(counts).fill(), fill, "{counts:?}");
    }
}

#[test]
fn how_far_a_cell_can_get() {
    let row = |op: Op| &TABLE[op.index()];
    let mut of_both = Vec::new();
    for (op, context, fill) in [
        (ADD, Context::LoopCondition, Fill::Checked),
        (ADD, Context::Uniform, Fill::Checked),
        (Op::Barrier, Context::Uniform, Fill::Reached),
        (Op::Barrier, Context::LoopCondition, Fill::Empty),
        (Op::Barrier, Context::DoWhileCondition, Fill::Empty),
        (Op::MemoryBarrierShared, Context::Choice, Fill::Empty),
        (Op::MemoryBarrierShared, Context::LoopBody, Fill::Reached),
    ] {
        let (best, reason) = reachable(row(op), context);
        assert_eq!(best, fill, "{op:?} {context:?}");
        assert_eq!(reason.is_some(), fill != Fill::Checked, "{op:?} {context:?}");
        of_both.extend(reason);
    }
    of_both.dedup();
    assert!(of_both.len() > 1, "each has its own reason");
    for (op, stage, fill) in [
        (ADD, Stage::Compute, Fill::Checked),
        (ADD, Stage::Vertex, Fill::Checked),
        (Op::Barrier, Stage::Compute, Fill::Reached),
        (Op::Barrier, Stage::Vertex, Fill::Reached),
        (Op::MemoryBarrierShared, Stage::Compute, Fill::Reached),
        (Op::MemoryBarrierShared, Stage::Mesh, Fill::Reached),
        (Op::MemoryBarrierShared, Stage::Fragment, Fill::Empty),
        (Op::DFdxFine, Stage::Fragment, Fill::Checked),
        (Op::DFdxFine, Stage::Compute, Fill::Empty),
    ] {
        assert_eq!(reachable_in(row(op), stage), fill, "{op:?} {stage:?}");
    }
}

#[test]
fn gaps_are_the_cells_that_could_get_further() {
    let barriers = TABLE.iter().filter(|info| info.gives == Gives::Nothing).count();
    let typed: usize = TABLE.iter().map(|info| 2 * info.scalars.len()).sum();
    let derivatives = TABLE.iter().filter(|info| info.category == Category::Derivative).count();
    // In four contexts there is no barrier, in ten no derivative.
    let all = TABLE.len() * Context::ALL.len() - 4 * barriers - 10 * derivatives + typed;
    let empty = Coverage::default();
    assert_eq!(empty.filled(), (0, all));
    assert_eq!(empty.gaps().len(), all);
    let coverage = example();
    // Sums: uniform, partial, `if`, loop, uint and uvec2.
    assert_eq!(coverage.filled(), (6, all));
    let gaps = coverage.gaps();
    assert_eq!(gaps.len(), all - 6);
    let elect = Gap { op: Op::Elect, at: At::Context(Context::Uniform), fill: Fill::Generated };
    assert!(gaps.contains(&elect));
    assert!(gaps.contains(&Gap { op: ADD, at: At::Scalar(Scalar::Int), fill: Fill::Empty }));
    assert!(!gaps.iter().any(|gap| gap.op == ADD && gap.at == At::Vector(Scalar::Uint)));
    // A barrier is done when lanes come to it.
    let mut barrier = Coverage::default();
    barrier.add(Stage::Compute, &[placed(Op::Barrier, None, &[Context::Uniform])], &[used([8, 0, 0, 0])]);
    assert_eq!(barrier.filled(), (1, all));
}

#[test]
fn what_may_fill_a_gap() {
    let gap = |at| Gap { op: ADD, at, fill: Fill::Empty };
    let of_scalar = placed(ADD, Some(UINT), &[Context::LoopBody]);
    let of_vector = placed(ADD, Some(UVEC2), &[Context::Uniform]);
    let other = placed(Op::Reduce(Fold::Mul), Some(UINT), &[Context::LoopBody]);
    let election = placed(Op::Elect, None, &[Context::LoopBody]);
    for (at, expected) in [
        (At::Context(Context::LoopBody), [true, false, false, false]),
        (At::Context(Context::Uniform), [false, true, false, false]),
        (At::Context(Context::SwitchCase), [false; 4]),
        (At::Scalar(Scalar::Uint), [true, false, false, false]),
        (At::Vector(Scalar::Uint), [false, true, false, false]),
        (At::Scalar(Scalar::Int), [false; 4]),
        (At::Vector(Scalar::Int), [false; 4]),
    ] {
        let found = [&of_scalar, &of_vector, &other, &election].map(|placed| gap(at).may_be_filled_by(placed));
        assert_eq!(found, expected, "{at:?}");
    }
}
