//! Changes of a program or of how it is compiled, with which a bug goes away: the counterfactual by which findings of one bug are recognised,
//! minimised or not.
//!
//! | change | leaves |
//! |---|---|
//! | a construct is taken out that no value depends on ([`construct`]) | every value, every path |
//! | fragments are not demoted or ended in loops ([`construct`]) | what others log |
//! | what helper invocations load is computed ([`helper_load`]) | every value, every path |
//! | a NaN in the minimum or maximum of a group is an infinity ([`nan`]) | every value, every path |
//! | a NaN that a group compares is an infinity ([`nan`]) | what is logged where, as long as no path depends on it |
//! | loops of tens of thousands of iterations have a few ([`long_loop`]) | what is logged where, behind them |
//! | values of loops are kept in an array before a lane leaves ([`copy`]) | every value, every path |
//! | exits of loops are moved to the end of their iteration ([`exit`]) | every value, every path |
//! | operations in operands that not every lane evaluates are in branches ([`skip`]) | every value, every path |
//! | the first operand stands in the place of an operation ([`operand`]) | what is logged where, as long as no path depends on it |
//! | an optimisation is off ([`optimisation`]) | the program |
//!
//! In this order a change is near: the first of those that a program passes with is the one to tell people. What was wrong has to be compared
//! again each time ([`still_compares`]).
//!
//! Constructs, loads, NaNs and long loops tell by themselves, since nearly nothing else would make the program pass; so do values of loops where the
//! program does not pass with an optimisation off, too, then operands that not every lane evaluates, and ends of fragments where nothing else tells ([`telling`]). The others are broad: programs of many bugs pass without `spirv-opt`, or without their exits in the middle of a loop.
//! They tell together ([`show_one_bug`]).

mod construct;
mod copy;
mod exit;
mod helper_load;
mod long_loop;
mod nan;
mod operand;
mod optimisation;
mod skip;
mod within;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tangle_analysis::validate::validate;
use tangle_oracle::judge::Mismatch;
use tangle_program::case::{Case, InvocationId};
use tangle_program::subgroup::TABLE;
use tangle_program::tree::around_bodies;

use crate::account::{Account, Lane};
use construct::Construct;
use nan::Uses;
use optimisation::Optimisation;
use skip::Operands;
use within::Within;

/// What a program is changed by: what it is without then. The order is that of nearness. In files it is text: `subgroupBarrier in a loop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Change(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    /// Taken out wherever it stands in one kind of place.
    Construct(Construct, Within),
    /// Computed where a helper would load it.
    HelperLoad,
    /// An infinity in its place, where a group uses it like this, and 0 in the place of a -0 that is compared.
    Nan(Uses),
    /// With a few iterations.
    LongLoop,
    /// Kept in an array.
    Value,
    /// Moved to the end of its iteration.
    Exit,
    /// In a branch, with an operation.
    Skipped(Operands),
    /// Replaced by its operand wherever it stands in one kind of place.
    Operation(&'static str, Within),
    /// Turned off: another variant of the same program.
    Optimisation(Optimisation),
}

/// A text names no change.
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is nothing that a program can be without: 'subgroupBarrier in a loop' is")]
pub struct UnknownChange(String);

/// The changes that are no construct, operation or optimisation, the nearest first.
const OTHERS: [Kind; 8] = [
    Kind::HelperLoad,
    Kind::Nan(Uses::Extremum),
    Kind::Nan(Uses::Comparison),
    Kind::LongLoop,
    Kind::Value,
    Kind::Exit,
    Kind::Skipped(Operands::Right),
    Kind::Skipped(Operands::Selected),
];

impl Change {
    /// Every change, the nearest first.
    fn all() -> impl Iterator<Item = Change> {
        let constructs = Construct::all()
            .flat_map(|construct| construct.places().map(move |place| Kind::Construct(construct, place)));
        let operations = operand::operations();
        let operations = operations.into_iter().flat_map(|name| Within::ALL.map(|place| Kind::Operation(name, place)));
        let kinds = constructs.chain(OTHERS).chain(operations);
        kinds.chain(Optimisation::all().map(Kind::Optimisation)).map(Change)
    }

