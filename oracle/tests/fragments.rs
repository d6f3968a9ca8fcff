//! Fragment shaders (docs/rules.md, section H): small programs with expectations by hand, generated cases on right devices, and planted faults.

use std::collections::BTreeMap;

use crate::common::*;
use tangle_analysis::validate::validate;
use tangle_generator::{Config, Profile, from_seed};
use tangle_oracle::faults::fragment::{FragmentFault, PlantedFragment};
use tangle_oracle::judge::{Counts, Judgement, Verdict, judge};
use tangle_oracle::map::{LaneMap, MapRule, SubgroupPromise};
use tangle_oracle::predict::predict;
use tangle_oracle::reference::observe;
use tangle_oracle::rules::{Drawn, MinimalReconvergence, Rules, Spec};
use tangle_program::case::{Case, Draw, EntryPoint, Launch, SpirvVersion, Stage, SubgroupSize, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Builtin, Discard, Expr, Label, Stmt};
use tangle_program::types::{Scalar, Type};

const A: u32 = 1;
const B: u32 = 2;
const C: u32 = 3;

/// A program of a framebuffer of 2 by 2 pixels that one triangle covers, if nothing else is said: one quad, lanes 0 to 3.
fn quad(tier: Tier, body: impl Into<Vec<Stmt>>) -> Case {
    drawn(tier, [2, 2], vec![[[0, 0], [4, 0], [0, 4]]], body)
}

fn drawn(tier: Tier, size: [u32; 2], triangles: Vec<[[u32; 2]; 3]>, body: impl Into<Vec<Stmt>>) -> Case {
    fragments_of(Case { tier, ..main_of(body) }, size, triangles)
}

fn fragments_of(mut case: Case, [width, height]: [u32; 2], triangles: Vec<[[u32; 2]; 3]>) -> Case {
    case.entry_point.stage = Stage::Fragment;
    case.entry_point.launch = Launch::Draw(Draw::new([width, height], triangles));
    validate(&case).expect("it is valid");
    case
}

/// What the fragments log by the oracle, in the order of pixels: site and words, `?` where nothing is compared; `…` where a log may go on.
fn expected(case: &Case, size: u32) -> String {
    // As the prologue shows it: what a device does not show is not known.
    let words = LaneMap::linear(case, size).words(case);
    let (map, faults) = LaneMap::check(case, &words, SubgroupPromise { default: size, ..PROMISE });
    assert_eq!(faults, []);
    let prediction = predict(case, &map.expect("it is right")).expect("it is defined");
    let logs: BTreeMap<u32, String> = prediction
        .logs()
        .into_iter()
        .filter(|log| !log.words.is_empty() || log.open_end)
        .map(|log| {
            let word = |word: &Option<u32>| word.map_or("?".to_owned(), |word| format!("{word:x}"));
            let mut text = log.words.iter().map(word).collect::<Vec<_>>().join(" ");
            if log.open_end {
                text.push('…');
            }
            (log.invocation.index, text)
        })
        .collect();
    logs.iter().map(|(index, text)| format!("{index}: {text}")).collect::<Vec<_>>().join(", ")
}

fn in_row(y: u32) -> Expr {
    bin(Expr::Builtin(Builtin::LocalY), BinaryOp::Eq, uint(y))
}

fn in_column(x: u32) -> Expr {
    bin(Expr::Builtin(Builtin::LocalX), BinaryOp::Eq, uint(x))
}

fn on_diagonal(is_slash: bool) -> Expr {
    let is = if is_slash { BinaryOp::Ne } else { BinaryOp::Eq };
    bin(Expr::Builtin(Builtin::LocalX), is, Expr::Builtin(Builtin::LocalY))
}

fn number(cond: Expr) -> Expr {
    Expr::Cast(Scalar::Uint, Box::new(cond))
}

fn across() -> Expr {
    op(SubgroupOp::QuadSwapHorizontal, [Expr::Builtin(Builtin::Lane)])
}

/// The patterns of VK-GL-CTS, external/vulkancts/data/vulkan/amber/reconvergence: who is demoted, and what the others see.
#[test]
fn demoted_fragments_stay_and_log_nothing() {
    let demoted = |who: Expr| {
        let body = [when(who, [Stmt::Discard(Discard::Demote)]), see(A), log(B, [across()])];
        expected(&quad(Tier::Maximal, body), 4)
    };
    // The half that is left sees all four lanes.
    assert_eq!(demoted(in_row(0)), "2: 1 f 2 3, 3: 1 f 2 2", "top");
    assert_eq!(demoted(in_row(1)), "0: 1 f 2 1, 1: 1 f 2 0", "bottom");
    assert_eq!(demoted(in_column(0)), "1: 1 f 2 0, 3: 1 f 2 2", "left");
    assert_eq!(demoted(in_column(1)), "0: 1 f 2 1, 2: 1 f 2 3", "right");
    assert_eq!(demoted(on_diagonal(true)), "0: 1 f 2 1, 3: 1 f 2 2", "slash");
    assert_eq!(demoted(on_diagonal(false)), "1: 1 f 2 0, 2: 1 f 2 3", "backslash");
    assert_eq!(demoted(bin(lane(), BinaryOp::Eq, uint(0))), "1: 1 f 2 0, 2: 1 f 2 3, 3: 1 f 2 2", "one invocation");
    // Nobody is left who could log.
    assert_eq!(demoted(Expr::Bool(true)), "", "the entire quad");
}

#[test]
fn terminated_fragments_are_gone() {
    let terminated = |how: Stmt| {
        let body = [when(bin(lane(), BinaryOp::Eq, uint(0)), [how]), see(A), log(B, [across()])];
        expected(&quad(Tier::Maximal, body), 4)
    };
    // Lane 1 has no neighbour any more.
    let gone = "1: 1 e 2 ?, 2: 1 e 2 3, 3: 1 e 2 2";
    assert_eq!(terminated(Stmt::Discard(Discard::Terminate)), gone);
    assert_eq!(terminated(Stmt::Return(None)), gone);
}

#[test]
fn helpers_are_active_at_tier_maximal_and_may_be_elsewhere() {
    // The fragments are pixels 0 and 2 of the quad; lanes 1 and 3 are helpers.
    let body = || [see(A), log(B, [across()])];
    let thin = |tier| drawn(tier, [1, 2], vec![[[0, 0], [2, 0], [0, 4]]], body());
    assert_eq!(expected(&thin(Tier::Maximal), 4), "0: 1 f 2 1, 2: 1 f 2 3");
    // Quad operations are with helpers everywhere; a ballot may be without them.
    assert_eq!(expected(&thin(Tier::Plain), 4), "0: 1 ? 2 1, 2: 1 ? 2 3");
    // Where no lane can be a helper all is known.
    assert_eq!(expected(&quad(Tier::Plain, body()), 4), "0: 1 f 2 1, 1: 1 f 2 0, 2: 1 f 2 3, 3: 1 f 2 2");
    // A larger subgroup may have quads of nobody but helpers.
    assert_eq!(expected(&quad(Tier::Plain, body()), 8), "0: 1 ? 2 1, 1: 1 ? 2 0, 2: 1 ? 2 3, 3: 1 ? 2 2");
}

