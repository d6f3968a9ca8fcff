//! The rules of the oracle, one test each, named after the rule: a small program, and what 8 lanes in one subgroup of size 8 must
//! log. How to read the text: [`common`].

use crate::common::*;
use tangle_oracle::map::LaneMap;
use tangle_oracle::predict::predict;
use tangle_oracle::reference::observe;
use tangle_oracle::rules::Spec;
use tangle_program::case::{Case, Data, FloatControls, FloatMode, Tier};
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Arg, Builtin, Direction, Expr, Label, LoopKind, Param, Stmt};
use tangle_program::types::{Scalar, Type};

const A: u32 = 1;
const B: u32 = 2;
const C: u32 = 3;
const D: u32 = 4;
const E: u32 = 5;

// ---- loops (docs/rules.md, section X; rule G2) ----

#[test]
fn lanes_that_continue_are_in_the_update_of_a_for_loop() {
    let body = [when(odd(), [Stmt::Continue]), see(A)];
    let case = main_of([counted(0, uint(2), [see(B)], body), see(C)]);
    check_tiers(&case, "A=55 55 B=FF FF C=FF", "A=55 55 B=FF? FF? C=FF");
}

#[test]
fn lanes_that_continue_are_in_the_next_test_of_a_while_loop() {
    let body = [when(odd(), [Stmt::Continue]), see(A)];
    let case = main_of([repeat(LoopKind::While, 0, 2, [see(B)], body), see(C)]);
    // The first test is uniform; at the weaker tiers the paths differ from the first body on.
    check_tiers(&case, "A=55 55 B=FF FF FF C=FF", "A=55 55 B=FF FF? FF? C=FF");
}

#[test]
fn lanes_that_continue_are_in_the_condition_of_a_do_while_loop() {
    let body = [when(odd(), [Stmt::Continue]), see(A)];
    let case = main_of([repeat(LoopKind::DoWhile, 0, 2, [see(B)], body), see(C)]);
    check_tiers(&case, "A=55 55 B=FF FF C=FF", "A=55 55 B=FF? FF? C=FF");
}

#[test]
fn lanes_that_continue_are_in_the_next_iteration_of_a_forever_loop() {
    let body = [see(B), when(odd(), [Stmt::Continue]), see(A)];
    let case = main_of([repeat(LoopKind::Forever, 0, 2, [], body), see(C)]);
    check_tiers(&case, "A=55 55 B=FF FF C=FF", "A=55 55 B=FF FF? C=FF");
}

#[test]
fn a_continue_by_all_keeps_control_flow_uniform() {
    let all = bin(lane(), BinaryOp::Lt, uint(8));
    let body = [see(A), when(all, [Stmt::Continue]), see(B)];
    check_tiers(&main_of([counted(0, uint(2), [see(C)], body)]), "A=FF FF B=- C=FF FF", "A=FF FF B=- C=FF FF");
}

#[test]
fn break_in_both_arms_of_an_if() {
    let then = [see(A), Stmt::Break];
    let otherwise = [see(B), Stmt::Break];
    let case = main_of([counted(0, uint(4), [see(D)], [either(below(4), then, otherwise)]), see(C)]);
    check_tiers(&case, "A=0F B=F0 C=FF D=-", "A=0F B=F0 C=FF D=-");
}

#[test]
fn lanes_that_break_stay_away_until_the_merge() {
    // Lane k leaves in iteration k, the others at the end of iteration 2.
    let leave = bin(lane(), BinaryOp::Eq, var(0));
    let case = main_of([counted(0, uint(3), [see(B)], [when(leave, [Stmt::Break]), see(A)]), see(C)]);
    check_tiers(&case, "A=FE FC F8 B=FE FC F8 C=FF", "A=FE FC? F8? B=FE FC? F8? C=FF");
}

#[test]
fn a_loop_that_runs_zero_times() {
    let case = main_of([counted(0, below_three_else_zero(), [see(B)], [see(A)]), see(C)]);
    check_tiers(&case, "A=07 B=07 C=FF", "A=07 B=07 C=FF");
}

/// 1 for lanes 0 to 2, else 0.
fn below_three_else_zero() -> Expr {
    Expr::Select(Box::new(below(3)), Box::new(uint(1)), Box::new(uint(0)))
}

#[test]
fn iterations_are_not_mixed_at_tier_maximal() {
    // Lanes spend different numbers of inner iterations; the outer loop brings them together every time.
    let bound = || bin(bin(lane(), BinaryOp::BitAnd, uint(1)), BinaryOp::Add, uint(1));
    let case = main_of([counted(0, uint(2), [], [counted(1, bound(), [], [see(A)]), see(B)]), see(C)]);
    check_tiers(&case, "A=FF AA FF AA B=FF FF C=FF", "A=FF AA? FF AA? B=FF FF C=FF");
}

// ---- functions (rules X6 and X7) ----

#[test]
fn nested_calls_with_early_returns_reconverge_after_each_call() {
    let inner = function("inner", [when(below(2), [Stmt::Return(None)]), see(A)]);
    let outer = function("outer", [call(0), see(B), when(below(4), [Stmt::Return(None)]), call(0), see(C)]);
    let case = case(vec![inner, outer, function("main", [call(1), see(D)])]);
    check_tiers(&case, "A=FC F0 B=FF C=F0 D=FF", "A=FC F0? B=FF? C=F0 D=FF?");
}

#[test]
fn a_return_by_all_keeps_control_flow_uniform() {
    let callee = function("callee", [see(A), when(bin(lane(), BinaryOp::Lt, uint(8)), [Stmt::Return(None)]), see(B)]);
    let case = case(vec![callee, function("main", [call(0), see(C)])]);
    check_tiers(&case, "A=FF B=- C=FF", "A=FF B=- C=FF");
}