    /// Those that can be made in a case and say something, the nearest first.
    pub fn of(case: &Case) -> impl Iterator<Item = Change> + '_ {
        Change::all().filter(|change| !change.is_to_stay() && change.apply(case).is_some())
    }

    /// The changed case; `None` if there is nothing to change, or if it would not be valid.
    pub fn apply(self, case: &Case) -> Option<Case> {
        let mut changed = case.clone();
        if let Kind::Optimisation(optimisation) = self.0 {
            changed.variant = optimisation.off(&case.variant)?;
            return Some(changed);
        }
        if self.0 == Kind::HelperLoad {
            helper_load::compute(&mut changed);
        }
        let bodies = around_bodies(&case.program.functions, Within::StraightCode, Within::inside);
        for (function, here) in changed.program.functions.iter_mut().zip(bodies) {
            match self.0 {
                Kind::Construct(construct, place) => construct.take_out(&mut function.body, place, here),
                Kind::Nan(uses) => nan::take_out(function, uses),
                Kind::LongLoop => long_loop::shorten(function),
                Kind::Value => copy::copy_values(function),
                Kind::Exit => exit::move_exits(function),
                Kind::Skipped(which) => skip::branch(function, which),
                Kind::Operation(name, place) => operand::replace(function, name, place, here),
                Kind::HelperLoad | Kind::Optimisation(_) => {}
            }
        }
        (changed.program != case.program && validate(&changed).is_ok()).then_some(changed)
    }

    /// True if it can say something of a failure without a result: a compiler that dies of a loop does so for many reasons, and any change of the
    /// loop is enough.
    pub fn tells_of_crashes(self) -> bool {
        !OTHERS.contains(&self.0)
    }

    /// True if nearly nothing but one bug goes away with it, whoever makes it.
    pub fn tells_alone(self) -> bool {
        matches!(self.0, Kind::Construct(..) | Kind::HelperLoad | Kind::Nan(_) | Kind::LongLoop)
            && !self.is_discard()
            && !self.is_to_stay()
    }

    /// The changes that tell the same: a barrier is broken or not, wherever it stands.
    pub fn alike(self) -> impl Iterator<Item = Change> {
        let places = match self.0 {
            Kind::Construct(construct, place) if construct.is_barrier() => construct
                .places()
                .filter(|other| *other != place)
                .map(|place| Kind::Construct(construct, place))
                .collect(),
            _ => Vec::new(),
        };
        std::iter::once(self).chain(places.into_iter().map(Change))
    }

    /// True if it says something only where there are helper invocations: what it puts around a load may make any program another one.
    pub fn is_of_helpers(self) -> bool {
        self.0 == Kind::HelperLoad
    }

    /// True of [`Construct::is_to_stay`].
    fn is_to_stay(self) -> bool {
        matches!(self.0, Kind::Construct(construct, _) if construct.is_to_stay())
    }

    /// True if the ends of fragments are taken out. Programs of several bugs pass without the helpers that a demotion makes, so that it tells where nothing
    /// else does.
    fn is_discard(self) -> bool {
        matches!(self.0, Kind::Construct(Construct::Discard(_), _))
    }

    /// True if operands that not every lane evaluates are in branches: what makes it pass may also be that its code is another, so that it tells where nothing
    /// nearer does. It leaves those that a loop evaluates again in each iteration.
    pub fn is_of_skipped(self) -> bool {
        matches!(self.0, Kind::Skipped(_))
    }

    /// True if a bug whose programs pass with it never shows in a program that is changed by it, and the program is nearly as good without: it is a
    /// construct, or is of values behind loops or of operands that not every lane evaluates. What helpers load is not computed in all programs, and a NaN is what some of them are made for.
    pub fn is_enough(self) -> bool {
        matches!(self.0, Kind::Construct(..) | Kind::Value | Kind::Skipped(_))
    }

    /// True if every expected value stays what it is.
    fn keeps_values(self) -> bool {
        !matches!(self.0, Kind::Operation(..) | Kind::Nan(Uses::Comparison) | Kind::LongLoop)
    }

    /// True if its operand stands in the place of a subgroup operation.
    fn replaces_subgroup_operation(self) -> bool {
        matches!(self.0, Kind::Operation(name, _) if TABLE.iter().any(|info| info.name == name))
    }

    /// True if it takes the whole optimiser of a module away, not one of its passes.
    pub fn is_of_whole_optimiser(self) -> bool {
        self.0 == Kind::Optimisation(Optimisation::Optimiser)
    }

    fn is_optimisation(self) -> bool {
        matches!(self.0, Kind::Optimisation(_))
    }
}

/// True if a finding shows the bug whose minimal programs pass with these changes, by those that the finding passes with.
///
/// - What tells by itself ([`telling`]) has to be the same of both, if something does.
/// - Else the changes of the program have to be the same: what makes the one pass and not the other says that they are two bugs. They have to be two at
///   least, and one of them has to keep all values: operations around their operands alone are the way that a value goes, on which many
///   bugs lie. Optimisations only separate: one pass has many bugs. The finding may pass without more of them, since a minimal program has only
///   those passes that it needs.
pub fn show_one_bug(finding: &BTreeSet<Change>, bug: &BTreeSet<Change>) -> bool {
    let [of_finding, of_bug] = [finding, bug].map(telling);
    if !of_finding.is_empty() || !of_bug.is_empty() {
        return tell_one(&of_finding, &of_bug);
    }
    tell(bug) && of_program(finding).eq(of_program(bug)) && bug.is_subset(finding)
}

/// True if of these changes, which tell by themselves, one tells the same as one of the others.
fn tell_one(one: &BTreeSet<Change>, other: &BTreeSet<Change>) -> bool {
    one.iter().any(|change| change.alike().any(|alike| other.contains(&alike)))
}

/// True if programs that crash a driver at the same work, and pass with these changes, crash it by the same subgroup operation: whatever module a driver makes of an operation,
/// its compiler may die of it at many places.
pub fn die_of_one_operation(one: &BTreeSet<Change>, other: &BTreeSet<Change>) -> bool {
    one.intersection(other).any(|change| change.replaces_subgroup_operation())
}