/// Rule H3: whether a helper takes part is open each time anew, so that nothing that fragments show of their tangles is wrong.
#[test]
fn what_is_shown_of_helpers_is_not_judged() {
    let case = drawn(Tier::Plain, [1, 2], vec![[[0, 0], [2, 0], [0, 4]]], [see(A), see(B)]);
    let right = observe(&case, &LaneMap::linear(&case, 4), || Spec).expect("it is well-formed");
    // Lanes 1 and 3 are helpers.
    for (at_a, at_b) in [(0xF, 0xF), (0x5, 0x5), (0x7, 0xD), (0x5, 0xF)] {
        let mut observation = right.clone();
        let shown = observation.logs.iter_mut().filter(|log| !log.is_empty());
        shown.for_each(|log| (log[1], log[3]) = (at_a, at_b));
        let verdict = judge(&case, &observation, SubgroupPromise { default: 4, ..PROMISE }).verdict;
        assert_eq!(verdict, Verdict::Pass, "{at_a:x} {at_b:x}");
    }
}

/// Rule H7: whether an invocation began as a helper. Lanes 1 and 3 are helpers.
#[test]
fn who_is_a_helper_from_the_beginning() {
    let helper = || number(Expr::Builtin(Builtin::HelperInput));
    let body = [set(0, helper()), log(A, [var(0), op(SubgroupOp::QuadSwapHorizontal, [var(0)])])];
    for tier in Tier::ALL {
        let case = drawn(tier, [1, 2], vec![[[0, 0], [2, 0], [0, 4]]], body.clone());
        assert_eq!(expected(&case, 4), "0: 1 0 1, 2: 1 0 1", "{tier:?}");
    }
}

/// A device that breaks rule H4 has its other subgroups judged: nothing is said of those whose helpers are not active.
#[test]
fn subgroups_beside_one_without_its_helpers_are_judged() {
    // The quad at the left is whole; lane 3 of the one at the right, number 7, is a helper.
    let body = |demoted: bool| {
        let demote = when(bin(Expr::Builtin(Builtin::LocalX), BinaryOp::Eq, uint(0)), [Stmt::Discard(Discard::Demote)]);
        if demoted { vec![demote, see(A)] } else { vec![see(A)] }
    };
    let case = |demoted| drawn(Tier::Maximal, [4, 2], vec![[[0, 0], [5, 0], [0, 4]]], body(demoted));
    let judged = |case: &Case, left: u32, right: u32| {
        let mut observation = observe(case, &LaneMap::linear(case, 4), || Spec).expect("it is well-formed");
        for number in [2, 3, 6] {
            observation.map[11 * number + 3] = 0x7;
            observation.logs[number][1] = right;
        }
        for number in [0, 1, 4, 5] {
            observation.logs[number].iter_mut().skip(1).for_each(|mask| *mask = left);
        }
        let judgement = judge(case, &observation, SubgroupPromise { default: 4, ..PROMISE });
        assert_eq!(judgement.map_faults[0].rule, MapRule::ActiveHelpers);
        (matches!(judgement.verdict, Verdict::LaneMap), judgement.counts.checked)
    };
    assert_eq!(judged(&case(false), 0xF, 0x7), (true, 4));
    assert_eq!(judged(&case(false), 0xF, 0xF), (true, 4));
    assert!(!judged(&case(false), 0xE, 0x7).0, "the whole quad misses a lane");
    // Nor of what takes place behind a demotion there.
    assert_eq!(judged(&case(true), 0xA, 0x7), (true, 0));
}

/// Nor is it of quads of helpers alone, which a subgroup may have besides.
#[test]
fn quads_that_nobody_knows_of_are_not_judged() {
    let case = quad(Tier::Plain, [see(A)]);
    let right = observe(&case, &LaneMap::linear(&case, 8), || Spec).expect("it is well-formed");
    for mask in [0x0F, 0xFF, 0x3F] {
        let mut observation = right.clone();
        observation.logs.iter_mut().for_each(|log| log[1] = mask);
        assert_eq!(judge(&case, &observation, PROMISE).verdict, Verdict::Pass, "{mask:x}");
    }
}

/// Two quads of one subgroup. The left one is demoted whole, so that nobody knows whether it is still there (rule H6); quad operations of the other
/// are none of its business.
#[test]
fn a_quad_of_helpers_may_be_gone() {
    let left = bin(Expr::Builtin(Builtin::LocalX), BinaryOp::Lt, uint(2));
    let body = [when(left, [Stmt::Discard(Discard::Demote)]), see(A), log(B, [across()])];
    let case = drawn(Tier::Maximal, [4, 2], vec![[[0, 0], [8, 0], [0, 4]]], body);
    assert_eq!(expected(&case, 8), "2: 1 ? 2 5, 3: 1 ? 2 4, 6: 1 ? 2 7, 7: 1 ? 2 6");
    assert_eq!(expected(&case, 4), "2: 1 f 2 1, 3: 1 f 2 0, 6: 1 f 2 3, 7: 1 f 2 2");
}

/// Of four quads in one subgroup one is demoted whole, whichever it is: the quads that are left do not know whether it is still there, and do not ask
/// it for their own.
#[test]
fn any_quad_of_a_subgroup_may_be_gone() {
    for gone in 0..4 {
        let is_gone = bin(bin(lane(), BinaryOp::Div, uint(4)), BinaryOp::Eq, uint(gone));
        let body = [when(is_gone, [Stmt::Discard(Discard::Demote)]), see(A), log(B, [across()])];
        let case = drawn(Tier::Maximal, [8, 2], vec![[[0, 0], [16, 0], [0, 4]]], body);
        // Lane 4q is left above in quad q, lane 4q + 2 below it.
        let lane_of = |index: u32| index % 8 / 2 * 4 + index / 8 * 2 + index % 2;
        let left = (0..16).filter(|&index| lane_of(index) / 4 != gone);
        let logs: Vec<String> = left.map(|index| format!("{index}: 1 ? 2 {:x}", lane_of(index) ^ 1)).collect();
        assert_eq!(expected(&case, 16), logs.join(", "), "quad {gone}");
    }
}

/// Two quads of one subgroup. Who executes an operation without the last fragment of their quad, which is demoted elsewhere meanwhile, may be
/// gone by then or not; who has a fragment of the quad with them is there.
#[test]
fn a_quad_may_be_gone_before_a_branch_that_its_helpers_take() {
    let demote = |who: Expr| when(who, [Stmt::Discard(Discard::Demote)]);
    let left = |from: u32| {
        let is_left = bin(Expr::Builtin(Builtin::LocalX), BinaryOp::Lt, uint(2));
        bin(is_left, BinaryOp::And, bin(lane(), BinaryOp::Ge, uint(from)))
    };
    let not_first = || bin(lane(), BinaryOp::Ne, uint(0));
    let wide = |body: Vec<Stmt>| expected(&drawn(Tier::Maximal, [4, 2], vec![[[0, 0], [8, 0], [0, 4]]], body), 8);
    let leave = |from: u32, how: Stmt| wide(vec![demote(left(from)), either(not_first(), [see(A)], [how])]);
    assert_eq!(leave(1, Stmt::Discard(Discard::Demote)), "2: 1 ?, 3: 1 ?, 6: 1 ?, 7: 1 ?", "the last is demoted");
    assert_eq!(leave(1, Stmt::Discard(Discard::Terminate)), "2: 1 ?, 3: 1 ?, 6: 1 ?, 7: 1 ?", "the last is terminated");
    assert_eq!(leave(1, Stmt::Return(None)), "2: 1 ?, 3: 1 ?, 6: 1 ?, 7: 1 ?", "the last returns");
    let second_stays = "1: 1 fe, 2: 1 fe, 3: 1 fe, 6: 1 fe, 7: 1 fe";
    assert_eq!(leave(2, Stmt::Discard(Discard::Demote)), second_stays, "a fragment is with them");
    let apart = || either(not_first(), [see(A)], [see(B)]);
    let stays = wide(vec![demote(left(1)), apart()]);
    assert_eq!(stays, "0: 2 1, 2: 1 ?, 3: 1 ?, 6: 1 ?, 7: 1 ?", "the last may come to the end of the shader before");
    // What comes behind waits until all have executed what came before.
    let stays = wide(vec![demote(left(1)), apart(), see(C)]);
    assert_eq!(stays, "0: 2 1 3 ff, 2: 1 fe 3 ff, 3: 1 fe 3 ff, 6: 1 fe 3 ff, 7: 1 fe 3 ff", "it is there at the next");
    let stays = wide(vec![demote(left(1)), apart(), Stmt::SubgroupBarrier(SubgroupOp::Barrier)]);
    assert_eq!(stays, "0: 2 1, 2: 1 fe, 3: 1 fe, 6: 1 fe, 7: 1 fe", "a barrier waits, too");
}