#[test]
fn a_loop_around_a_call_restores_uniform_control_flow() {
    // `for (;;) { f(); break; }`: the call's divergence ends at the merge of the loop (docs/rules.md, section R).
    let callee = function("callee", [when(below(4), [Stmt::Return(None)]), see(A)]);
    let wrapped = repeat(LoopKind::Forever, 0, 1, [], [call(0), see(B), Stmt::Break]);
    let case = case(vec![callee, function("main", [wrapped, see(C)])]);
    check_tiers(&case, "A=F0 B=FF C=FF", "A=F0 B=FF? C=FF");
}

#[test]
fn out_arguments_of_lanes_that_returned_early_are_copied_back() {
    let mut callee = function(
        "callee",
        [set(0, uint(7)), when(below(4), [Stmt::Return(None)]), set(0, bin(var(0), BinaryOp::Add, uint(1)))],
    );
    callee.params = vec![Param { name: "x0".into(), direction: Direction::Out, ty: Type::UINT }];
    callee.locals.clear();
    let call = Stmt::Call { function: 0, args: vec![Arg::Out(0)], dest: None };
    let case = case(vec![callee, function("main", [set(0, uint(1)), call, log(A, [var(0)])])]);
    check_tiers(&case, "A=FF:[7 7 7 7 8 8 8 8]", "A=FF:[7 7 7 7 8 8 8 8]");
}

/// Docs/rules.md, rules E4 to E6: control flow is uniform behind a construct only if all lanes leave it by its merge block. What tells is a
/// divergence behind it, which a uniform `if` would end.
#[test]
fn a_construct_that_some_lanes_leave_by_a_return_is_not_uniform_behind_it() {
    let leave = || when(below(1), [Stmt::Return(None)]);
    let behind = || [when(odd(), []), see(A)];
    let with = |construct: Stmt| [vec![construct], behind().to_vec()].concat();
    for (what, body) in [
        ("a selection", with(either(below(8), [leave()], []))),
        ("a for loop", with(counted(0, uint(2), [], [leave()]))),
        ("a while loop", with(repeat(LoopKind::While, 0, 2, [], [leave()]))),
        ("a do-while loop", with(repeat(LoopKind::DoWhile, 0, 2, [], [leave()]))),
        ("an endless loop", with(repeat(LoopKind::Forever, 0, 2, [], [leave(), Stmt::Break]))),
        ("a switch", with(switch(uint(1), [arm([Label::Default], [leave()])]))),
        ("a loop in a loop", with(counted(0, uint(2), [], [counted(1, uint(2), [], [leave()])]))),
    ] {
        println!("{what}");
        check_tiers(&main_of(body.clone()), "A=FE", "A=FE?");
        let called = case(vec![function("callee", body), function("main", [call(0), when(odd(), []), see(B)])]);
        check_tiers(&called, "A=FE B=FF", "A=FE? B=FF?");
    }
    // A lane that goes on with the loop around leaves the switch in it by another way than its merge block.
    let on = arm([Label::Case(0)], [Stmt::Continue]);
    let selector = || bin(bin(lane(), BinaryOp::Lt, uint(1)), BinaryOp::Eq, Expr::Bool(false));
    let number = Expr::Cast(tangle_program::types::Scalar::Uint, Box::new(selector()));
    let inner = [switch(number, [on, arm([Label::Default], [Stmt::Break])]), when(odd(), []), see(A)];
    check_tiers(&main_of([counted(0, uint(1), [], inner), when(odd(), []), see(B)]), "A=FE B=FF", "A=FE? B=FF");
}

#[test]
fn lanes_that_return_from_main_are_gone() {
    let case = main_of([when(below(2), [Stmt::Return(None)]), see(A), when(odd(), [see(B)]), see(C)]);
    // Whoever is left took one path; after the next divergence nothing brings them together without maximal reconvergence, not even
    // the merge, since not all lanes of the workgroup leave through it.
    check_tiers(&case, "A=FC B=A8 C=FC", "A=FC B=A8 C=FC?");
}

// ---- switch (docs/rules.md, section S) ----

fn low_bits(mask: u32) -> Expr {
    bin(lane(), BinaryOp::BitAnd, uint(mask))
}

#[test]
fn switch_segments_are_exact_for_one_selector_value_and_open_for_more() {
    let case = main_of([
        switch(
            low_bits(3),
            [
                arm([Label::Case(0)], [see(A), Stmt::Break]),
                arm([Label::Case(1), Label::Case(2)], [see(B), Stmt::Break]),
                arm([Label::Default], [see(C), Stmt::Break]),
            ],
        ),
        see(D),
    ]);
    // `default` has one value here, 3: that makes it exact.
    check_tiers(&case, "A=11 B=66? C=88 D=FF", "A=11 B=66? C=88 D=FF");
}

#[test]
fn falling_through_to_a_label_with_lanes_of_its_own_is_open() {
    let case = main_of([
        switch(
            low_bits(3),
            [
                arm([Label::Case(0)], [see(A)]),
                arm([Label::Case(1)], [see(B), Stmt::Break]),
                arm([Label::Case(2)], [see(C)]),
                arm([Label::Case(4)], [see(D)]),
            ],
        ),
        see(E),
    ]);
    // Nobody enters at `case 4`, so those who fall into it stay as they are. Selector 3 has no label.
    check_tiers(&case, "A=11 B=33? C=44 D=44 E=FF", "A=11 B=33? C=44 D=44 E=FF");
}

#[test]
fn a_switch_on_one_value_is_exact_through_every_fallthrough() {
    let case = main_of([
        switch(
            Expr::Push(0),
            [arm([Label::Case(0)], [see(A)]), arm([Label::Default], [see(B)]), arm([Label::Case(1)], [see(C)])],
        ),
        see(D),
    ]);
    check_tiers(&case, "A=FF B=FF C=FF D=FF", "A=FF B=FF C=FF D=FF");
}

#[test]
fn a_continue_inside_a_switch_goes_to_the_loop() {
    let inside =
        switch(low_bits(1), [arm([Label::Case(0)], [Stmt::Continue]), arm([Label::Case(1)], [see(A), Stmt::Break])]);
    let case = main_of([counted(0, uint(2), [see(B)], [inside, see(C)]), see(D)]);
    check_tiers(&case, "A=AA AA B=FF FF C=AA AA D=FF", "A=AA AA B=FF? FF? C=AA AA D=FF");
}