/// What of these changes says which bug it is, by itself, in this order:
///
/// - a construct, what helpers load, a NaN, a long loop ([`Change::tells_alone`]);
/// - values that are used behind their loops, if no optimisation says that they are only what an optimiser gets wrong in them;
/// - operands that not every lane evaluates, if no optimisation says more;
/// - the end of a fragment.
pub fn telling(changes: &BTreeSet<Change>) -> BTreeSet<Change> {
    let those = |tells: fn(Change) -> bool| changes.iter().copied().filter(|change| tells(*change)).collect();
    let alone: BTreeSet<Change> = those(Change::tells_alone);
    match alone.is_empty() {
        false => alone,
        true if of_values(changes) => [Change(Kind::Value)].into(),
        true => {
            let skipped = those(Change::is_of_skipped);
            let is_whole = skipped.is_empty() || changes.iter().any(|change| change.is_optimisation());
            if is_whole { those(Change::is_discard) } else { skipped }
        }
    }
}

/// True if what tells these two programs apart may be one bug nevertheless: nothing tells of one of them. It may fail now and then, or have more words than are put in the place of a
/// load; but a NaN and a long loop are seen wherever they are to blame.
pub fn may_be_one_bug(one: &BTreeSet<Change>, other: &BTreeSet<Change>) -> bool {
    let [one, other] = [one, other].map(telling);
    let is_seen =
        |changes: &BTreeSet<Change>| changes.iter().any(|change| matches!(change.0, Kind::Nan(_) | Kind::LongLoop));
    tell_one(&one, &other) || one.is_empty() && !is_seen(&other) || other.is_empty() && !is_seen(&one)
}

/// What programs of one bug pass with: what both do; what tells it stays, since of some programs it cannot be seen, as of those that do not fail every time.
pub fn of_both(one: &BTreeSet<Change>, other: &BTreeSet<Change>) -> BTreeSet<Change> {
    let [tells, others] = [one, other].map(telling);
    match (tells.is_empty(), others.is_empty()) {
        (false, true) => one.clone(),
        (true, false) => other.clone(),
        _ => {
            let has =
                |changes: &BTreeSet<Change>, change: &Change| change.alike().any(|alike| changes.contains(&alike));
            one.iter()
                .filter(|change| has(other, change))
                .chain(other.iter().filter(|change| has(one, change)))
                .copied()
                .collect()
        }
    }
}

/// True if findings of a bug can be recognised by these changes.
pub fn tell(changes: &BTreeSet<Change>) -> bool {
    let keeps_values = |change: &Change| matches!(change.0, Kind::Value | Kind::Exit);
    !telling(changes).is_empty() || of_program(changes).count() > 1 && of_program(changes).any(keeps_values)
}

/// True if values used behind their loops are to blame, and nobody's optimisation.
fn of_values(changes: &BTreeSet<Change>) -> bool {
    changes.contains(&Change(Kind::Value)) && !changes.iter().any(|change| change.is_optimisation())
}

fn of_program(changes: &BTreeSet<Change>) -> impl Iterator<Item = &Change> {
    changes.iter().filter(|change| !change.is_optimisation())
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Construct(construct, place) => write!(f, "{construct} {place}"),
            Kind::HelperLoad => f.write_str("loads by helper invocations"),
            Kind::Nan(Uses::Extremum) => f.write_str("NaN in minima and maxima of groups"),
            Kind::Nan(Uses::Comparison) => f.write_str("NaN and -0 in subgroupAllEqual"),
            Kind::LongLoop => f.write_str("loops of tens of thousands of iterations"),
            Kind::Value => f.write_str("values used behind their loops, uncopied"),
            Kind::Exit => f.write_str("exits before the end of an iteration"),
            Kind::Skipped(Operands::Right) => f.write_str("operations in right operands of && and ||"),
            Kind::Skipped(Operands::Selected) => f.write_str("operations in operands of ?:"),
            Kind::Operation(name, place) => write!(f, "{name} around its operand {place}"),
            Kind::Optimisation(optimisation) => optimisation.fmt(f),
        }
    }
}

impl FromStr for Change {
    type Err = UnknownChange;

    fn from_str(text: &str) -> Result<Change, UnknownChange> {
        let text = match text {
            // As older campaigns have it.
            "NaN in subgroupAllEqual" => "NaN and -0 in subgroupAllEqual",
            text => text,
        };
        Change::all().find(|change| change.to_string() == text).ok_or_else(|| UnknownChange(text.to_owned()))
    }
}

impl TryFrom<String> for Change {
    type Error = UnknownChange;

    fn try_from(text: String) -> Result<Change, UnknownChange> {
        text.parse()
    }
}

impl From<Change> for String {
    fn from(change: Change) -> String {
        change.to_string()
    }
}