/// The same in a loop, which the last fragment leaves before its helpers.
#[test]
fn a_quad_may_be_gone_before_a_loop_ends_that_its_helpers_are_in() {
    let body = |then: Vec<Stmt>| {
        let helpers =
            when(bin(bin(lane(), BinaryOp::Sub, uint(1)), BinaryOp::Lt, uint(3)), [Stmt::Discard(Discard::Demote)]);
        let round = [when(bin(lane(), BinaryOp::Eq, uint(0)), [Stmt::Break]), see(A)];
        let body = Vec::from_iter([helpers, counted(0, uint(1), [], round)].into_iter().chain(then));
        expected(&drawn(Tier::Maximal, [4, 2], vec![[[0, 0], [8, 0], [0, 4]]], body), 8)
    };
    assert_eq!(body(vec![]), "2: 1 ?, 3: 1 ?, 6: 1 ?, 7: 1 ?", "lane 0 may have ended");
    let demoted = vec![Stmt::Discard(Discard::Demote)];
    assert_eq!(body(demoted), "2: 1 ?, 3: 1 ?, 6: 1 ?, 7: 1 ?", "it may be a helper by then");
    let all = "2: 1 fe 2 ff, 3: 1 fe 2 ff, 6: 1 fe 2 ff, 7: 1 fe 2 ff";
    assert_eq!(body(vec![see(B)]), format!("0: 2 ff, {all}"), "it waits for the others");
}

/// Two quads of one subgroup: pixels 0, 1, 4 and 5 are lanes 0 to 3, pixels 2, 3, 6 and 7 are lanes 4 to 7.
fn two_quads(case: Case) -> Case {
    fragments_of(case, [4, 2], vec![[[0, 0], [8, 0], [0, 4]]])
}

/// Lanes from one on up to another are demoted.
fn demote(from: u32, to: u32) -> Stmt {
    let from = bin(lane(), BinaryOp::Ge, uint(from));
    when(bin(from, BinaryOp::And, below(to + 1)), [Stmt::Discard(Discard::Demote)])
}

fn is(n: u32) -> Expr {
    bin(lane(), BinaryOp::Eq, uint(n))
}

fn is_not(n: u32) -> Expr {
    bin(lane(), BinaryOp::Ne, uint(n))
}

/// Rule H7: `return` ends a fragment in `main` only. Lanes 1 to 3 of a quad are demoted.
#[test]
fn a_fragment_that_returns_from_a_function_goes_on() {
    let back = || when(is(0), [Stmt::Return(None)]);
    // Lane 0 is still there for its helpers.
    let called = two_quads(case(vec![function("f", [back()]), function("main", [demote(1, 3), call(0), see(A)])]));
    assert_eq!(expected(&called, 8), "0: 1 ff, 2: 1 ff, 3: 1 ff, 6: 1 ff, 7: 1 ff");
    // It is gone, and perhaps its helpers with it.
    let ended = two_quads(main_of([demote(1, 3), back(), see(A), log(B, [across()])]));
    assert_eq!(expected(&ended, 8), "2: 1 ? 2 5, 3: 1 ? 2 4, 6: 1 ? 2 7, 7: 1 ? 2 6");
    // They are on a device that lets go of them.
    let ballots = |case: &Case| ballots(case, 8, || MinimalReconvergence);
    assert_eq!(ballots(&called), [0xFF; 5]);
    assert_eq!(ballots(&ended), [0xF0; 4]);
}

/// The first ballot that each fragment sees on a device, in the order of pixels.
fn ballots<R: Rules>(case: &Case, size: u32, rules: impl FnMut() -> R) -> Vec<u32> {
    let logs = observe(case, &LaneMap::linear(case, size), rules).expect("it is well-formed").logs;
    logs.iter().filter(|log| !log.is_empty()).map(|log| log[1]).collect()
}

/// Rule H6: of four quads in one subgroup one is demoted whole. One device keeps it, another lets go of it, and of no other.
#[test]
fn a_device_may_let_go_of_a_quad_of_helpers() {
    for quad in 0..4 {
        let body = [demote(4 * quad, 4 * quad + 3), see(A)];
        let case = drawn(Tier::Maximal, [8, 2], vec![[[0, 0], [16, 0], [0, 4]]], body);
        assert_eq!(ballots(&case, 16, || Spec), [0xFFFF; 12], "quad {quad}");
        assert_eq!(ballots(&case, 16, || MinimalReconvergence), [0xFFFF & !(0xF << (4 * quad)); 12], "quad {quad}");
    }
}

/// Who executes an operation in one iteration of a loop says nothing of another one. The quad at the right has one fragment left, lane 4.
#[test]
fn a_quad_may_be_gone_in_the_last_iteration() {
    let leaves = bin(is(4), BinaryOp::And, bin(var(0), BinaryOp::Eq, uint(1)));
    let round = [when(leaves, [Stmt::Break]), see(A)];
    let case = two_quads(main_of([demote(5, 7), counted(0, uint(2), [], round)]));
    let twice = [0, 1, 4, 5].map(|pixel| format!("{pixel}: 1 ff 1 ?"));
    let logs = [&twice[..2], &["2: 1 ff".to_owned()], &twice[2..]].concat();
    assert_eq!(expected(&case, 8), logs.join(", "));
}

/// Lane 0 is the last fragment of the quad at the left. Its helpers come to A without it in the first iteration, and have waited for it at B; in the
/// second one only the other quad comes to A.
#[test]
fn helpers_that_are_elsewhere_do_not_execute_an_operation() {
    let to_a = bin(is_not(0), BinaryOp::And, bin(lane(), BinaryOp::Ge, bin(var(0), BinaryOp::Mul, uint(4))));
    let round = [when(to_a, [see(A)]), when(bin(var(0), BinaryOp::Eq, uint(0)), [see(B)])];
    let case = two_quads(main_of([demote(1, 3), counted(0, uint(2), [], round)]));
    let right = [2, 3, 6, 7].map(|pixel| format!("{pixel}: 1 fe 2 ff 1 f0"));
    assert_eq!(expected(&case, 8), format!("0: 2 ff, {}", right.join(", ")));
}

/// Two helpers of a quad come to an operation without its fragments, which end elsewhere.
#[test]
fn two_helpers_may_be_gone() {
    let case = two_quads(main_of([demote(2, 3), when(bin(lane(), BinaryOp::Ge, uint(2)), [see(A)])]));
    assert_eq!(expected(&case, 8), "2: 1 ?, 3: 1 ?, 6: 1 ?, 7: 1 ?");
}