#[test]
fn an_operation_inside_an_if_in_an_open_segment_stays_open() {
    // Lanes with selectors 1 and 2 may be apart; one path through the inner `if` does not bring them together.
    let inner = either(below(5), [see(A)], [see(B)]);
    let case = main_of([switch(low_bits(3), [arm([Label::Case(1), Label::Case(2)], [inner])]), see(C)]);
    // Of lanes 1, 2 and 5, 6: the first two go to A, the last two to B, and each pair has two selectors.
    check_tiers(&case, "A=06? B=60? C=FF", "A=06? B=60? C=FF");
}

// ---- expressions with control flow (rule G1) ----

#[test]
fn the_right_operand_of_and_runs_where_the_left_one_is_true() {
    let any_5 = op(SubgroupOp::Any, [bin(lane(), BinaryOp::Eq, uint(5))]);
    let value = bin(below(4), BinaryOp::And, any_5);
    let case = main_of([when(value, [see(B)]), see(A)]);
    check_tiers(&case, "A=FF B=-", "A=FF B=-");
}

#[test]
fn the_right_operand_of_or_runs_where_the_left_one_is_false() {
    // Lane 2 is even, so it takes part, and `all` is false; the odd lanes do not ask.
    let not_2 = op(SubgroupOp::All, [bin(lane(), BinaryOp::Ne, uint(2))]);
    let value = bin(odd(), BinaryOp::Or, not_2);
    let case = main_of([either(value, [see(A)], [see(B)]), see(C)]);
    check_tiers(&case, "A=AA B=55 C=FF", "A=AA B=55 C=FF");
}

#[test]
fn each_arm_of_a_selection_runs_with_its_lanes() {
    let value = Expr::Select(Box::new(below(2)), Box::new(ballot()), Box::new(ballot()));
    let case = main_of([log(A, [value]), see(B)]);
    let text = "A=FF:[3 3 252 252 252 252 252 252] B=FF";
    check_tiers(&case, text, text);
}

// ---- uniform control flow and path classes (docs/rules.md, section E) ----

#[test]
fn control_flow_is_uniform_again_after_a_divergent_loop() {
    let bound = || bin(low_bits(7), BinaryOp::Add, uint(1));
    let case =
        main_of([counted(0, bound(), [], []), see(A), when(below(6), [counted(1, bound(), [], []), see(B)]), see(C)]);
    // Within the `if` it is not: no rule brings lanes together at a merge in divergent control flow.
    check_tiers(&case, "A=FF B=3F C=FF", "A=FF B=3F? C=FF");
}

/// Behind `?:`, `&&` and `||` in uniform control flow paths begin anew, as behind an `if` (rule E4), and so in the segment of a switch that all
/// take (rule E2).
#[test]
fn paths_begin_anew_where_control_flow_is_uniform() {
    let chosen = Expr::Select(Box::new(odd()), Box::new(ballot()), Box::new(ballot()));
    let case = main_of([log(A, [chosen]), when(below(6), [see(B)])]);
    let values = "A=FF:[85 170 85 170 85 170 85 170] B=3F";
    check_tiers(&case, values, values);
    let segment = [when(odd(), []), see(A), Stmt::Break];
    let case = main_of([switch(Expr::Push(0), [arm([Label::Default], segment)]), see(B)]);
    check_tiers(&case, "A=FF B=FF", "A=FF B=FF");
}

#[test]
fn all_visitors_on_one_path_are_exact_although_divergent() {
    let case = main_of([when(below(6), [when(odd(), [see(A)])]), see(B)]);
    check_tiers(&case, "A=2A B=FF", "A=2A B=FF");
}

#[test]
fn an_empty_else_is_a_path_of_its_own() {
    let case = main_of([when(below(6), [when(odd(), []), see(A)]), see(B)]);
    check_tiers(&case, "A=3F B=FF", "A=3F? B=FF");
}

#[test]
fn an_open_ballot_is_not_compared_but_the_path_is() {
    let body = [when(odd(), []), set(0, ballot()), log(A, [var(0), lane()])];
    let case = main_of([when(below(6), body)]);
    check(&case, Tier::Plain, "A=3F:[?/0 ?/1 ?/2 ?/3 ?/4 ?/5]");
}

#[test]
fn a_lane_whose_path_is_unknown_is_lost() {
    // At tier plain the ballot is open, so it is unknown who goes into the `if`. Lanes 6 and 7 never come near it, but they could
    // meet the lost lanes at D.
    let risky = when(bin(var(0), BinaryOp::Eq, uint(0x3F)), [see(B)]);
    let case =
        main_of([when(below(6), [when(odd(), []), set(0, ballot()), see(A), risky, see(C)]), see(D), log(E, [lane()])]);
    check(&case, Tier::Maximal, "A=3F B=3F C=3F D=FF E=FF:[0 1 2 3 4 5 6 7]");
    check(&case, Tier::Plain, "A=3F? B=- C=- D=C0? E=C0:[6 7]");
}