/// True if the changed run compares what was wrong before: each wrong lane has to log it there, with the same expectation where the change
/// leaves that as it is.
pub fn still_compares(wrong: &Mismatch, change: Change, changed: &Account<'_>) -> bool {
    wrong.lanes.iter().all(|lane| {
        let id = InvocationId { group: wrong.group, index: lane.index };
        let own = changed.lanes.iter().find(|own| own.invocation == id && !own.stands_in);
        own.is_some_and(|own| expects(own, lane.entry, wrong, change, &lane.expected))
    })
}

/// True if a lane has this entry. Words that were not compared before count for nothing; of those that several divisions of the lanes into
/// tangles allow, any will do.
fn expects(lane: &Lane, entry: usize, wrong: &Mismatch, change: Change, words: &[Option<u32>]) -> bool {
    let Some(entry) = lane.entries.get(entry) else { return words.is_empty() && !lane.open_end };
    // A fragment that goes on now logs what it did not when it was given up.
    if change.is_discard() && words.is_empty() {
        return entry.words.iter().all(Option::is_some);
    }
    let is_value = |at: usize| at > 0 && !change.keeps_values();
    let is_same = |(at, (now, before)): (usize, (&Option<u32>, &Option<u32>))| {
        // The first is the site.
        before.is_none() || now == before || now.is_some() && (wrong.rule.is_some() || is_value(at))
    };
    entry.words.len() == words.len() && entry.words.iter().zip(words).enumerate().all(is_same)
}

#[cfg(test)]
mod tests {
    use tangle_oracle::map::{LaneMap, SubgroupPromise};
    use tangle_program::control::{LoopControl, SelectionControl};
    use tangle_program::ops::{BinaryOp, UnaryOp};
    use tangle_program::tree::{Block, Builtin, Expr, Function, Loop, LoopKind, Stmt};
    use tangle_program::types::Type;

    use super::*;

    fn barrier() -> Stmt {
        Stmt::SubgroupBarrier(TABLE.iter().find(|info| info.name == "subgroupBarrier").expect("it is in the table").op)
    }

    fn branch(then: Block) -> Stmt {
        let cond = Expr::binary(BinaryOp::Lt, Expr::Builtin(Builtin::Lane), Expr::Uint(2));
        Stmt::If { cond, then, otherwise: Vec::new(), control: SelectionControl::Flatten }
    }

    fn log() -> Stmt {
        Stmt::Log { site: 1, values: vec![Expr::Builtin(Builtin::Lane)] }
    }

    fn case(body: Block) -> Case {
        let mut case = Case::from_json(include_str!("../../../../corpus/vectors/V01.json")).expect("a case");
        case.program.functions.last_mut().expect("main").body = body;
        case
    }

    #[test]
    fn helpers_compute_what_they_would_load() {
        let load = Case::from_json(include_str!("../../../../corpus/fragments/load_of_helper.json")).expect("a case");
        let changed = "loads by helper invocations".parse::<Change>().expect("a change").apply(&load);
        let text = tangle_emit::source(&changed.expect("it loads"));
        let log = text.lines().rfind(|line| line.contains("LOG1(")).expect("it logs");
        assert!(log.contains("gl_HelperInvocation ? (invocation < "), "{log}");
        let change = "loads by helper invocations".parse::<Change>().expect("a change");
        // Many words are few where they are equal.
        for (step, is_small) in [(0, true), (1, false)] {
            let mut many = load.clone();
            many.data.inputs.iter_mut().for_each(|words| *words = (0..128).map(|i| step * i).collect());
            let mut computed = many.clone();
            helper_load::compute(&mut computed);
            assert_eq!(computed != many, is_small, "a step of {step}");
        }
        assert_eq!(change.apply(&case(vec![log_of_input()])), None, "there are no helpers");
    }

    #[test]
    fn a_nan_becomes_an_infinity_that_decides_nothing() {
        let minimum = include_str!("../../../../corpus/regressions/minimum_of_half_and_nan.json");
        let maximum = include_str!("../../../../known/nvidia-inclusive-maximum-with-nan/case.json");
        let table = [
            (minimum, "uint16_t(31744u), (", " & uint16_t(32767u)) > uint16_t(31744u))"),
            (maximum, "0xFF800000u, (", " & 0x7FFFFFFFu) > 0x7F800000u)"),
        ];
        for (case, infinity, is_nan) in table {
            let text = changed("NaN in minima and maxima of groups", &Case::from_json(case).expect("a case"));
            assert!(text.contains(infinity) && text.contains(is_nan), "{text}");
        }
        let change = "NaN in minima and maxima of groups".parse::<Change>().expect("a change");
        assert_eq!(change.apply(&case(vec![log()])), None, "there are no floats");
        let all_equal =
            Case::from_json(include_str!("../../../../corpus/regressions/all_equal_of_nan.json")).expect("a case");
        assert_eq!(change.apply(&all_equal), None, "it is no minimum");
        let text = changed("NaN and -0 in subgroupAllEqual", &all_equal);
        assert!(text.contains("subgroupAllEqual(") && text.contains("0x7F800000u"), "{text}");
        assert!(text.contains(" & 0x7FFFFFFFu) == 0u)"), "the sign of a zero: {text}");
        let minimum = Case::from_json(minimum).expect("a case");
        assert_eq!("NaN in subgroupAllEqual".parse::<Change>().expect("a change").apply(&minimum), None);
    }