/// What keeps a quad is that its last fragment, lane 0, certainly waits for those who were at A without it.
#[test]
fn who_waits_for_certain() {
    let behind_a = |behind: Vec<Stmt>, arm: Vec<Stmt>| {
        let at_a = when(is_not(0), [vec![see(A)], arm].concat());
        expected(&two_quads(main_of([vec![demote(1, 3), at_a], behind].concat())), 8)
    };
    let barrier = || vec![Stmt::SubgroupBarrier(SubgroupOp::Barrier)];
    let right = |log: &str| [2, 3, 6, 7].map(|pixel| format!("{pixel}: {log}")).join(", ");
    assert_eq!(behind_a(barrier(), vec![]), right("1 fe"), "all come to a barrier");
    assert_eq!(behind_a(vec![], barrier()), right("1 ?"), "lane 0 does not come to the barrier");
    let segment = |selector: Expr| {
        let labels: Vec<Label> = (0..8).map(Label::Case).collect();
        behind_a(vec![switch(selector, [arm(labels, [see(B)])])], vec![])
    };
    let same = bin(lane(), BinaryOp::Div, uint(8));
    assert_eq!(segment(same), format!("0: 2 ff, {}", right("1 fe 2 ff")), "one selector");
    assert_eq!(segment(lane()), format!("0: 2 ?, {}", right("1 ? 2 ?")), "several may be apart in a segment");
}

/// Of four quads lanes 5 to 7 are helpers, and at A without lane 4. Where the first quad may be gone by then, nothing that is executed behind that says who
/// has waited.
#[test]
fn beside_a_quad_that_may_be_gone_nobody_waits_for_certain() {
    let seen = |gone: Vec<Stmt>| {
        let body = [vec![demote(5, 7), when(is_not(4), [see(A)])], gone, vec![see(B)]].concat();
        let case = drawn(Tier::Maximal, [8, 2], vec![[[0, 0], [16, 0], [0, 4]]], body);
        expected(&case, 16).split(", ").last().map(str::to_owned)
    };
    assert_eq!(seen(vec![]).as_deref(), Some("15: 1 ffef 2 ffff"));
    assert_eq!(seen(vec![demote(0, 3)]).as_deref(), Some("15: 1 ? 2 ?"));
}

/// Rule H3: what a helper has that may be considered inactive is not said, unless it is of a quad operation. Lanes 1 and 3 are helpers.
#[test]
fn what_helpers_find_for_themselves() {
    let seen_across = |value: Expr, tier: Tier| {
        let body = [set(0, value), log(A, [op(SubgroupOp::QuadSwapHorizontal, [var(0)])])];
        expected(&drawn(tier, [1, 2], vec![[[0, 0], [2, 0], [0, 4]]], body), 4)
    };
    // A lane's own bit in its own mask.
    let own = || number(op(SubgroupOp::BallotBitExtract, [Expr::Builtin(Builtin::EqMask), lane()]));
    assert_eq!(seen_across(own(), Tier::Maximal), "0: 1 1, 2: 1 1");
    assert_eq!(seen_across(own(), Tier::Plain), "0: 1 ?, 2: 1 ?");
    // There and back.
    for tier in [Tier::Maximal, Tier::Plain] {
        assert_eq!(seen_across(across(), tier), "0: 1 0, 2: 1 2", "{tier:?}");
    }
}

/// A derivative of a number, kept in a variable.
fn derive(var: u32, derivative: SubgroupOp, number: Expr) -> Stmt {
    set(var, op(derivative, [Expr::Cast(Scalar::Float, Box::new(number))]))
}

/// A draw of a program whose variables are floats.
fn of_floats(tier: Tier, size: [u32; 2], triangle: [[u32; 2]; 3], body: impl Into<Vec<Stmt>>) -> Case {
    let mut case = Case { tier, ..main_of(body) };
    case.program.functions[0].locals.iter_mut().for_each(|local| local.ty = Type::scalar(Scalar::Float));
    fragments_of(case, size, vec![triangle])
}

/// What is logged of a number.
fn float(number: u8) -> String {
    format!("{:x}", f32::from(number).to_bits())
}

/// Lane by lane 0, 1, 4 and 9.
fn square() -> Expr {
    let small = || bin(lane(), BinaryOp::BitAnd, uint(3));
    bin(small(), BinaryOp::Mul, small())
}

/// Rules H8 and H9.
#[test]
fn derivatives_are_differences_across_the_quad() {
    let plane = || bin(lane(), BinaryOp::Mul, uint(3));
    for (derivative, number, want) in [
        (SubgroupOp::DFdxFine, square(), Some([1, 1, 5, 5])),
        (SubgroupOp::DFdyFine, square(), Some([4, 8, 4, 8])),
        (SubgroupOp::FwidthFine, square(), Some([5, 9, 9, 13])),
        // Which row or column it is of is open.
        (SubgroupOp::DFdxCoarse, square(), None),
        (SubgroupOp::DFdyCoarse, square(), None),
        (SubgroupOp::FwidthCoarse, square(), None),
        (SubgroupOp::DFdx, square(), None),
        (SubgroupOp::DFdy, square(), None),
        (SubgroupOp::Fwidth, square(), None),
        (SubgroupOp::DFdxCoarse, plane(), Some([3; 4])),
        (SubgroupOp::DFdyCoarse, plane(), Some([6; 4])),
        (SubgroupOp::FwidthCoarse, plane(), Some([9; 4])),
        (SubgroupOp::DFdx, plane(), Some([3; 4])),
        (SubgroupOp::DFdy, plane(), Some([6; 4])),
        (SubgroupOp::Fwidth, plane(), Some([9; 4])),
    ] {
        let text = |k: usize| want.map_or("?".to_owned(), |numbers| float(numbers[k]));
        let want: Vec<String> = (0..4).map(|k| format!("{k}: 1 {}", text(k))).collect();
        for tier in Tier::ALL {
            let body = [derive(0, derivative, number.clone()), log(A, [Expr::Var(0)])];
            let case = of_floats(tier, [2, 2], [[0, 0], [4, 0], [0, 4]], body);
            // In a larger subgroup, too, whoever else is there.
            for size in [4, 8] {
                assert_eq!(expected(&case, size), want.join(", "), "{derivative:?} {tier:?} {size}");
            }
        }
    }
}

/// Helpers take part at every tier, those that were demoted, too.
#[test]
fn derivatives_are_of_helpers_too() {
    let [one, four, five, eight] = [1, 4, 5, 8].map(float);
    let derived = || {
        let both = [derive(0, SubgroupOp::DFdxFine, square()), derive(1, SubgroupOp::DFdyFine, square())];
        both.into_iter().chain([log(A, [Expr::Var(0), Expr::Var(1)])])
    };
    for tier in Tier::ALL {
        let thin = of_floats(tier, [1, 2], [[0, 0], [2, 0], [0, 4]], Vec::from_iter(derived()));
        assert_eq!(expected(&thin, 4), format!("0: 1 {one} {four}, 2: 1 {five} {four}"));
        let demoted = when(bin(lane(), BinaryOp::Eq, uint(1)), [Stmt::Discard(Discard::Demote)]);
        let body = Vec::from_iter([demoted].into_iter().chain(derived()));
        let left = format!("0: 1 {one} {four}, 2: 1 {five} {four}, 3: 1 {five} {eight}");
        assert_eq!(expected(&of_floats(tier, [2, 2], [[0, 0], [4, 0], [0, 4]], body), 4), left);
    }
}