/// Lanes that are lost within an expression may be anywhere in it, and so may be together with those that are not.
#[test]
fn a_lane_that_is_lost_in_an_expression() {
    let open =
        |what: Expr| Expr::Select(Box::new(bin(var(0), BinaryOp::Eq, uint(0x3E))), Box::new(what), Box::new(uint(0)));
    let first = bin(Expr::Builtin(Builtin::LocalIndex), BinaryOp::Lt, uint(6));
    let before = || [set(0, uint(0)), when(first.clone(), [when(odd(), []), set(0, ballot())])];
    let body = |tail: Vec<Stmt>| [before().to_vec(), tail].concat();
    // Lanes 6 and 7 are sure to take the 0; whether the others execute the ballot nobody knows, and they are not followed to the next one.
    let one = main_of(body(vec![log(A, [open(ballot()), ballot()])]));
    check(&one, Tier::Plain, "A=C0:[0/? 0/?]");
    check(&one, Tier::SubgroupUniform, "A=C0:[0/? 0/?]");
    // A second subgroup takes the 0 as a whole.
    let mut two = one;
    two.entry_point.workgroups_mut().size = [16, 1, 1];
    let exact = ["0/255"; 8].join(" ");
    check(&two, Tier::Plain, &format!("A=C0+FF:[0/? 0/? {exact}]"));
    check(&two, Tier::SubgroupUniform, &format!("A=C0+FF:[0/? 0/? {exact}]"));
    // Wherever in the arm the operation stands.
    let pair = |x: Expr, y: Expr| Expr::Vector(Type::vector(Scalar::Uint, 2), vec![x, y]);
    let element = |of: Expr, index: Expr| Expr::Element(Box::new(of), Box::new(index));
    let chosen =
        |cond: Expr, then: Expr, otherwise: Expr| Expr::Select(Box::new(cond), Box::new(then), Box::new(otherwise));
    let none = || bin(ballot(), BinaryOp::Eq, uint(0));
    for arm in [
        bin(ballot(), BinaryOp::Add, lane()),
        bin(lane(), BinaryOp::Add, ballot()),
        element(pair(ballot(), lane()), uint(0)),
        element(pair(lane(), lane()), bin(ballot(), BinaryOp::BitAnd, uint(1))),
        chosen(none(), lane(), lane()),
        chosen(odd(), ballot(), lane()),
        chosen(odd(), lane(), ballot()),
        Expr::Cast(Scalar::Uint, Box::new(bin(none(), BinaryOp::And, odd()))),
        Expr::Cast(Scalar::Uint, Box::new(bin(odd(), BinaryOp::And, none()))),
    ] {
        check(&main_of(body(vec![log(A, [open(arm)])])), Tier::Plain, "A=C0:[0 0]");
    }
    // Without a subgroup operation behind the choice it is a choice of a value: all go on.
    let mut value = main_of(body(vec![log(A, [open(lane()), ballot()])]));
    check(&value, Tier::Plain, "A=FF:[?/255 ?/255 ?/255 ?/255 ?/255 ?/255 0/255 0/255]");
    value.entry_point.workgroups_mut().size = [16, 1, 1];
    let open = ["?/255"; 6].join(" ");
    check(&value, Tier::Plain, &format!("A=FF+FF:[{open} 0/255 0/255 {exact}]"));
}

/// Rule S2: who is together in a segment is open, and with it the path of who asks. Such a lane may take part in operations of its own quad; a quad
/// operation waits for nobody else (rule P11).
#[test]
fn a_lost_lane_is_lost_to_its_own_quad() {
    let quad_any =
        |n: u32| Expr::Cast(Scalar::Uint, Box::new(op(SubgroupOp::QuadAny, [bin(lane(), BinaryOp::Eq, uint(n))])));
    for lost in 0..4 {
        let [one, two] = [4 * lost, 4 * lost + 1];
        let inside = [set(0, ballot()), when(bin(var(0), BinaryOp::Eq, uint(3)), [see(C)])];
        let arms = [arm([Label::Case(i64::from(one)), Label::Case(i64::from(two))], inside)];
        let is_of_others = bin(bin(lane(), BinaryOp::Div, uint(4)), BinaryOp::Ne, uint(lost));
        let of_others = when(is_of_others, [log(A, [quad_any((one + 6) % 16)])]);
        let mut case = main_of([set(0, uint(0)), switch(lane(), arms), of_others, log(B, [quad_any(one)])]);
        case.entry_point.workgroups_mut().size = [16, 1, 1];
        let prediction = predict(&case, &LaneMap::linear(&case, 16)).expect("it is defined");
        for log in prediction.logs() {
            let quad = log.lane as u32 / 4;
            if quad != lost {
                let any = u32::from(quad == (one + 6) % 16 / 4);
                assert_eq!(log.words[..2], [Some(A), Some(any)], "quad {lost} lost, lane {}", log.lane);
            } else if log.lane as u32 % 4 >= 2 {
                assert_eq!(log.words, [Some(B), None], "quad {lost} lost, lane {}", log.lane);
            }
        }
    }
}

#[test]
fn subgroup_uniform_control_flow_is_a_matter_of_each_subgroup() {
    // Two subgroups; only the first goes into the `if`, which therefore is not uniform for the workgroup.
    let first = bin(Expr::Builtin(Builtin::LocalIndex), BinaryOp::Lt, uint(8));
    let mut case = main_of([when(first, [when(below(4), []), see(A)]), see(B)]);
    case.entry_point.workgroups_mut().size = [16, 1, 1];
    let both = "B=FF+FF:[255 255 255 255 255 255 255 255 255 255 255 255 255 255 255 255]";
    check(&case, Tier::Maximal, &format!("A=FF {both}"));
    check(&case, Tier::SubgroupUniform, &format!("A=FF {both}"));
    check(&case, Tier::Plain, &format!("A=FF? {both}"));
}

#[test]
fn an_operation_on_own_operands_is_exact_in_every_tangle() {
    // Whether a lane's own bit is in its own mask has nothing to do with who else is there; the ballot beside it is open.
    let own_bit = op(SubgroupOp::BallotBitExtract, [Expr::Builtin(Builtin::LeMask), lane()]);
    let case = main_of([when(below(2), [when(odd(), []), log(A, [ballot(), own_bit])])]);
    check(&case, Tier::Plain, "A=03:[?/1 ?/1]");
}

// ---- undefined values (rules D1 and D2) ----

/// `subgroupShuffleUp(lane, 1)`: undefined in lane 0.
fn shifted_up() -> Expr {
    op(SubgroupOp::ShuffleUp, [lane(), uint(1)])
}

#[test]
fn a_shuffle_from_an_inactive_lane_is_undefined() {
    let next = bin(lane(), BinaryOp::Add, uint(1));
    // Of lanes 0 to 4, the last one reads lane 5.
    let case = main_of([when(below(5), [log(A, [op(SubgroupOp::Shuffle, [lane(), next])])])]);
    check_tiers(&case, "A=1F:[1 2 3 4 ?]", "A=1F:[1 2 3 4 ?]");
}