    #[test]
    fn long_loops_become_short() {
        let long = include_str!("../../../../known/lavapipe-loop-of-65536-iterations/case.json");
        let long = Case::from_json(long).expect("a case");
        assert!(tangle_emit::source(&long).contains("0x10000u"));
        let text = changed("loops of tens of thousands of iterations", &long);
        assert!(text.contains("< 4u"), "{text}");
        let mut sum = long.clone();
        let Some(Stmt::Loop(l)) = sum.program.functions[0].body.first_mut() else { panic!("a loop") };
        l.bound = Expr::binary(BinaryOp::Add, Expr::Uint(65_530), Expr::Builtin(Builtin::Lane));
        let text = changed("loops of tens of thousands of iterations", &sum);
        assert!(text.contains("< 4u + lane"), "{text}");
        let scan = Case::from_json(include_str!("../../../../corpus/patterns/scan_by_loop.json")).expect("a case");
        let change = "loops of tens of thousands of iterations".parse::<Change>().expect("a change");
        assert_eq!(change.apply(&scan), None, "its loop is short");
    }

    /// Once, in the order in which they are evaluated, and not in the tests of loops.
    #[test]
    fn operands_that_are_skipped_are_in_branches() {
        let lane = || Expr::Builtin(Builtin::Lane);
        let op = |name: &str, value: Expr| {
            Expr::subgroup(TABLE.iter().find(|info| info.name == name).expect("it is in the table").op, [value])
        };
        let any = |value: u32| op("subgroupAny", Expr::binary(BinaryOp::Eq, lane(), Expr::Uint(value)));
        let less = |value: u32| Expr::binary(BinaryOp::Lt, lane(), Expr::Uint(value));
        let inner = Expr::binary(BinaryOp::And, less(3), any(2));
        let or = Expr::binary(BinaryOp::Or, less(1), inner.clone());
        let or_of_op = || Expr::binary(BinaryOp::Or, less(1), any(2));
        let select = |no: Expr| Expr::Select(Box::new(less(1)), Box::new(Expr::Bool(true)), Box::new(no));
        let right = "operations in right operands of && and ||";
        let selected = "operations in operands of ?:";
        let log = |expr: Expr| case(vec![Stmt::Log { site: 1, values: vec![expr] }]);
        let body = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = body(&changed(right, &log(or.clone())));
        let nested = "kept_1 = lane < 1u; if (!kept_1) { kept_2 = lane < 3u; if (kept_2) { kept_2 = subgroupAny(lane == 2u); } kept_1 = kept_2; }";
        assert!(text.contains(nested), "{text}");
        let text = body(&changed(selected, &log(select(any(2)))));
        assert!(
            text.contains("if (lane < 1u) { kept_1 = true; } else { kept_1 = subgroupAny(lane == 2u); }"),
            "{text}"
        );
        let [right, selected] = [right, selected].map(|text| text.parse::<Change>().expect("a change"));
        // What the other one skips is not evaluated by all.
        assert_eq!(right.apply(&log(select(inner))), None);
        assert_eq!(selected.apply(&log(or)), None);
        assert_eq!(right.apply(&log(Expr::binary(BinaryOp::Or, less(1), less(2)))), None, "there is no operation");
        let mut named = log(or_of_op());
        let main = named.program.functions.last_mut().expect("main");
        let name = format!("kept_{}", main.var_count() + 1);
        main.add_local(name, Type::BOOL);
        assert!(right.apply(&named).is_some(), "a variable has the name");
        let negated = Expr::Unary(UnaryOp::Not, Box::new(select(any(2))));
        assert!(selected.apply(&log(negated)).is_some());
    }

    #[test]
    fn crashes_of_one_operation() {
        const FIRST: &str = "subgroupBroadcastFirst around its operand in straight code";
        const ADD: &str = "+ around its operand in straight code";
        const UP: &str = "subgroupShuffleUp around its operand in a loop";
        for (one, other, is_one) in [
            (&[FIRST][..], &[ADD, FIRST][..], true),
            (&[ADD], &[ADD], false),
            (&[FIRST], &[UP], false),
            (&[FIRST], &[], false),
        ] {
            assert_eq!(die_of_one_operation(&set(one), &set(other)), is_one, "{one:?}, {other:?}");
        }
    }

    #[test]
    fn of_one_program_nothing_may_tell() {
        const LOAD: &str = "loads by helper invocations";
        const NAN: &str = "NaN and -0 in subgroupAllEqual";
        for (one, other, may_be) in [
            (&[][..], &[][..], true),
            (&[VALUE], &[], true),
            (&[], &[LOAD], true),
            (&[NAN], &[], false),
            (&[], &[NAN], false),
            (&[NAN], &[NAN], true),
            (&[VALUE], &[LOAD], false),
        ] {
            assert_eq!(may_be_one_bug(&set(one), &set(other)), may_be, "{one:?}, {other:?}");
        }
    }