/// What is undefined in one quad is nothing to a derivative of another.
#[test]
fn a_derivative_is_of_its_own_quad() {
    let before = op(SubgroupOp::ShuffleUp, [lane(), uint(1)]);
    let body = [derive(0, SubgroupOp::DFdxFine, before), log(A, [Expr::Var(0)])];
    let case = of_floats(Tier::Maximal, [4, 2], [[0, 0], [8, 0], [0, 4]], body);
    let one = float(1);
    // Lane 0, which has nobody before it, is in the quad at the left.
    let quads = [[0, 1, 4, 5].map(|pixel| (pixel, "?")), [2, 3, 6, 7].map(|pixel| (pixel, one.as_str()))];
    let logs: BTreeMap<u32, &str> = quads.into_iter().flatten().collect();
    let logs: Vec<String> = logs.iter().map(|(pixel, word)| format!("{pixel}: 1 {word}")).collect();
    assert_eq!(expected(&case, 8), logs.join(", "));
}

/// Rule H10: where the invocations of a triangle may not be together, the behaviour of a derivative is undefined.
#[test]
fn derivatives_stand_in_control_flow_that_is_uniform_in_the_triangle() {
    let derived = || derive(0, SubgroupOp::DFdx, lane());
    let odd = |x: Expr| bin(bin(x, BinaryOp::BitAnd, uint(1)), BinaryOp::Ne, uint(0));
    let triangle = || Expr::Builtin(Builtin::LocalZ);
    let one = vec![[[0, 0], [4, 0], [0, 4]]];
    let two = vec![one[0]; 2];
    let check = |tier, triangles: &[[[u32; 2]; 3]], body: Vec<Stmt>| {
        let mut case = Case { tier, ..main_of(body) };
        case.program.functions[0].locals.iter_mut().for_each(|local| local.ty = Type::scalar(Scalar::Float));
        case.entry_point.stage = Stage::Fragment;
        let triangles = triangles.to_vec();
        case.entry_point.launch = Launch::Draw(Draw::new([2, 2], triangles));
        validate(&case).map_err(|invalid| invalid.reason)
    };
    let apart = Err("a derivative where control flow may not be uniform in its triangle or quad".to_owned());
    for tier in Tier::ALL {
        let demoted = when(odd(lane()), [Stmt::Discard(Discard::Demote)]);
        assert_eq!(check(tier, &one, vec![when(odd(lane()), [see(B)]), derived()]), Ok(()));
        assert_eq!(check(tier, &one, vec![demoted, derived()]), Ok(()));
        assert_eq!(check(tier, &one, vec![when(odd(triangle()), [derived()])]), Ok(()));
        assert_eq!(check(tier, &one, vec![when(odd(lane()), [derived()])]), apart);
        for how in [Stmt::Return(None), Stmt::Discard(Discard::Terminate)] {
            assert_eq!(check(tier, &one, vec![when(odd(lane()), [how]), derived()]), apart);
        }
        let Stmt::Assign { var, value } = derived() else { unreachable!("it is an assignment") };
        let chosen = Expr::Select(Box::new(odd(lane())), Box::new(value), Box::new(Expr::Float(Scalar::Float, 4)));
        assert_eq!(check(tier, &one, vec![set(var, chosen)]), apart);
        // Triangles that part come together again for certain at tier maximal alone.
        let parted = check(tier, &two, vec![when(odd(triangle()), [derived()])]);
        assert_eq!(parted, if tier == Tier::Maximal { Ok(()) } else { apart.clone() });
    }
    let mut compute = main_of([derived()]);
    compute.program.functions[0].locals[0].ty = Type::scalar(Scalar::Float);
    let refused = "a derivative in a shader that does not say how its invocations form quads";
    assert_eq!(validate(&compute).expect_err("there are no quads").reason, refused);
}

/// Rule H11. Two triangles over one quad: of the first, all of it; of the second, its left column.
#[test]
fn flat_inputs_are_those_of_the_triangle() {
    let triangles = vec![[[0, 0], [4, 0], [0, 4]], [[0, 0], [2, 0], [0, 4]]];
    let with = |flats: Vec<Vec<u32>>, body: Vec<Stmt>| {
        let mut case = main_of(body);
        case.data.flats = flats;
        fragments_of(case, [2, 2], triangles.clone())
    };
    let body = || vec![log(A, [Expr::Flat(0), Expr::Flat(1)])];
    let logs = |first: &str, second: &str| {
        let of = |[first_place, places]: [usize; 2], text: &str| {
            (first_place..first_place + places).map(|k| format!("{k}: 1 {text}")).collect::<Vec<_>>()
        };
        let [whole, above, below] = [[0, 4], [4, 2], [6, 1]];
        [of(whole, first), of(above, second), of(below, second)].concat().join(", ")
    };
    let case = with(vec![vec![7, 9], vec![0x10, 0x20]], body());
    assert_eq!(expected(&case, 4), logs("7 10", "9 20"));
    // One word for both.
    let case = with(vec![vec![7, 9], vec![0x10]], body());
    assert_eq!(expected(&case, 4), logs("7 10", "9 10"));
    // What the vertices of the first triangle give, each behind its corner.
    let vertices = case.vertices();
    assert_eq!(vertices.len(), 6 * 4);
    let flats: Vec<[u32; 2]> = vertices.chunks(4).take(3).map(|vertex| [vertex[2], vertex[3]]).collect();
    assert_eq!(flats, [[7, 0x10], [!7, !0x10], [8, 0x11]]);
    // A helper has them, too.
    let across = op(SubgroupOp::QuadSwapHorizontal, [Expr::Flat(0)]);
    let case = with(vec![vec![7, 9]], vec![log(A, [across])]);
    assert_eq!(expected(&case, 4), logs("7", "9"));
}

/// Rule H10: with `QuadDerivativesKHR` the quad has to be together, and no more, where it is sure to come together again.
#[test]
fn derivatives_of_quads_stand_where_control_flow_is_uniform_in_the_quad() {
    let derived = || derive(0, SubgroupOp::DFdx, lane());
    let bits = |x: Expr, mask| bin(bin(x, BinaryOp::BitAnd, uint(mask)), BinaryOp::Ne, uint(0));
    let part = |x: Builtin, count| bin(Expr::Builtin(x), BinaryOp::Div, uint(count));
    let check = |tier, of_quads: bool, samples: u32, body: Vec<Stmt>| {
        let mut case = Case { tier, ..main_of(body) };
        case.program.functions[0].locals.iter_mut().for_each(|local| local.ty = Type::scalar(Scalar::Float));
        case.data.flats = vec![vec![7]];
        case.entry_point.stage = Stage::Fragment;
        let draw = Draw::new([2, 2], vec![[[0, 0], [4, 0], [0, 4]]; 2]);
        case.entry_point.launch = Launch::Draw(Draw { quad_derivatives: of_quads, samples, ..draw });
        validate(&case).is_ok()
    };
    let any = |op| Expr::subgroup(op, [bits(lane(), 1)]);
    for (cond, same_in_triangle, same_in_quad) in [
        (bits(part(Builtin::Lane, 4), 1), false, true),
        (bits(part(Builtin::Lane, 8), 1), false, true),
        (bits(part(Builtin::Lane, 2), 1), false, false),
        (bits(part(Builtin::Lane, 6), 1), false, false),
        (bits(part(Builtin::LocalX, 2), 1), false, true),
        (bits(part(Builtin::LocalY, 3), 1), false, false),
        (bits(lane(), 4), false, true),
        (bits(lane(), 5), false, false),
        (bits(Expr::Builtin(Builtin::LocalZ), 1), true, true),
        (bits(Expr::Flat(0), 1), true, true),
        (any(SubgroupOp::QuadAny), false, true),
        (any(SubgroupOp::QuadAll), false, true),
    ] {
        for tier in Tier::ALL {
            let is_maximal = tier == Tier::Maximal;
            let body = || vec![when(cond.clone(), [derived()])];
            assert_eq!(check(tier, false, 1, body()), is_maximal && same_in_triangle, "{cond:?} {tier:?}");
            assert_eq!(check(tier, true, 1, body()), is_maximal && same_in_quad, "{cond:?} {tier:?}");
            // Behind a return that whole quads take.
            let returned = vec![when(cond.clone(), [Stmt::Return(None)]), derived()];
            assert_eq!(check(tier, true, 1, returned), is_maximal && same_in_quad, "{cond:?} {tier:?}");
        }
    }
    // The samples of a triangle are different slices.
    let of_slice = || vec![when(bits(Expr::Builtin(Builtin::LocalZ), 1), [derived()])];
    assert!(!check(Tier::Maximal, false, 4, of_slice()));
    assert!(check(Tier::Maximal, true, 4, of_slice()));
}