#[test]
fn taint_is_poison() {
    let zero = |value: Expr| bin(value, BinaryOp::BitAnd, uint(0));
    let case =
        main_of([set(0, shifted_up()), log(A, [var(0), zero(var(0)), bin(var(0), BinaryOp::Sub, var(0)), lane()])]);
    let text = "A=FF:[?/?/?/0 0/0/0/1 1/0/0/2 2/0/0/3 3/0/0/4 4/0/0/5 5/0/0/6 6/0/0/7]";
    check_tiers(&case, text, text);
}

#[test]
fn taint_moves_with_a_shuffle() {
    let down = op(SubgroupOp::ShuffleDown, [var(0), uint(1)]);
    let case = main_of([set(0, shifted_up()), log(A, [op(SubgroupOp::ShuffleXor, [var(0), uint(3)])]), log(B, [down])]);
    let text = "A=FF:[2 1 0 ? 6 5 4 3] B=FF:[0 1 2 3 4 5 6 ?]";
    check_tiers(&case, text, text);
}

#[test]
fn taint_reaches_what_a_reduction_or_scan_combines() {
    let case = main_of([
        set(0, op(SubgroupOp::ShuffleUp, [lane(), uint(2)])),
        log(A, [op(SubgroupOp::Reduce(Fold::Add), [var(0)])]),
        log(B, [op(SubgroupOp::Exclusive(Fold::Add), [var(0)])]),
        when(bin(lane(), BinaryOp::Gt, uint(1)), [log(C, [op(SubgroupOp::Inclusive(Fold::Max), [var(0)])])]),
    ]);
    // Lanes 0 and 1 are undefined. The first lane of an exclusive scan gets the identity all the same.
    let text = "A=FF? B=FF:[0 ? ? ? ? ? ? ?] C=FC:[0 1 2 3 4 5]";
    check_tiers(&case, text, text);
}

/// A lane with two undefined operands has no more of a result than with one.
#[test]
fn taint_of_two_operands() {
    let far = bin(var(0), BinaryOp::Add, uint(100));
    let case = main_of([
        set(0, shifted_up()),
        log(A, [op(SubgroupOp::Shuffle, [lane(), far]), lane()]),
        log(B, [op(SubgroupOp::Shuffle, [var(0), var(0)]), lane()]),
    ]);
    let text = "A=FF:[?/0 ?/1 ?/2 ?/3 ?/4 ?/5 ?/6 ?/7] B=FF:[?/0 ?/1 0/2 1/3 2/4 3/5 4/6 5/7]";
    for tier in Tier::ALL {
        let case = Case { tier, ..case.clone() };
        assert_eq!(expected(&case, &LaneMap::linear(&case, 8)).expect("it is defined"), text);
    }
    // The same of what is open: lanes 0 to 5 do not know x0.
    let open = op(SubgroupOp::Reduce(Fold::Add), [uint(1)]);
    let chosen = |id: Expr| op(SubgroupOp::Shuffle, [var(0), id]);
    let values = [chosen(var(0)), chosen(bin(var(0), BinaryOp::BitAnd, uint(3))), lane()];
    let case = main_of([set(0, uint(7)), when(below(6), [when(odd(), []), set(0, open)]), log(A, values)]);
    let text = "A=FF:[?/?/0 ?/?/1 ?/?/2 ?/?/3 ?/?/4 ?/?/5 7/?/6 7/?/7]";
    let case = Case { tier: Tier::Plain, ..case };
    assert_eq!(expected(&case, &LaneMap::linear(&case, 8)).expect("it is defined"), text);
}

#[test]
fn taint_of_an_element_that_is_set() {
    let pair = Expr::Vector(Type::vector(Scalar::Uint, 2), vec![lane(), uint(8)]);
    let mut main = function("main", [set(0, pair)]);
    main.locals = vec![tangle_program::tree::Local::new("x0".to_owned(), Type::vector(Scalar::Uint, 2))];
    let component = |n| Expr::Component(Box::new(var(0)), n);
    main.body.extend([
        Stmt::SetElement { var: 0, index: uint(1), inner: vec![], value: shifted_up() },
        log(A, [component(1)]),
    ]);
    let case = case(vec![main]);
    let text = "A=FF:[? 0 1 2 3 4 5 6]";
    check_tiers(&case, text, text);
}

/// Rules N5 and F: what an intrinsic leaves undefined, and scalar operands of one on vectors.
#[test]
fn intrinsics() {
    use tangle_program::ops::Intrinsic;
    let extract = |of: Expr, first: u32, bits: Expr| {
        Expr::Intrinsic(
            Intrinsic::BitfieldExtract,
            vec![of, Expr::Cast(Scalar::Int, Box::new(uint(first))), Expr::Cast(Scalar::Int, Box::new(bits))],
        )
    };
    let number = || bin(lane(), BinaryOp::Add, uint(0xF0));
    let past = main_of([log(A, [extract(number(), 28, lane())])]);
    let found = expected(&past, &LaneMap::linear(&past, 8)).expect("it is defined");
    assert_eq!(found, "A=FF:[0 0 0 0 0 ? ? ?]", "up to bit 32");
    // A device gives something.
    assert!(observe(&past, &LaneMap::linear(&past, 8), || Spec).is_ok());
    let steered = main_of([when(bin(extract(number(), 30, uint(8)), BinaryOp::Eq, uint(0)), [see(A)])]);
    assert!(observe(&steered, &LaneMap::linear(&steered, 8), || Spec).is_ok());
    let pair = Expr::Vector(Type::vector(Scalar::Uint, 2), vec![number(), uint(0x80)]);
    let second = Expr::Component(Box::new(extract(pair, 4, uint(4))), 1);
    check(&main_of([log(A, [second])]), Tier::Maximal, "A=FF:[8 8 8 8 8 8 8 8]");
}