    #[test]
    fn what_tells_which_bug_it_is() {
        const ADD: &str = "+ around its operand in straight code";
        const RIGHT: &str = "operations in right operands of && and ||";
        for (changes, expected) in [
            (&[VALUE, ADD][..], &[VALUE][..]),
            (&[VALUE, LONG, ADD], &[LONG]),
            (&[VALUE, "spirv-opt"], &[]),
            (&[ADD], &[]),
            (&["demote in a loop", ADD], &["demote in a loop"]),
            (&["[[dont_unroll]] in a loop"], &[]),
            (&["[[unroll]] in a loop"], &["[[unroll]] in a loop"]),
            (&["demote in a loop", VALUE], &[VALUE]),
            (&["demote in a loop", RIGHT], &[RIGHT]),
            (&[VALUE, RIGHT, ADD], &[VALUE]),
            (&[RIGHT, "spirv-opt"], &[]),
        ] {
            assert_eq!(telling(&set(changes)), set(expected), "{changes:?}");
        }
    }

    /// Of two quads in one place of the framebuffer, a helper of the one stands in the place of a fragment of the other: `lane 2` of both subgroups has invocation 2 here.
    #[test]
    fn a_fragment_is_not_who_stands_in_its_place() {
        const SWAP: &str = r#"{"format": 2, "origin": {"seed": 0, "profile": "small", "generator": "0.1.0"}, "tier": "plain",
            "entry_point": {"stage": "fragment", "launch": {"draw": {"width": 1, "height": 2, "triangles": [[[0, 0], [2, 0], [0, 4]]]}}, "spirv": "1.3"},
            "data": {"inputs": [[0, 0, 0, 1]]},
            "program": {"functions": [{"name": "main", "body": [{"log": {"site": 1, "values": [
                {"group_non_uniform": {"op": "GroupNonUniformQuadSwap Horizontal", "args": [{"input": 0}]}}]}}]}]}}"#;
        const WRONG: &str = r#"{"kind": "value", "site": 1, "group": 0, "expected_active": [], "actual_active": [],
            "lanes": [{"subgroup": 1, "lane": 2, "index": 2, "entry": 0, "expected": [1, 1], "actual": [1, 0]}], "wrong_lanes": 1, "severity": "hard"}"#;
        let case = Case::from_json(SWAP).expect("a case");
        let wrong: Mismatch = serde_json::from_str(WRONG).expect("a mismatch");
        let token = 1_952_542_311;
        let records =
            [[0, 8, 0, 1, 0, 0, 0, 259, 517, 775, token], [0; 11], [2, 8, 2, 4, 0, 0, 0, 775, 1, 259, token], [0; 11]];
        let sizes = SubgroupPromise::vulkan(8, 8, 8);
        let (map, faults) = LaneMap::check(&case, records.as_flattened(), sizes);
        let account = Account::new(&case, map.unwrap_or_else(|| panic!("{faults:?}")), None).expect("it is defined");
        assert!(account.lanes.iter().filter(|lane| lane.invocation.index == 2).count() > 1, "{:?}", account.lanes);
        assert!(still_compares(&wrong, Change(Kind::HelperLoad), &account));
    }

    /// A fragment that is given up in a loop and logs nevertheless.
    #[test]
    fn a_fragment_that_goes_on_logs() {
        const GIVEN_UP: &str = r#"{"format": 2, "origin": {"seed": 0, "profile": "small", "generator": "0.1.0"}, "tier": "plain",
            "entry_point": {"stage": "fragment", "launch": {"draw": {"width": 1, "height": 1, "triangles": [[[0, 0], [2, 0], [0, 2]]]}}, "spirv": "1.3"},
            "data": {},
            "program": {"functions": [{"name": "main", "locals": [{"name": "i", "type": "u32"}], "body": [
                {"loop": {"kind": {"for": {"init": {"u32": 0}, "step": 1}}, "counter": 0, "bound": {"u32": 1}, "body": [{"discard": "demote"}]}},
                {"log": {"site": 1, "values": []}}]}]}}"#;
        const WRONG: &str = r#"{"kind": "extra", "site": 0, "group": 0, "expected_active": [], "actual_active": [],
            "lanes": [{"subgroup": 0, "lane": 0, "index": 0, "entry": 0, "expected": [], "actual": [1]}], "wrong_lanes": 1, "severity": "hard"}"#;
        let case = Case::from_json(GIVEN_UP).expect("a case");
        let wrong: Mismatch = serde_json::from_str(WRONG).expect("a mismatch");
        let change = "demote in a loop".parse::<Change>().expect("a change");
        let changed = change.apply(&case).expect("it has one");
        let token = 1_952_542_311;
        let records = [[0, 4, 0, 1, 0, 0, 0, 259, 517, 775, token], [0; 11]];
        let sizes = SubgroupPromise::vulkan(4, 4, 4);
        let (map, faults) = LaneMap::check(&changed, records.as_flattened(), sizes);
        let account = Account::new(&changed, map.unwrap_or_else(|| panic!("{faults:?}")), None).expect("it is defined");
        assert!(still_compares(&wrong, change, &account), "{:?}", account.lanes);
        let barrier = "subgroupBarrier in a loop".parse::<Change>().expect("a change");
        assert!(!still_compares(&wrong, barrier, &account), "of another change it is another path");
    }

    fn log_of_input() -> Stmt {
        Stmt::Log { site: 1, values: vec![Expr::Input(0)] }
    }

    #[test]
    fn one_construct_goes_in_one_kind_of_place() {
        let both = case(vec![barrier(), branch(vec![barrier(), log()])]);
        for (change, left) in [
            ("subgroupBarrier in straight code", vec![branch(vec![barrier(), log()])]),
            ("subgroupBarrier in an if", vec![barrier(), branch(vec![log()])]),
        ] {
            let changed = change.parse::<Change>().expect(change).apply(&both).expect("it stands there");
            assert_eq!(changed.program.main().expect("main").body, left, "{change}");
        }
        let names: Vec<String> = Change::of(&both).map(String::from).collect();
        assert_eq!(
            names,
            [
                "subgroupBarrier in straight code",
                "subgroupBarrier in an if",
                "[[flatten]] in straight code",
                "optimisation by the driver"
            ],
            "the nearest first"
        );
    }

    #[test]
    fn fragments_go_on_in_loops() {
        let demote = Case::from_json(include_str!("../../../../corpus/fragments/demote_in_loop.json")).expect("a case");
        let own = tangle_emit::source(&demote);
        assert!(own.contains("demote;"), "{own}");
        let text = changed("demote in a loop", &demote);
        assert!(!text.contains("demote;"), "{text}");
        let terminate = include_str!("../../../../corpus/fragments/terminate_invocation.json");
        let terminate = Case::from_json(terminate).expect("a case");
        assert!(tangle_emit::source(&terminate).contains("terminateInvocation;"));
        let change = "terminateInvocation in a loop".parse::<Change>().expect("a change");
        assert_eq!(change.apply(&terminate), None, "it is in no loop");
        assert!("demote in an if".parse::<Change>().is_err());
    }

    #[test]
    fn a_function_stands_where_it_is_called() {
        let call = |function| Stmt::Call { function, args: Vec::new(), dest: None };
        let mut both = case(vec![call(1), branch(vec![call(1), log()])]);
        let function = |name: &str, body| {
            let (name, params, locals) = (name.into(), Vec::new(), Vec::new());
            Function { name, params, result: None, locals, body }
        };
        let [inner, outer] = [function("f0", vec![barrier()]), function("f1", vec![call(0)])];
        both.program.functions.splice(..0, [inner, outer]);
        let change = |text: &str| text.parse::<Change>().expect(text).apply(&both);
        assert_eq!(change("subgroupBarrier in straight code"), None, "one of its calls is in an if");
        let changed = change("subgroupBarrier in an if").expect("so it is there");
        assert!(changed.program.functions[0].body.is_empty());
    }

    #[test]
    fn a_change_is_text_in_files() {
        for change in Change::all() {
            assert_eq!(change.to_string().parse::<Change>().ok(), Some(change));
        }
        for bad in ["", "subgroupBarrier", "subgroupAdd in a loop", "subgroupBarrier  in a loop"] {
            assert!(bad.parse::<Change>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_program_that_is_not_valid_without_it_stays() {
        assert_eq!(Change::of(&case(vec![log()])).filter(|change| !change.is_optimisation()).count(), 0);
        let shared =
            Case::from_json(include_str!("../../../../corpus/patterns/elect_then_broadcast.json")).expect("a case");
        let names: Vec<String> = Change::of(&shared).map(String::from).collect();
        assert!(!names.iter().any(|name| name.starts_with("barrier ")), "it would be a data race: {names:?}");
        assert!(shared.to_json().contains("ControlBarrier"));
    }

    const VALUE: &str = "values used behind their loops, uncopied";

    const LONG: &str = "loops of tens of thousands of iterations";

    fn set(changes: &[&str]) -> BTreeSet<Change> {
        changes.iter().map(|text| text.parse().expect(text)).collect()
    }

    /// The body of `main` with a change.
    fn changed(change: &str, case: &Case) -> String {
        let changed = change.parse::<Change>().expect(change).apply(case).expect("there is something to change");
        let text = tangle_emit::source(&changed);
        let main = text.split_once("void main()").expect("it has an entry point").1;
        let words: Vec<&str> = main.split_whitespace().collect();
        words.join(" ")
    }

    #[test]
    fn the_program_is_changed_in_one_way() {
        let scan = Case::from_json(include_str!("../../../../corpus/patterns/scan_by_loop.json")).expect("a case");
        let own = tangle_emit::source(&scan);
        assert!(own.contains("break;") && own.contains("subgroupMax("), "{own}");
        let moved = changed("exits before the end of an iteration", &scan);
        assert_eq!(moved.matches("break;").count(), 1, "{moved}");
        assert!(moved.contains("= true; }") && moved.contains("break; } }"), "{moved}");
        let replaced = changed("subgroupMax around its operand in a loop", &scan);
        assert!(!replaced.contains("subgroupMax("), "{replaced}");
        let copied = changed("values used behind their loops, uncopied", &scan);
        assert!(copied.contains("& 1u]"), "{copied}");
        for change in ["subgroupMax around its operand in a switch", "subgroupBallot around its operand in a loop"] {
            assert!(change.parse::<Change>().expect(change).apply(&scan).is_none(), "{change}");
        }
        let variants = [
            ("spirv-opt", "spirv-opt-O", Some("unoptimised")),
            ("ccp of spirv-opt", "spirv-opt:ccp,loop-unroll", Some("spirv-opt:loop-unroll")),
            ("ccp of spirv-opt", "spirv-opt:ccp", None),
            ("ccp of spirv-opt", "unoptimised", None),
            ("optimisation by the driver", "unoptimised", Some("driver-unoptimised")),
            ("spirv-opt", "hlsl@dxc+spirv-opt-O", Some("hlsl@dxc")),
        ];
        for (change, variant, expected) in variants {
            let case = Case { variant: variant.parse().expect(variant), ..scan.clone() };
            let changed = change.parse::<Change>().expect(change).apply(&case);
            assert_eq!(changed.map(|case| case.variant.to_string()).as_deref(), expected, "{change}, {variant}");
        }
    }

    /// A value that an inner loop alone uses is used behind it in the next iteration of the outer one.
    #[test]
    fn values_of_an_inner_loop_are_kept_for_its_next_time() {
        let text = include_str!("../../../../corpus/vectors/V01.json");
        let mut nested = Case::from_json(text).expect("a case");
        let main = nested.program.functions.last_mut().expect("main");
        let [a, i, j] = ["a", "i", "j"].map(|name| main.add_local(name, Type::UINT));
        let sum = Expr::binary(BinaryOp::Add, Expr::Var(a), Expr::Uint(1));
        let repeat = |counter, body| {
            Stmt::Loop(Box::new(Loop {
                kind: LoopKind::While,
                counter,
                bound: Expr::Uint(3),
                test: None,
                body,
                control: LoopControl::default(),
            }))
        };
        let set = Stmt::Assign { var: a, value: sum };
        let log = Stmt::Log { site: 1, values: vec![Expr::Var(a)] };
        let inner = |counter| repeat(counter, vec![set.clone(), log.clone()]);
        main.body = vec![inner(j)];
        let change = "values used behind their loops, uncopied".parse::<Change>().expect("a change");
        assert_eq!(change.apply(&nested), None, "nothing reads it behind");
        nested.program.functions.last_mut().expect("main").body = vec![repeat(i, vec![inner(j)])];
        let text = changed("values used behind their loops, uncopied", &nested);
        assert_eq!(text.matches("a = kept_").count(), 1, "{text}");
    }

    #[test]
    fn broad_changes_tell_together_only() {
        const BARRIER: &str = "subgroupBarrier in a loop";
        const DEMOTE: &str = "demote in a loop";
        const EXIT: &str = "exits before the end of an iteration";
        const ADD: &str = "subgroupAdd around its operand in a loop";
        const MAX: &str = "max around its operand in a loop";
        const CCP: &str = "ccp of spirv-opt";
        const ALL: &str = "spirv-opt";
        for (finding, bug, is_one) in [
            (&[BARRIER][..], &[BARRIER][..], true),
            (&[BARRIER, EXIT, ADD], &[BARRIER], true),
            (&["subgroupBarrier in an if"], &[BARRIER], true),
            (&["[[unroll]] in an if"], &["[[unroll]] in a loop"], false),
            // The helpers that a demotion makes are to blame for other bugs, too.
            (&[DEMOTE], &[DEMOTE, ADD], true),
            (&[DEMOTE, "loads by helper invocations"], &[DEMOTE], false),
            (&[DEMOTE, VALUE], &[DEMOTE], false),
            // It has another reason, which is nearer.
            (&[BARRIER, EXIT, ADD], &[EXIT, ADD], false),
            (&[EXIT, ADD], &[BARRIER, EXIT, ADD], false),
            (&[EXIT, ADD], &[EXIT, ADD], true),
            (&[EXIT, ADD, MAX], &[EXIT, ADD], false),
            (&[EXIT, ADD], &[EXIT, MAX], false),
            // Programs of many bugs pass without one of these.
            (&[EXIT], &[EXIT], false),
            (&[ADD, MAX], &[ADD, MAX], false),
            (&[CCP, ALL], &[CCP, ALL], false),
            (&[EXIT, ADD, CCP, ALL], &[EXIT, ADD, CCP, ALL], true),
            (&[EXIT, ADD, CCP, ALL], &[EXIT, ADD, ALL], true),
            (&[EXIT, ADD, ALL], &[EXIT, ADD, CCP, ALL], false),
            (&[VALUE, ADD], &[VALUE], true),
            (&[VALUE, EXIT], &[VALUE, ADD], true),
            (&[VALUE, ALL], &[VALUE], false),
            (&[EXIT, ADD], &[VALUE, EXIT, ADD], false),
            (&[], &[], false),
        ] {
            assert_eq!(show_one_bug(&set(finding), &set(bug)), is_one, "{finding:?}, {bug:?}");
        }
    }
}