/// Two quads of one subgroup, of which one computes a derivative: a device that takes all lanes for its group is wrong.
#[test]
fn a_derivative_of_a_quad_needs_no_other() {
    let right = bin(bin(lane(), BinaryOp::BitAnd, uint(4)), BinaryOp::Ne, uint(0));
    let derived = [derive(0, SubgroupOp::DFdxFine, lane()), log(A, [Expr::Var(0)])];
    let mut case = Case { tier: Tier::Maximal, ..main_of([when(right, derived)]) };
    case.program.functions[0].locals.iter_mut().for_each(|local| local.ty = Type::scalar(Scalar::Float));
    case.entry_point.stage = Stage::Fragment;
    let draw = Draw::new([4, 2], vec![[[0, 0], [8, 0], [0, 4]]]);
    case.entry_point.launch = Launch::Draw(Draw { quad_derivatives: true, ..draw });
    validate(&case).expect("it is valid");
    let one = float(1);
    assert_eq!(expected(&case, 8), format!("2: 1 {one}, 3: 1 {one}, 6: 1 {one}, 7: 1 {one}"));
    let verdict = |fault| run(&case, 8, || PlantedFragment(fault)).verdict;
    assert!(matches!(verdict(FragmentFault::DerivativeNeedsSubgroup), Verdict::Mismatch(_)));
}

/// Rule H1 and H2 with several layers and samples: which numbers there are, and what each logs.
#[test]
fn fragments_of_layers_and_samples() {
    // Half a pixel: of four samples the first and the third.
    let mut case = main_of([log(A, [Expr::Builtin(Builtin::LocalZ), across()])]);
    case.entry_point.stage = Stage::Fragment;
    case.entry_point.spirv = SpirvVersion::V1_5;
    let draw = Draw::new([1, 1], vec![[[0, 0], [1, 0], [0, 1]]]);
    case.entry_point.launch = Launch::Draw(Draw { layers: 2, samples: 4, ..draw });
    validate(&case).expect("it is valid");
    assert_eq!(expected(&case, 4), "0: 1 0 1, 8: 1 2 1, 16: 1 4 1, 24: 1 6 1");
    // A subgroup has quads of several.
    assert_eq!(expected(&case, 16), "0: 1 0 1, 8: 1 2 5, 16: 1 4 9, 24: 1 6 d");
    assert_eq!(
        case.entry_point.describe(case.entry_point.invocation(24)),
        "triangle 0, layer 1, sample 2, pixel (0, 0)"
    );
    for (fault, rule) in [
        (FragmentFault::QuadAcrossSamples, MapRule::Quads),
        (FragmentFault::QuadAcrossLayers, MapRule::Quads),
        (FragmentFault::SampleIsFirst, MapRule::Coverage),
        (FragmentFault::SamplesReversed, MapRule::Coverage),
        (FragmentFault::PixelsShaded, MapRule::Coverage),
        (FragmentFault::LayerIsFirst, MapRule::Coverage),
        (FragmentFault::LastLayerLost, MapRule::Coverage),
    ] {
        let observation = observe(&case, &LaneMap::linear(&case, 4), || PlantedFragment(fault)).expect("well-formed");
        let (_, faults) = LaneMap::check(&case, &observation.map, SubgroupPromise { default: 4, ..PROMISE });
        assert_eq!(faults.iter().map(|fault| fault.rule).collect::<Vec<_>>(), [rule], "{fault:?}");
    }
}