#[test]
fn taint_stays_in_the_lanes_that_have_it() {
    // Overwritten in lanes 0 to 3, nothing of it is left.
    let case = main_of([set(0, shifted_up()), when(below(4), [set(0, uint(9))]), log(A, [var(0)])]);
    let text = "A=FF:[9 9 9 9 3 4 5 6]";
    check_tiers(&case, text, text);
}

/// Rule G5: what a parameter gets, and what comes back.
#[test]
fn arguments_are_copied_in_and_out() {
    let grown = || set(0, bin(var(0), BinaryOp::Add, uint(1)));
    let mut callee = function("callee", [grown(), when(below(4), [Stmt::Return(None)]), grown()]);
    callee.params = vec![Param { name: "x0".into(), direction: Direction::Inout, ty: Type::UINT }];
    callee.locals.clear();
    let call = Stmt::Call { function: 0, args: vec![Arg::Out(0)], dest: None };
    let case = case(vec![callee, function("main", [set(0, lane()), call, log(A, [var(0)])])]);
    check_tiers(&case, "A=FF:[1 2 3 4 6 7 8 9]", "A=FF:[1 2 3 4 6 7 8 9]");
}

#[test]
fn taint_passes_through_calls() {
    let mut callee = function("callee", [Stmt::Return(Some(bin(var(0), BinaryOp::Add, uint(10))))]);
    callee.params = vec![Param { name: "x0".into(), direction: Direction::In, ty: Type::UINT }];
    callee.locals.clear();
    callee.result = Some(Type::UINT);
    let call = Stmt::Call { function: 0, args: vec![Arg::In(shifted_up())], dest: Some(0) };
    let case = case(vec![callee, function("main", [call, log(A, [var(0)])])]);
    let text = "A=FF:[? 10 11 12 13 14 15 16]";
    check_tiers(&case, text, text);
}

/// What is undefined in lanes that are elsewhere decides nothing here.
#[test]
fn an_undefined_value_elsewhere_is_none_here() {
    let is_3 = bin(var(0), BinaryOp::Eq, uint(3));
    let chosen = switch(var(0), [arm([Label::Case(3)], [see(B)])]);
    let case =
        main_of([set(0, shifted_up()), when(bin(lane(), BinaryOp::Gt, uint(0)), [when(is_3, [see(A)]), chosen])]);
    for tier in Tier::ALL {
        let case = Case { tier, ..case.clone() };
        assert_eq!(expected(&case, &LaneMap::linear(&case, 8)).expect("it is defined"), "A=10 B=10");
    }
}

/// The validator would not let these through; the oracle does not rely on that.
fn not_defined(case: &Case) -> String {
    predict(case, &LaneMap::linear(case, 8)).expect_err("there must be no prediction").0
}

#[test]
fn an_undefined_value_in_control_flow_is_invalid() {
    let is_3 = |value: Expr| bin(value, BinaryOp::Eq, uint(3));
    for case in [
        main_of([when(is_3(shifted_up()), [see(A)])]),
        main_of([counted(0, bin(shifted_up(), BinaryOp::BitAnd, uint(3)), [], [see(A)])]),
        main_of([switch(shifted_up(), [arm([Label::Default], [see(A)])])]),
        main_of([log(A, [Expr::Select(Box::new(is_3(shifted_up())), Box::new(ballot()), Box::new(uint(0)))])]),
    ] {
        for tier in Tier::ALL {
            assert_eq!(not_defined(&Case { tier, ..case.clone() }), "an undefined value reaches control flow");
            assert!(observe(&case, &LaneMap::linear(&case, 8), || Spec).is_ok(), "a device goes somewhere");
        }
    }
    // Beside an operand that is merely not known, by a ballot in the segment of a switch, it is as undefined.
    let both = |x: u32, y: u32| bin(var(x), BinaryOp::Add, var(y));
    for sum in [both(0, 1), both(1, 0)] {
        let open = switch(low_bits(1), [arm([Label::Default], [set(0, ballot())])]);
        let case = main_of([set(1, shifted_up()), open, when(is_3(sum), [see(A)])]);
        assert_eq!(not_defined(&case), "an undefined value reaches control flow");
    }
}

#[test]
fn undefined_behaviour_is_invalid() {
    let divide = bin(uint(1), BinaryOp::Div, Expr::Push(0));
    let device = main_of([log(A, [divide.clone()])]);
    assert!(observe(&device, &LaneMap::linear(&device, 8), || Spec).is_ok(), "a device gives something");
    // Lane 2 gets 1 from its neighbour; lane 0's operand is undefined.
    let one_less = bin(shifted_up(), BinaryOp::BitXor, uint(1));
    let remainder = |of: Expr| {
        let rest = Expr::Intrinsic(Intrinsic::SignedRem, vec![Expr::Int(7), Expr::Cast(Scalar::Int, Box::new(of))]);
        Expr::Cast(Scalar::Uint, Box::new(rest))
    };
    let device = main_of([log(A, [remainder(Expr::Push(0))])]);
    assert!(observe(&device, &LaneMap::linear(&device, 8), || Spec).is_ok(), "a device gives something");
    // Of a lane whose operand is undefined nothing is said; those of the others are 1, 1, 2, 3, 4, 5 and 6.
    let divisor =
        bin(shifted_up(), BinaryOp::Add, Expr::Cast(Scalar::Uint, Box::new(bin(lane(), BinaryOp::Eq, uint(1)))));
    let device = main_of([log(A, [remainder(divisor)])]);
    let found = expected(&device, &LaneMap::linear(&device, 8)).expect("it is defined");
    assert_eq!(found, "A=FF:[? 0 0 1 1 3 2 1]");
    let ballot = || op(SubgroupOp::Ballot, [odd()]);
    for (what, expr) in [
        ("division by zero", divide),
        ("division by zero in one lane", bin(uint(1), BinaryOp::Div, one_less.clone())),
        ("a remainder of zero", remainder(Expr::Push(0))),
        ("a remainder of zero in one lane", remainder(one_less)),
        ("a lane to broadcast from that differs", op(SubgroupOp::Broadcast, [lane(), lane()])),
        ("a delta to rotate by that differs", op(SubgroupOp::Rotate, [lane(), lane()])),
        (
            "a mask that differs",
            Expr::Cast(Scalar::Uint, Box::new(op(SubgroupOp::InverseBallot, [Expr::Builtin(Builtin::EqMask)]))),
        ),
    ] {
        println!("{what}: {}", not_defined(&main_of([log(A, [expr])])));
    }
    // The same ballot in all lanes is fine.
    let fine = Expr::Cast(Scalar::Uint, Box::new(op(SubgroupOp::InverseBallot, [ballot()])));
    check(&main_of([log(A, [fine])]), Tier::Maximal, "A=FF:[0 1 0 1 0 1 0 1]");
}

// ---- the rest of a case ----

#[test]
fn inputs_belong_to_invocations_and_not_to_lanes() {
    let mut case = main_of([log(A, [Expr::Input(0)]), when(bin(Expr::Input(0), BinaryOp::Lt, uint(103)), [see(B)])]);
    case.data = Data { inputs: vec![(100..108).collect()], ..Data::default() };
    check(&case, Tier::Maximal, "A=FF:[100 101 102 103 104 105 106 107] B=07");
    // Lane k is invocation 7 - k here: the first three invocations are the last three lanes. Lanes stand in their own order.
    let map = LaneMap::from_fn(&case, 8, |index| (0, 7 - index), 1);
    let found = expected(&case, &map).expect("the case is well-defined");
    assert_eq!(found, "A=FF:[107 106 105 104 103 102 101 100] B=E0");
}

/// Rule P14.
#[test]
fn masks_of_lanes() {
    use Builtin::{EqMask, GeMask, GtMask, LeMask, LtMask};
    let mask = |builtin| Expr::Component(Box::new(Expr::Builtin(builtin)), 0);
    for (builtin, masks) in [
        (EqMask, [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80]),
        (GeMask, [0xFF, 0xFE, 0xFC, 0xF8, 0xF0, 0xE0, 0xC0, 0x80]),
        (GtMask, [0xFE, 0xFC, 0xF8, 0xF0, 0xE0, 0xC0, 0x80, 0x00]),
        (LeMask, [0x01, 0x03, 0x07, 0x0F, 0x1F, 0x3F, 0x7F, 0xFF]),
        (LtMask, [0x00, 0x01, 0x03, 0x07, 0x0F, 0x1F, 0x3F, 0x7F]),
    ] {
        let text = masks.map(|mask: u32| mask.to_string()).join(" ");
        check(
            &main_of([log(A, [mask(builtin), uint(0)])]),
            Tier::Maximal,
            &format!("A=FF:[{}]", text.replace(' ', "/0 ") + "/0"),
        );
    }
}

#[test]
fn masks_have_bits_of_lanes_that_do_not_exist() {
    // Five invocations in a subgroup of 8 (rules P14 and P15): the ballot has the live lanes, the built-in masks do not care.
    let first = |builtin| Expr::Component(Box::new(Expr::Builtin(builtin)), 0);
    let mut case = main_of([see(A), log(B, [first(Builtin::GeMask), first(Builtin::LtMask)])]);
    case.entry_point.workgroups_mut().size = [5, 1, 1];
    check(&case, Tier::Maximal, "A=1F B=1F:[255/0 254/1 252/3 248/7 240/15]");
}

#[test]
fn workgroups_are_predicted_one_by_one() {
    let mut case =
        main_of([when(bin(Expr::Builtin(Builtin::WorkgroupIndex), BinaryOp::Eq, uint(1)), [see(A)]), see(B)]);
    case.entry_point.workgroups_mut().count = [3, 1, 1];
    check_tiers(&case, "A=FF B=FF FF FF", "A=FF B=FF FF FF");
}

/// The generator is xorshift64*; the expected draws were worked out by another program. A device that draws the same for ever would test nothing.
#[test]
fn draws_of_a_device_are_those_of_its_seed() {
    use tangle_oracle::rules::{Drawn, Rules as _};
    for (seed, expected) in [
        (1, [1, 0, 1, 3, 2, 3, 0, 3, 1, 2, 2, 0, 3, 1, 1, 3, 1, 0, 3, 0, 1, 2, 3, 1]),
        (2, [3, 0, 2, 3, 2, 3, 3, 0, 3, 1, 3, 3, 3, 1, 1, 3, 0, 0, 2, 0, 3, 1, 0, 3]),
        (7, [2, 0, 0, 0, 0, 2, 3, 1, 2, 1, 0, 2, 3, 2, 0, 0, 1, 1, 1, 0, 1, 1, 0, 2]),
    ] {
        let mut device = Drawn::new(seed);
        // One of three instances that there are, or a new one.
        assert_eq!([(); 24].map(|()| device.instance(3)), expected, "seed {seed}");
    }
}

/// The device of least reconvergence joins nobody, and is as far from the specification as allowed in all that is its choice.
#[test]
fn choices_of_the_device_of_least_reconvergence() {
    use tangle_oracle::rules::{MinimalReconvergence, Rules as _};
    for instances in [0, 1, 5] {
        assert_eq!(MinimalReconvergence.instance(instances), instances, "a new instance each time");
    }
    assert!(MinimalReconvergence.atomics_descend() && !Spec.atomics_descend());
    assert!(!MinimalReconvergence.keeps_quads_of_helpers() && Spec.keeps_quads_of_helpers());
    assert!(!Spec.has_open_operations());
}

// ---- preserved numbers (docs/rules.md, rules F6 to F9) ----

const ONE: u32 = 0x3F80_0000;
const NEGATIVE_ONE: u32 = 0xBF80_0000;
const INFINITY: u32 = 0x7F80_0000;
const NAN: u32 = 0x7FC0_0000;
const OTHER_NAN: u32 = 0xFF80_0001;
const NEGATIVE_ZERO: u32 = 0x8000_0000;
const DENORMAL: u32 = 0x8000_0001;