#[test]
fn layers_and_samples_that_are_refused() {
    let check = |change: fn(&mut EntryPoint, &mut Draw)| {
        let mut case = main_of([see(A)]);
        case.entry_point.stage = Stage::Fragment;
        case.entry_point.spirv = SpirvVersion::V1_5;
        let mut draw = Draw::new([1, 1], vec![[[0, 0], [2, 0], [0, 2]]]);
        change(&mut case.entry_point, &mut draw);
        case.entry_point.launch = Launch::Draw(draw);
        validate(&case).map_err(|invalid| invalid.reason)
    };
    assert_eq!(check(|_, draw| (draw.layers, draw.samples) = (256, 8)), Ok(()));
    type Row = (fn(&mut EntryPoint, &mut Draw), &'static str);
    let rows: [Row; 5] = [
        (|_, draw| draw.layers = 0, "0 layers: must be 1 to 256"),
        (|_, draw| draw.layers = 257, "257 layers: must be 1 to 256"),
        (|_, draw| draw.samples = 3, "3 samples: must be 1, 2, 4 or 8"),
        (
            |entry_point, draw| (entry_point.spirv, draw.layers) = (SpirvVersion::V1_4, 2),
            "several layers need SPIR-V 1.5, not 1.4",
        ),
        (
            |_, draw| (draw.samples, draw.triangles) = (2, vec![[[0, 0], [2, 2], [0, 2]]]),
            "a side goes through sample 0 of pixel (0, 0)",
        ),
    ];
    for (change, reason) in rows {
        assert_eq!(check(change), Err(reason.to_owned()));
    }
}

#[test]
fn flat_inputs_are_of_fragment_shaders() {
    let mut case = main_of([log(A, [Expr::Flat(0)])]);
    assert_eq!(validate(&case).expect_err("there is none").reason, "there are only 0");
    case.data.flats = vec![vec![7]];
    assert_eq!(validate(&case).expect_err("it is compute").reason, "only fragment shaders have flat inputs");
}

#[test]
fn who_is_a_helper_changes() {
    let helper = || number(Expr::Builtin(Builtin::Helper));
    let seen = |expr: Expr| op(SubgroupOp::QuadSwapHorizontal, [expr]);
    let body = [
        log(A, [seen(helper())]),
        when(bin(lane(), BinaryOp::Eq, uint(0)), [Stmt::Discard(Discard::Demote)]),
        log(B, [seen(helper())]),
    ];
    assert_eq!(expected(&quad(Tier::Plain, body), 4), "0: 1 0, 1: 1 0 2 1, 2: 1 0 2 0, 3: 1 0 2 0");
}

/// Helpers take part in what the device does, where they come by (rule H4), and log nothing.
#[test]
fn what_a_device_does_with_helpers() {
    // The fragments are pixels 0 and 2; lanes 1 and 3 are helpers.
    let body = [see(A), when(in_column(0), [see(B)]), when(in_row(0), [log(3, [across()]), see(4)])];
    let case = drawn(Tier::Maximal, [1, 2], vec![[[0, 0], [2, 0], [0, 4]]], body);
    let mut logs = observe(&case, &LaneMap::linear(&case, 4), || Spec).expect("it is well-formed").logs;
    logs.retain(|log| !log.is_empty());
    assert_eq!(logs, [vec![A, 0xF, B, 0x5, 3, 1, 4, 0x3], vec![A, 0xF, B, 0x5]]);
}

/// The ballot of a record has four words: subgroups of 64 lanes.
#[test]
fn a_map_of_large_subgroups() {
    let case = drawn(Tier::Maximal, [16, 8], vec![[[0, 0], [32, 0], [0, 16]]], [see(A)]);
    for size in [64, 128] {
        let map = LaneMap::linear(&case, size);
        let words = map.words(&case);
        let ballot: Vec<u32> = (0..4).map(|word| if word < size / 32 { !0 } else { 0 }).collect();
        assert_eq!(words[3..7], ballot);
        assert_eq!(
            LaneMap::check(&case, &words, SubgroupPromise { default: size, ..PROMISE }),
            (Some(map), Vec::new())
        );
    }
}

fn pattern(name: &str) -> String {
    let path = format!("{}/../corpus/fragments/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let case = Case::from_json(&std::fs::read_to_string(path).expect(name)).expect(name);
    validate(&case).expect(name);
    expected(&case, 4)
}

/// What the invocations of four by four pixels log, by number; in subgroups of four lane 0 is left above in its quad, lane 1 beside it.
fn by_pixel(log: impl Fn(u32, u32, u32) -> String) -> String {
    let all = (0..16).map(|index| (index, log(index % 4, index / 4, index % 2 + index / 4 % 2 * 2)));
    let logs: Vec<String> =
        all.filter(|(_, log)| !log.is_empty()).map(|(index, log)| format!("{index}: {log}")).collect();
    logs.join(", ")
}

/// VK-GL-CTS, maximal.fragment: who goes, as the cases of the corpus have it. Of a half quad both that stay see four lanes and their neighbour's number.
#[test]
fn patterns_of_maximal_reconvergence() {
    let gone: [(&str, fn(u32, u32) -> bool); 8] = [
        ("demote_entire_quad", |x, y| x < 2 && y < 2),
        ("demote_half_quad_backslash", |x, y| x % 2 == y % 2),
        ("demote_half_quad_bottom", |_, y| y % 2 == 1),
        ("demote_half_quad_left", |x, _| x % 2 == 0),
        ("demote_half_quad_right", |x, _| x % 2 == 1),
        ("demote_half_quad_slash", |x, y| x % 2 != y % 2),
        ("demote_half_quad_top", |_, y| y % 2 == 0),
        ("demote_invocation", |x, y| x % 2 == 0 && y % 2 == 0),
    ];
    for (name, gone) in gone {
        let want = by_pixel(|x, y, lane| {
            let after = if gone(x, y) { String::new() } else { format!(" 2 f 3 {}", lane ^ 1) };
            format!("1 {lane}{after}")
        });
        assert_eq!(pattern(name), want, "{name}");
    }
    // Lane 0 is gone for good: it is in no ballot, and lane 1 swaps with nobody.
    let after = ["", " 2 e 3 ?", " 2 e 3 3", " 2 e 3 2"];
    assert_eq!(pattern("terminate_invocation"), by_pixel(|_, _, lane| format!("1 {lane}{}", after[lane as usize])));
}

/// VK-GL-CTS, terminate_invocation: even lanes are gone, or helpers.
#[test]
fn patterns_of_termination() {
    let odd = |lane: u32, log: &str| if lane % 2 == 1 { log.to_owned() } else { String::new() };
    let is_pixel = |x, y| x < 3 && y < 3;
    assert_eq!(pattern("terminate_bit_count"), by_pixel(|_, _, lane| odd(lane, "1 4 2 2")));
    assert_eq!(
        pattern("terminate_then_access"),
        by_pixel(|_, _, lane| format!("1 {lane}{}", odd(lane, &format!(" 3 {lane}"))))
    );
    // A framebuffer of three by three pixels: the quads at the right and below have helpers.
    let all = by_pixel(|x, y, _| if is_pixel(x, y) { "1 0".to_owned() } else { String::new() });
    assert_eq!(pattern("terminate_helpers"), all);
    let quads = by_pixel(|x, y, lane| if is_pixel(x, y) { odd(lane, "1 0") } else { String::new() });
    assert_eq!(pattern("terminate_then_quad_any"), quads);
}

const PROMISE: SubgroupPromise = SubgroupPromise::vulkan(8, 4, 128);

fn run<R: Rules>(case: &Case, size: u32, rules: impl Fn() -> R) -> Judgement {
    let size = if let SubgroupSize::Required(size) = case.entry_point.subgroup_size { size } else { size };
    let observation = observe(case, &LaneMap::linear(case, size), rules).expect("a generated case is well-formed");
    judge(case, &observation, SubgroupPromise { default: size, ..PROMISE })
}

fn config(tier: Tier) -> Config {
    Config {
        stage: Stage::Fragment,
        tier,
        max_subgroup_size: 32,
        required_sizes: vec![4, 8, 16, 32],
        ..Config::default()
    }
}

/// Lanes of two triangles that are together at entry and have not parted go on as one behind a selection (rule R2), whatever is known of the
/// triangles as graphics operations (rule I4).
#[test]
fn triangles_that_have_not_parted_go_on_as_one() {
    let of_all = |of| op(of, [op(SubgroupOp::Ballot, [Expr::Bool(true)])]);
    let (first, count) = (of_all(SubgroupOp::BallotFindLsb), of_all(SubgroupOp::BallotBitCount));
    let body = [when(bin(first, BinaryOp::Ne, uint(0)), []), log(A, [count])];
    let case = drawn(Tier::Plain, [4, 4], vec![[[0, 0], [8, 0], [0, 8]]; 2], body);
    for judgement in
        [run(&case, 32, || Spec), run(&case, 32, || MinimalReconvergence), run(&case, 32, || Drawn::new(3))]
    {
        assert_eq!((&judgement.verdict, judgement.counts.checked), (&Verdict::Pass, 32), "{judgement:?}");
    }
}

/// Two triangles in one subgroup, of a quad each. Where lanes have parted and control flow is uniform again, each triangle is together (rule I4), and
/// nothing makes the two one: a device may keep them apart.
#[test]
fn triangles_that_have_parted_may_stay_apart() {
    let case = drawn(Tier::Plain, [2, 2], vec![[[0, 0], [4, 0], [0, 4]]; 2], [when(odd(), []), see(A)]);
    assert_eq!(ballots(&case, 8, || Spec), [0xFF; 8]);
    assert_eq!(ballots(&case, 8, || MinimalReconvergence), [0x0F, 0x0F, 0x0F, 0x0F, 0xF0, 0xF0, 0xF0, 0xF0]);
}

/// `TANGLE_FRAGMENT_SEEDS=N` has it look at more.
#[test]
fn right_devices_pass_generated_fragments() {
    let seeds = std::env::var("TANGLE_FRAGMENT_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    for tier in Tier::ALL {
        let (mut counts, mut vacuous) = (Counts::default(), 0);
        for seed in 0..seeds {
            let profile = Profile::ALL[seed as usize % Profile::ALL.len()].0;
            let size = [4, 8, 32, 64][seed as usize / Profile::ALL.len() % 4];
            let case = from_seed(seed, &Config { profile, ..config(tier) });
            validate(&case).unwrap_or_else(|invalid| panic!("seed {seed}: {invalid}"));
            for (device, judgement) in [
                ("together", run(&case, size, || Spec)),
                ("minimal", run(&case, size, || MinimalReconvergence)),
                ("drawn", run(&case, size, || Drawn::new(seed))),
            ] {
                let right = matches!(judgement.verdict, Verdict::Pass | Verdict::Vacuous);
                assert!(right, "{tier:?}, seed {seed}, size {size}, {device}: {judgement:?}");
                counts.add(judgement.counts);
                vacuous += u64::from(judgement.verdict == Verdict::Vacuous);
            }
        }
        eprintln!("fragments, tier {}: {counts:?}, {vacuous} of {} compare nothing", tier.name(), 3 * seeds);
        assert!(7 * vacuous <= 3 * seeds, "tier {}: {vacuous} of {} cases compare nothing", tier.name(), 3 * seeds);
        assert!(tier != Tier::Maximal || counts.checked > counts.tainted, "{counts:?}");
    }
}

#[test]
fn planted_faults_of_fragments_are_caught() {
    let text = |fault: FragmentFault| (fault.name(), fault.about());
    all_are_caught(1_000, FragmentFault::ALL.iter().copied(), text, |fault, seed| {
        let tier = if seed % 4 == 3 { Tier::Plain } else { Tier::Maximal };
        let case = from_seed(seed, &config(tier));
        run(&case, [4, 8, 32][seed as usize % 3], || PlantedFragment(fault)).verdict
    });
}

/// The rules of the map, each broken once.
#[test]
fn rules_of_the_map() {
    const LANE: usize = 0;
    const SIZE: usize = 1;
    const TOKEN: usize = 2;
    const BALLOT: usize = 3;
    const BESIDE: usize = 7;
    const BELOW: usize = 8;
    const ACROSS: usize = 9;
    const MARK: usize = 10;
    type Changes<'a> = &'a [(usize, usize, u32)];
    // What a lane reports of itself to the others of its quad.
    const fn reports(number: u32, lane: u32, helper: bool) -> u32 {
        number << 8 | lane << 1 | helper as u32
    }
    let check = |case: &Case, size: u32, changes: Changes<'_>| {
        let mut words = LaneMap::linear(case, size).words(case);
        changes.iter().for_each(|&(record, at, value)| words[11 * record + at] = value);
        let (map, faults) = LaneMap::check(case, &words, SubgroupPromise::vulkan(size, 4, 8));
        let is_usable = faults.iter().all(|fault| fault.rule == MapRule::ActiveHelpers);
        assert_eq!(map.is_some(), is_usable);
        faults.iter().map(|fault| fault.rule).collect::<Vec<_>>()
    };
    // Two quads of fragments: numbers 0, 1, 4, 5 and 2, 3, 6, 7. In subgroups of 4, each is one.
    let whole = drawn(Tier::Maximal, [4, 2], vec![[[0, 0], [8, 0], [0, 4]]], [see(A)]);
    let rows: [(&str, u32, MapRule, Changes<'_>); 15] = [
        ("no record", 4, MapRule::Coverage, &[(1, MARK, 0)]),
        ("no record of two", 4, MapRule::Coverage, &[(1, MARK, 0), (4, MARK, 0)]),
        ("another size in one quad", 4, MapRule::Size, &[(2, SIZE, 8), (3, SIZE, 8), (6, SIZE, 8), (7, SIZE, 8)]),
        ("a lane past the size", 4, MapRule::LaneIds, &[(5, LANE, 4)]),
        ("a lane twice", 4, MapRule::LaneIds, &[(5, LANE, 2)]),
        ("a token of none of them", 4, MapRule::Token, &[(0, TOKEN, 1), (1, TOKEN, 1), (4, TOKEN, 1), (5, TOKEN, 1)]),
        ("half a quad in another subgroup", 8, MapRule::Quads, &[(2, TOKEN, 2), (3, TOKEN, 2)]),
        ("a neighbour of another number", 4, MapRule::Quads, &[(0, BESIDE, reports(2, 1, false))]),
        ("a neighbour in another lane", 4, MapRule::Quads, &[(0, BELOW, reports(4, 3, false))]),
        ("a fragment that is a helper to one", 4, MapRule::Quads, &[(0, ACROSS, reports(5, 3, true))]),
        (
            "a ballot without a lane",
            4,
            MapRule::EntryBallot,
            &[(0, BALLOT, 7), (1, BALLOT, 7), (4, BALLOT, 7), (5, BALLOT, 7)],
        ),
        ("two ballots", 8, MapRule::EntryBallot, &[(3, BALLOT, 0x7F)]),
        ("two ballots with all fragments", 4, MapRule::EntryBallot, &[(1, BALLOT, 0x1F)]),
        (
            "a ballot past the size",
            4,
            MapRule::EntryBallot,
            &[(0, BALLOT, 0x1F), (1, BALLOT, 0x1F), (4, BALLOT, 0x1F), (5, BALLOT, 0x1F)],
        ),
        (
            "a size that is not promised",
            4,
            MapRule::Size,
            &[
                (0, SIZE, 16),
                (1, SIZE, 16),
                (2, SIZE, 16),
                (3, SIZE, 16),
                (4, SIZE, 16),
                (5, SIZE, 16),
                (6, SIZE, 16),
                (7, SIZE, 16),
            ],
        ),
    ];
    assert_eq!(check(&whole, 4, &[]), []);
    assert_eq!(check(&whole, 8, &[]), []);
    // Where sizes may vary those of two subgroups may differ, and nothing is said; those of the lanes of one may not.
    let mut varying = whole.clone();
    varying.entry_point.subgroup_size = SubgroupSize::Varying;
    for (lanes, faults) in [(&[2, 3, 6, 7][..], vec![]), (&[2, 3], vec![MapRule::Size])] {
        let mut words = LaneMap::linear(&varying, 4).words(&varying);
        lanes.iter().for_each(|&lane: &usize| words[11 * lane + SIZE] = 8);
        let (map, found) = LaneMap::check(&varying, &words, SubgroupPromise::vulkan(4, 4, 8));
        assert_eq!((map, found.iter().map(|fault| fault.rule).collect::<Vec<_>>()), (None, faults), "{lanes:?}");
    }
    for (what, size, rule, changes) in rows {
        assert_eq!(check(&whole, size, changes), [rule], "{what}");
    }
    // A quad whose lane 3, at the right below, is a helper.
    for (tier, what, rules, changes) in [
        (Tier::Maximal, "right", &[][..], &[][..]),
        (Tier::Maximal, "a record of no fragment", &[MapRule::Coverage], &[(3, MARK, 1)]),
        (
            Tier::Maximal,
            "a helper that is a fragment",
            &[MapRule::Quads],
            &[(0, ACROSS, reports(3, 3, false)), (1, BELOW, reports(3, 3, false)), (2, BESIDE, reports(3, 3, false))],
        ),
        // Rule H4 holds at tier maximal only.
        (
            Tier::Maximal,
            "no helper in the ballot",
            &[MapRule::ActiveHelpers],
            &[(0, BALLOT, 7), (1, BALLOT, 7), (2, BALLOT, 7)],
        ),
        (Tier::Plain, "no helper in the ballot", &[], &[(0, BALLOT, 7), (1, BALLOT, 7), (2, BALLOT, 7)]),
    ] {
        let case = drawn(tier, [2, 2], vec![[[0, 0], [2, 0], [0, 4]]], [see(A)]);
        assert_eq!(check(&case, 4, changes), rules, "{what}, tier {tier:?}");
    }
}