/// The even lanes have the first, the odd ones the second.
fn by_lane(even: u32, odd_lanes: u32) -> Expr {
    Expr::Intrinsic(Intrinsic::Mix, vec![uint(even), uint(odd_lanes), odd()])
}

fn float_of(bits: Expr) -> Expr {
    Expr::Intrinsic(Intrinsic::FromBits, vec![bits])
}

fn bits_of(value: Expr) -> Expr {
    Expr::Intrinsic(Intrinsic::ToBits, vec![value])
}

fn number_of(bool: Expr) -> Expr {
    Expr::Cast(Scalar::Uint, Box::new(bool))
}

/// What all 8 lanes log, if it is the same.
fn all_have(word: &str) -> String {
    match word {
        _ if word.contains("A=") => word.to_owned(),
        "?" => "A=FF?".to_owned(),
        _ => format!("A=FF:[{}]", [word; 8].join(" ")),
    }
}

/// Lanes that log a word of preserved numbers.
fn preserving(lanes: Option<Expr>, value: Expr) -> Case {
    let seen = log(A, [value]);
    let mut case = main_of([match lanes {
        Some(lanes) => when(lanes, [seen]),
        None => seen,
    }]);
    case.entry_point.float_controls = FloatControls::NONE
        .with(FloatMode::SignedZeroInfNanPreserve, Scalar::Float)
        .with(FloatMode::DenormPreserve, Scalar::Float);
    case
}

#[test]
fn minimum_and_maximum_of_preserved_numbers() {
    use Fold::{Max, Min};
    use SubgroupOp::{Exclusive, Inclusive, Reduce};
    for (operation, even, odd_lanes, expected) in [
        (Reduce(Min), ONE, NAN, "1065353216"),
        (Reduce(Max), OTHER_NAN, NEGATIVE_ONE, "3212836864"),
        (Reduce(Max), NAN, NAN, "?"),
        (Reduce(Min), ONE, INFINITY, "1065353216"),
        (Reduce(Max), ONE, INFINITY, "2139095040"),
        // Either may come out where there are zeros of both signs.
        (Reduce(Min), 0, NEGATIVE_ZERO, "?"),
        (Reduce(Min), NEGATIVE_ZERO, NAN, "2147483648"),
        (Reduce(Min), NEGATIVE_ZERO, NEGATIVE_ONE, "3212836864"),
        (
            Inclusive(Max),
            NAN,
            ONE,
            "A=FF:[? 1065353216 1065353216 1065353216 1065353216 1065353216 1065353216 1065353216]",
        ),
        (
            Exclusive(Min),
            ONE,
            NAN,
            "A=FF:[2139095040 1065353216 1065353216 1065353216 1065353216 1065353216 1065353216 1065353216]",
        ),
        (Exclusive(Max), NAN, NAN, "A=FF:[4286578688 ? ? ? ? ? ? ?]"),
        // Without the other intrinsic a denormal is a zero before it is a float.
        (Reduce(Max), DENORMAL, NEGATIVE_ONE, "2147483648"),
    ] {
        let case = preserving(None, bits_of(op(operation, [float_of(by_lane(even, odd_lanes))])));
        check_tiers(&case, &all_have(expected), &all_have(expected));
    }
    let denormal = Expr::Intrinsic(Intrinsic::FromAllBits, vec![by_lane(DENORMAL, NEGATIVE_ONE)]);
    let expected = all_have("2147483649");
    check_tiers(&preserving(None, bits_of(op(Reduce(Max), [denormal]))), &expected, &expected);
}

#[test]
fn all_equal_of_preserved_numbers() {
    let alone = || Some(bin(lane(), BinaryOp::Eq, uint(5)));
    for (lanes, even, odd_lanes, expected) in [
        (None, ONE, ONE, "1"),
        (None, 0, NEGATIVE_ZERO, "1"),
        (None, INFINITY, INFINITY, "1"),
        (None, INFINITY, ONE, "0"),
        (None, NAN, NAN, "0"),
        (None, ONE, NAN, "0"),
        // Nothing says whether a lane is compared with itself.
        (alone(), NAN, NAN, "A=20?"),
        (alone(), NAN, ONE, "A=20:[1]"),
    ] {
        let case = preserving(lanes, number_of(op(SubgroupOp::AllEqual, [float_of(by_lane(even, odd_lanes))])));
        check(&case, Tier::Maximal, &all_have(expected));
    }
}

#[test]
fn preserved_numbers_are_moved_and_compared() {
    let first = |bits: u32| bits_of(op(SubgroupOp::BroadcastFirst, [float_of(by_lane(bits, ONE))]));
    for (bits, expected) in [
        (NEGATIVE_ZERO, "2147483648"),
        (INFINITY | 1 << 31, "4286578688"),
        // Sign and payload of a NaN are open, so that all are logged alike.
        (OTHER_NAN, "2143289344"),
    ] {
        check_tiers(&preserving(None, first(bits)), &all_have(expected), &all_have(expected));
    }
    let pick = Expr::Select(Box::new(odd()), Box::new(float_of(uint(NEGATIVE_ZERO))), Box::new(float_of(uint(NAN))));
    let expected = "A=FF:[2143289344 2147483648 2143289344 2147483648 2143289344 2147483648 2143289344 2147483648]";
    check_tiers(&preserving(None, bits_of(pick)), expected, expected);
    use BinaryOp::{Eq, Ge, Gt, Lt, Ne};
    for (operator, x, y, expected) in [
        (Eq, NAN, NAN, "0"),
        (Ne, NAN, NAN, "1"),
        (Lt, NAN, ONE, "0"),
        (Ge, ONE, NAN, "0"),
        (Eq, 0, NEGATIVE_ZERO, "1"),
        (Lt, NEGATIVE_ZERO, 0, "0"),
        (Gt, INFINITY, ONE, "1"),
    ] {
        let compared = bin(float_of(uint(x)), operator, float_of(uint(y)));
        check_tiers(&preserving(None, number_of(compared)), &all_have(expected), &all_have(expected));
    }
}
