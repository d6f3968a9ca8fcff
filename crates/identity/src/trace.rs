//! Where a wrong value went wrong, if not where it shows.
//!
//! Many drivers keep the value of a variable in a register that lanes which go on in a loop still write, although a lane has left it. What
//! shows that is any operation behind the loop, and it is not to blame. So the values that lanes leave loops with are looked at:
//!
//! 1. The program is predicted with logs of a variable in the loop and behind it: what every lane left the loop with, and what was computed after
//!    it was gone.
//! 2. If the wrong word is the variable itself, what was found there has to be such a value (or what the operation in the loop gives over no
//!    lanes: the loop's body ran once more).
//! 3. If something was computed from the variable, the program is predicted with the variable set to such a value in the lanes that left early. It
//!    explains what was found if nothing is wrong any more at the first wrong step, with as many words compared.
//!
//! Nothing is concluded from less: then the operation, or the computation, that gave the wrong word stays to blame.

use std::ptr;

use tangle_analysis::cost::{MAX_LOG_WORDS, cost};
use tangle_oracle::judge::{Kind, Observation};
use tangle_oracle::predict::predict;
use tangle_program::case::{Case, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Block, Expr, Function, Loop, LoopKind, SiteId, Stmt, VarId, walk_block};
use tangle_program::types::{Scalar, Type};

use crate::account::{Account, First, Lane, show};

/// Larger programs are not traced: every question costs a prediction, and theirs are minimised first.
const STATEMENTS: usize = 60;

/// Variables of loops that are tried.
const CANDIDATES: usize = 8;

/// A variable whose value in a lane that has left a loop is not the one that it left with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AfterLoop {
    /// The variable, as it is printed.
    pub variable: String,
    /// True if it is no variable but an input, which every lane loads at its own index.
    pub is_input: bool,
    /// Its type: what its words are shown as.
    pub scalar: Scalar,
    /// The line of the loop's head.
    pub line: usize,
    /// The lane, in its subgroup.
    pub lane: usize,
    /// What it left the loop with, as a logged word.
    pub left_with: u32,
    /// What it has behind it.
    pub has: u32,
    /// Where that comes from.
    pub source: Source,
}

/// Where the value comes from that a lane has instead of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This lane of the subgroup computed it, or loaded it, after the other was gone.
    Lane(usize),
    /// An operation in the loop gives it over no lanes.
    NoLanes(SubgroupOp),
}

impl AfterLoop {
    /// What went wrong in one sentence without a full stop.
    pub fn sentence(&self) -> String {
        let AfterLoop { variable, scalar, lane, .. } = self;
        let (left_with, has) = (show(self.left_with, *scalar), show(self.has, *scalar));
        let source = match self.source {
            Source::Lane(other) => format!("which lane {other} computed after lane {lane} was gone"),
            Source::NoLanes(op) => {
                let name = op.info().name;
                format!("which is what {name} gives over no lanes, as if the loop ran once more when all had left it")
            }
        };
        format!("lane {lane} left the loop with {left_with}; after the loop its `{variable}` is {has}, {source}")
    }
}

/// What the first wrong step comes from, if it is a variable that changed after its lane had left a loop.
pub fn after_loop(account: &Account<'_>, first: &First) -> Option<AfterLoop> {
    let mut statements = 0;
    account.case.program.functions.iter().for_each(|f| walk_block(&f.body, &mut |_| statements += 1));
    if first.kind != Kind::Value || statements > STATEMENTS {
        return None;
    }
    let question = Question::new(account, first)?;
    question.candidates.iter().take(CANDIDATES).find_map(|candidate| question.ask(candidate))
}

/// A variable, or an input, that a loop before the site changes, or loads.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    stmt: &'a Stmt,
    body: &'a Loop,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Variable(VarId),
    Input(u32),
}

struct Question<'a, 'b> {
    account: &'b Account<'a>,
    first: &'b First,
    function: usize,
    /// Number of the wrong word among the values of the site, and its expression if it is one word.
    word: usize,
    logged: Option<&'a Expr>,
    candidates: Vec<Candidate<'a>>,
}

impl<'a, 'b> Question<'a, 'b> {
    fn new(account: &'b Account<'a>, first: &'b First) -> Option<Question<'a, 'b>> {
        let case: &'a Case = account.case;
        let site = account.steps.get(first.step?)?.site;
        let lane = &account.lanes[*first.lanes.first()?];
        let word = lane.first_difference(lane.entries.get(lane.wrong?.entry)?)?.checked_sub(1)?;
        let functions = case.program.functions.iter().enumerate();
        let (function, loops) =
            functions.filter_map(|(index, f)| Some((index, loops_before(&f.body, site)?))).next()?;
        let body = &case.program.functions[function];
        let mut candidates = Vec::new();
        for stmt in loops.into_iter().rev() {
            let Stmt::Loop(l) = stmt else { continue };
            for what in changed(l) {
                let is_new = |known: &Candidate<'_>| known.what != what;
                if is_used_behind(body, stmt, what) && candidates.iter().all(is_new) {
                    candidates.push(Candidate { stmt, body: l, what });
                }
            }
        }
        Some(Question { account, first, function, word, logged: logged(body, site, word), candidates })
    }

    fn main(&self) -> &'a Function {
        let case: &'a Case = self.account.case;
        &case.program.functions[self.function]
    }

    fn ask(&self, candidate: &Candidate<'a>) -> Option<AfterLoop> {
        match (candidate.what, self.logged) {
            (What::Input(input), Some(Expr::Input(logged))) if *logged == input => self.input_itself(candidate, input),
            (What::Input(_), _) => None,
            (What::Variable(var), logged) => {
                let ty = self.main().var_type(var)?;
                let is_word = ty.is_single() && ty.width == 1 && ty.scalar.words() == 1;
                let history = LoopHistory::of(self.account, self.function, candidate, var).filter(|_| is_word)?;
                match logged {
                    Some(Expr::Var(logged)) if *logged == var => self.variable_itself(candidate, &history, var, ty),
                    _ => self.through_something(candidate, &history, var, ty),
                }
            }
        }
    }

    /// The word that a wrong lane logged, and the one that it had to.
    fn words(&self, lane: &Lane) -> Option<(u32, u32)> {
        let entry = lane.entries.get(lane.wrong?.entry)?;
        let expected = entry.words.get(self.word + 1).copied().flatten()?;
        Some((expected, lane.actual_word(entry.at + self.word + 1)))
    }

    fn found(
        &self,
        candidate: &Candidate<'a>,
        scalar: Scalar,
        lane: usize,
        words: (u32, u32),
        source: Source,
    ) -> AfterLoop {
        let places = &self.account.printed.places;
        AfterLoop {
            variable: match candidate.what {
                What::Variable(var) => tangle_emit::expression(self.account.case, self.main(), &Expr::Var(var)),
                What::Input(k) => tangle_emit::expression(self.account.case, self.main(), &Expr::Input(k)),
            },
            is_input: matches!(candidate.what, What::Input(_)),
            scalar,
            line: places.iter().find(|(_, stmt)| ptr::eq(*stmt, candidate.stmt)).map_or(0, |(line, _)| *line),
            lane: self.account.lanes[lane].lane,
            left_with: words.0,
            has: words.1,
            source,
        }
    }

    fn input_itself(&self, candidate: &Candidate<'a>, input: u32) -> Option<AfterLoop> {
        let values = self.account.case.data.inputs.get(input as usize)?;
        let value = |lane: &Lane| values.get(self.account.case.entry_point.ordinal(lane.invocation)).copied();
        self.first.lanes.iter().find_map(|&at| {
            let lane = &self.account.lanes[at];
            let words = self.words(lane)?;
            let has_it = |other: &&Lane| other.lane != lane.lane && value(other) == Some(words.1);
            let other = self.same_subgroup(lane).find(has_it)?;
            Some(self.found(candidate, Scalar::Uint, at, words, Source::Lane(other.lane)))
        })
    }

    fn same_subgroup<'c>(&'c self, lane: &'c Lane) -> impl Iterator<Item = &'c Lane> {
        let is_same = |other: &&Lane| other.is_beside(lane);
        self.account.lanes.iter().filter(is_same)
    }

    fn variable_itself(
        &self,
        candidate: &Candidate<'a>,
        history: &LoopHistory,
        var: VarId,
        ty: Type,
    ) -> Option<AfterLoop> {
        let over_no_lanes = |word| {
            folds(candidate.body, var).into_iter().find(|op| nothing(*op, ty.scalar).is_some_and(|none| none == word))
        };
        self.first.lanes.iter().find_map(|&at| {
            let words = self.words(&self.account.lanes[at])?;
            let by_lane = history.computed_after(self.account, at, words.1).map(Source::Lane);
            let source = by_lane.or_else(|| over_no_lanes(words.1).map(Source::NoLanes))?;
            Some(self.found(candidate, ty.scalar, at, words, source))
        })
    }

    /// Tries whether the variable had the value of one of the last lanes in all that left early.
    fn through_something(
        &self,
        candidate: &Candidate<'a>,
        history: &LoopHistory,
        var: VarId,
        ty: Type,
    ) -> Option<AfterLoop> {
        let lanes = &self.account.lanes;
        let wrong = &lanes[*self.first.lanes.first()?];
        let rests: Vec<usize> = (0..lanes.len()).filter(|&at| history.is_last(self.account, at)).collect();
        let of_subgroup = |at: usize, lane: &Lane| lanes[at].is_beside(lane);
        // The n-th of the last lanes of each subgroup.
        for n in 0..4 {
            let last = |lane: &Lane| rests.iter().copied().filter(|&at| of_subgroup(at, lane)).nth(n);
            let Some(from) = last(wrong) else { break };
            let mut values = Vec::with_capacity(lanes.len());
            for (at, lane) in lanes.iter().enumerate() {
                let own = history.left_with[at].unwrap_or(0);
                let other = last(lane).and_then(|last| history.left_with[last]);
                values.push(if history.left_early(self.account, at) { other.unwrap_or(own) } else { own });
            }
            let changed =
                |at: &usize| of_subgroup(*at, wrong) && history.left_with[*at].is_some_and(|own| own != values[*at]);
            let Some(overwritten) = (0..lanes.len()).find(changed) else { continue };
            if self.explains(candidate, var, ty, &values) {
                let words = (history.left_with[overwritten]?, values[overwritten]);
                return Some(self.found(candidate, ty.scalar, overwritten, words, Source::Lane(lanes[from].lane)));
            }
        }
        None
    }

    /// True if everything at the first wrong step is as found once the variable has these values behind the loop, by lane of the account.
    fn explains(&self, candidate: &Candidate<'a>, var: VarId, ty: Type, values: &[u32]) -> bool {
        let Some(value) = from_input(self.account.case.data.inputs.len() as u32, ty.scalar) else { return false };
        let mut case = self.account.case.clone();
        let mut input = vec![0; case.entry_point.invocations() as usize];
        for (lane, word) in self.account.lanes.iter().zip(values) {
            input[case.entry_point.ordinal(lane.invocation)] = *word;
        }
        case.data.inputs.push(input);
        case.program.functions[self.function].body = inserted(&self.main().body, &mut |stmt| {
            let set = || Stmt::Assign { var, value: value.clone() };
            ptr::eq(stmt, candidate.stmt).then(set).into_iter().collect()
        });
        let observation = Observation { map: Vec::new(), logs: self.logs(), open: Vec::new() };
        let Ok(changed) = Account::new(&case, self.account.map.clone(), Some(&observation)) else { return false };
        let Some(step) = self.first.step else { return false };
        let is_right = |&at: &usize| {
            let (before, now) = (&self.account.lanes[at], &changed.lanes[at]);
            let Some(wrong) = before.wrong else { return false };
            let compared =
                now.entries.get(wrong.entry).and_then(|entry| entry.words.get(self.word + 1).copied().flatten());
            now.wrong.is_none_or(|now| now.entry > wrong.entry) && compared.is_some()
        };
        let later =
            changed.first().is_none_or(|now| (now.group, now.step.unwrap_or(usize::MAX)) > (self.first.group, step));
        later && self.first.lanes.iter().all(is_right)
    }

    fn logs(&self) -> Vec<Vec<u32>> {
        let entry_point = &self.account.case.entry_point;
        let mut logs = vec![Vec::new(); entry_point.invocations() as usize];
        for lane in &self.account.lanes {
            logs[entry_point.ordinal(lane.invocation)].clone_from(&lane.actual);
        }
        logs
    }
}

/// What lanes do with a variable in a loop, by lane of the account; as at tier maximal, where all of it is known.
struct LoopHistory {
    /// The last iteration of each, by its number among the events.
    last_iteration: Vec<Option<usize>>,
    /// What each computed, and when.
    computed: Vec<Vec<(usize, u32)>>,
    /// What each has behind the loop.
    left_with: Vec<Option<u32>>,
}

impl LoopHistory {
    /// `None` if a lane comes by the loop several times, or if it may do so much there that a case could not log it.
    fn of(account: &Account<'_>, function: usize, candidate: &Candidate<'_>, var: VarId) -> Option<LoopHistory> {
        let last = account.sites.keys().max().copied().unwrap_or(0);
        let [begins, computes, leaves] = [last + 1, last + 2, last + 3];
        let mut case = Case { tier: Tier::Maximal, ..account.case.clone() };
        let log = |site, values| Stmt::Log { site, values };
        let see = |site| log(site, vec![Expr::Var(var)]);
        let mut in_loop = Vec::new();
        candidate
            .stmt
            .nested_blocks()
            .for_each(|block| walk_block(block, &mut |stmt| in_loop.push(ptr::from_ref(stmt))));
        let is_counter = candidate.body.counter == var;
        let mut body = inserted(&account.case.program.functions[function].body, &mut |stmt| {
            if ptr::eq(stmt, candidate.stmt) {
                return vec![see(leaves)];
            }
            let is_in_loop = in_loop.contains(&ptr::from_ref(stmt));
            if is_in_loop && stmt.written().any(|other| other == var) { vec![see(computes)] } else { Vec::new() }
        });
        begin_with(&mut body, leaves, &[log(begins, Vec::new()), see(computes)][..if is_counter { 2 } else { 1 }]);
        case.program.functions[function].body = body;
        if cost(&case).log_words > MAX_LOG_WORDS {
            return None;
        }
        let prediction = predict(&case, &account.map).ok()?;
        let sites: Vec<SiteId> = prediction.events().map(|event| event.site).collect();
        let logs = prediction.logs();
        let mut history = LoopHistory { last_iteration: Vec::new(), computed: Vec::new(), left_with: Vec::new() };
        for log in &logs {
            let (mut iteration, mut computed, mut left) = (None, Vec::new(), None);
            for &(at, event) in &log.entries {
                let word = || log.words.get(at + 1).copied().flatten();
                match sites[event] {
                    site if site == begins => iteration = Some(event),
                    site if site == computes => computed.extend(word().map(|word| (event, word))),
                    site if site == leaves && left.is_some() => return None,
                    site if site == leaves => left = Some(word()?),
                    _ => {}
                }
            }
            history.last_iteration.push(iteration);
            history.computed.push(computed);
            history.left_with.push(left);
        }
        Some(history)
    }

    fn last_of_subgroup(&self, account: &Account<'_>, at: usize) -> Option<usize> {
        let lane = &account.lanes[at];
        let same = account.lanes.iter().zip(&self.last_iteration);
        let same = same.filter(|(other, _)| other.is_beside(lane));
        same.filter_map(|(_, iteration)| *iteration).max()
    }

    /// True if others of its subgroup went on in the loop when the lane had left it.
    fn left_early(&self, account: &Account<'_>, at: usize) -> bool {
        self.left_with[at].is_some() && self.last_iteration[at] < self.last_of_subgroup(account, at)
    }

    /// True if it is among the last of its subgroup.
    fn is_last(&self, account: &Account<'_>, at: usize) -> bool {
        self.left_with[at].is_some() && self.last_iteration[at] == self.last_of_subgroup(account, at)
    }

    /// The lane of its subgroup that computed a value in a later iteration than its last.
    fn computed_after(&self, account: &Account<'_>, at: usize, word: u32) -> Option<usize> {
        let lane = &account.lanes[at];
        let gone = self.last_iteration[at];
        let others =
            account.lanes.iter().enumerate().filter(|(_, other)| other.is_beside(lane) && other.lane != lane.lane);
        let mut others = others.filter(|(other, _)| self.last_iteration[*other] > gone);
        // The lane takes part in every event before its last iteration ends; what comes between that and the next iteration is not distinguished.
        let next = self.last_iteration.iter().flatten().copied().filter(|iteration| Some(*iteration) > gone).min();
        let later = |event: usize| {
            next.is_some_and(|next| event >= next)
                || Some(event) > gone && self.computed[at].iter().all(|(own, _)| *own < event)
        };
        others
            .find(|(other, _)| {
                self.left_with[*other] == Some(word)
                    || self.computed[*other].iter().any(|&(event, value)| value == word && later(event))
            })
            .map(|(_, other)| other.lane)
    }
}

/// The loops that end before a site in its function, in their order; `None` if the site is not there.
fn loops_before(block: &Block, site: SiteId) -> Option<Vec<&Stmt>> {
    let mut before = Vec::new();
    for stmt in block {
        if matches!(stmt, Stmt::Log { site: here, .. } if *here == site) {
            return Some(before);
        }
        if let Some(inside) = stmt.nested_blocks().find_map(|block| loops_before(block, site)) {
            before.extend(inside);
            return Some(before);
        }
        let mut loops = |stmt: &'_ Stmt| matches!(stmt, Stmt::Loop(_));
        collect(stmt, &mut loops, &mut before);
    }
    None
}

fn collect<'a>(stmt: &'a Stmt, is_wanted: &mut dyn FnMut(&Stmt) -> bool, found: &mut Vec<&'a Stmt>) {
    stmt.nested_blocks().flatten().for_each(|inner| collect(inner, is_wanted, found));
    if is_wanted(stmt) {
        found.push(stmt);
    }
}

/// What a loop changes or loads.
fn changed(l: &Loop) -> Vec<What> {
    let mut found = Vec::new();
    let mut note = |what: What| {
        if !found.contains(&what) {
            found.push(what);
        }
    };
    let mut blocks = vec![&l.body];
    blocks.extend(l.test.as_ref().map(|test| &test.before));
    if let LoopKind::For { update, .. } = &l.kind {
        blocks.push(update);
    }
    let inputs = |expr: &Expr, note: &mut dyn FnMut(What)| {
        expr.walk(&mut |expr| {
            if let Expr::Input(k) = expr {
                note(What::Input(*k));
            }
        });
    };
    for block in blocks {
        walk_block(block, &mut |stmt| {
            stmt.written().for_each(|var| note(What::Variable(var)));
            stmt.direct_exprs().for_each(|expr| inputs(expr, &mut note));
        });
    }
    if let Some(test) = &l.test {
        inputs(&test.cond, &mut note);
    }
    inputs(&l.bound, &mut note);
    note(What::Variable(l.counter));
    found
}

/// True if something behind a loop reads it, as far as the order of statements says.
fn is_used_behind(function: &Function, after: &Stmt, what: What) -> bool {
    let mut inside = Vec::new();
    after.nested_blocks().for_each(|block| walk_block(block, &mut |stmt| inside.push(ptr::from_ref(stmt))));
    let (mut is_behind, mut used) = (false, false);
    walk_block(&function.body, &mut |stmt| {
        if ptr::eq(stmt, after) {
            is_behind = true;
        } else if is_behind && !inside.contains(&ptr::from_ref(stmt)) {
            stmt.direct_exprs().for_each(|expr| {
                expr.walk(&mut |expr| {
                    used |= match (expr, what) {
                        (Expr::Var(var), What::Variable(wanted)) => *var == wanted,
                        (Expr::Input(input), What::Input(wanted)) => *input == wanted,
                        _ => false,
                    }
                });
            });
        }
    });
    used
}

/// The expression whose only word is a word of a site.
fn logged(function: &Function, site: SiteId, word: usize) -> Option<&Expr> {
    let mut found = None;
    for stmt in function.body.iter() {
        let mut logs = Vec::new();
        collect(stmt, &mut |stmt| matches!(stmt, Stmt::Log { site: here, .. } if *here == site), &mut logs);
        if let Some(Stmt::Log { values, .. }) = logs.first() {
            let mut at = 0;
            for value in values {
                let ty = value.ty(function)?;
                let words = ty.words() as usize;
                if at == word && words == 1 {
                    found = Some(value);
                }
                at += words;
            }
        }
    }
    found
}

/// The reductions and scans that give a variable its value in a loop.
fn folds(l: &Loop, var: VarId) -> Vec<SubgroupOp> {
    let mut found = Vec::new();
    walk_block(&l.body, &mut |stmt| {
        if let Stmt::Assign { var: assigned, value: Expr::Subgroup(call) } = stmt
            && *assigned == var
        {
            found.push(call.op);
        }
    });
    found
}

/// What an operation gives over no lanes, as a logged word.
fn nothing(op: SubgroupOp, scalar: Scalar) -> Option<u32> {
    match op {
        SubgroupOp::Reduce(fold) | SubgroupOp::Inclusive(fold) | SubgroupOp::Exclusive(fold) => {
            Some(scalar.logged(fold.identity(scalar)) as u32)
        }
        _ => None,
    }
}

/// A value of a type from a new input, whose words are those that would be logged.
fn from_input(input: u32, scalar: Scalar) -> Option<Expr> {
    let word = Expr::Input(input);
    match scalar {
        Scalar::Uint => Some(word),
        Scalar::Bool => Some(Expr::binary(BinaryOp::Ne, word, Expr::Uint(0))),
        _ if scalar.is_integer() && scalar.words() == 1 => Some(Expr::Cast(scalar, Box::new(word))),
        _ => None,
    }
}

/// A block with more statements behind some, inside others, too.
fn inserted(block: &Block, behind: &mut dyn FnMut(&Stmt) -> Vec<Stmt>) -> Block {
    let mut new = Block::new();
    for stmt in block {
        let mut copy = stmt.clone();
        for (old, new) in stmt.nested_blocks().zip(copy.nested_blocks_mut()) {
            *new = inserted(old, behind);
        }
        let more = behind(stmt);
        new.push(copy);
        new.extend(more);
    }
    new
}

/// Puts statements at the head of the loop that a log of this site stands behind.
fn begin_with(block: &mut Block, behind: SiteId, first: &[Stmt]) {
    for at in 0..block.len() {
        let is_it = matches!(block.get(at + 1), Some(Stmt::Log { site, .. }) if *site == behind);
        match &mut block[at] {
            Stmt::Loop(l) if is_it => {
                l.body.splice(0..0, first.iter().cloned());
            }
            Stmt::Loop(l) => begin_with(&mut l.body, behind, first),
            Stmt::If { then, otherwise, .. } => {
                begin_with(then, behind, first);
                begin_with(otherwise, behind, first);
            }
            Stmt::Switch { arms, .. } => arms.iter_mut().for_each(|arm| begin_with(&mut arm.body, behind, first)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tangle_oracle::map::LaneMap;
    use tangle_program::ops::UnaryOp;

    use super::*;

    /// What is concluded from logs of two lanes.
    fn traced(case: &Case, logs: [u32; 2]) -> Option<String> {
        let observation =
            Observation { map: Vec::new(), logs: logs.map(|word| vec![1, word]).into(), open: Vec::new() };
        let account = Account::new(case, LaneMap::linear(case, 4), Some(&observation)).expect("it is well-defined");
        let first = account.first().expect("something is wrong");
        after_loop(&account, &first).map(|found| found.sentence())
    }

    /// `do { i++; a = subgroupMin(lane); } while (i < lane + 1); LOG(a)`: lane 0 leaves with 0, lane 1 goes on and computes 1.
    fn case() -> Case {
        let text = include_str!("../../../corpus/regressions/reduction_in_loop_used_after.json");
        Case { tier: Tier::Maximal, ..Case::from_json(text).expect("a case") }
    }

    #[test]
    fn a_value_that_others_computed_after_the_loop_was_left() {
        let text = traced(&case(), [1, 1]).expect("lane 0 has the value of lane 1");
        assert_eq!(
            text,
            "lane 0 left the loop with 0; after the loop its `a` is 1, which lane 1 computed after lane 0 was gone"
        );
        let text = traced(&case(), [u32::MAX, u32::MAX]).expect("the minimum of nothing");
        assert!(text.contains("its `a` is 0xffffffff, which is what subgroupMin gives over no lanes"), "{text}");
        assert_eq!(traced(&case(), [7, 1]), None, "nobody computes 7");
        assert_eq!(traced(&case(), [0, 0]), None, "lane 1 was not gone when lane 0 computed 0");
    }

    /// What lanes do in a loop of tens of thousands of iterations is more than a case could log.
    #[test]
    fn a_long_loop_is_not_traced() {
        for (bound, is_traced) in [(3, true), (65_536, false)] {
            let mut case = case();
            let main = case.program.functions.last_mut().expect("main");
            let found = main.body.iter_mut().find_map(|stmt| if let Stmt::Loop(l) = stmt { Some(l) } else { None });
            found.expect("a loop").bound = Expr::Uint(bound);
            let account = Account::new(&case, LaneMap::linear(&case, 4), None).expect("it is well-defined");
            let function = case.program.functions.len() - 1;
            let body = &case.program.functions[function].body;
            let found = body.iter().find_map(|stmt| if let Stmt::Loop(l) = stmt { Some((stmt, l)) } else { None });
            let (stmt, l) = found.expect("a loop");
            let candidate = Candidate { stmt, body: l, what: What::Variable(l.counter) };
            let history = LoopHistory::of(&account, function, &candidate, l.counter);
            assert_eq!(history.is_some(), is_traced, "{bound}");
        }
    }

    #[test]
    fn an_operation_that_shows_such_a_value_is_not_to_blame() {
        let mut case = case();
        let main = case.program.functions.last_mut().expect("main");
        let Some(Stmt::Log { values, .. }) = main.body.last_mut() else { panic!("it ends with a log") };
        let swapped = Expr::subgroup(SubgroupOp::QuadSwapHorizontal, [values[0].clone()]);
        *values = vec![swapped];
        // Lane 0 gets 1 from lane 1, as it should; lane 1 should get the 0 of lane 0.
        let text = traced(&case, [1, 1]).expect("lane 0 has the value of lane 1");
        assert!(text.starts_with("lane 0 left the loop with 0; after the loop its `a` is 1, which lane 1"), "{text}");
        assert_eq!(traced(&case, [1, 5]), None, "that explains no 5");
        assert_eq!(traced(&case, [0, 0]), None, "lane 0 has the wrong value here, and lane 1 the right one");
    }

    /// One value is not all of an array.
    #[test]
    fn an_element_of_an_array_is_not_traced() {
        let mut case = case();
        let main = case.program.functions.last_mut().expect("main");
        let (a, index) = (1, || Expr::Uint(2));
        let array = Type::array(Type::UINT, 3).expect("an array");
        main.locals[a as usize].ty = array;
        let element = || Expr::element(Expr::Var(a), index());
        for stmt in &mut main.body {
            match stmt {
                Stmt::Loop(l) => {
                    for stmt in &mut l.body {
                        if let Stmt::Assign { value, .. } = stmt {
                            *value = Expr::Vector(array, vec![value.clone(); 3]);
                        }
                    }
                }
                Stmt::Log { values, .. } => *values = vec![Expr::unary(UnaryOp::BitNot, element())],
                _ => {}
            }
        }
        let behind = Stmt::SetElement { var: a, index: index(), inner: Vec::new(), value: element() };
        let log = main.body.len() - 1;
        main.body.insert(log, behind);
        assert_eq!(tangle_analysis::validate::validate(&case), Ok(()));
        assert_eq!(traced(&case, [!1, !1]), None);
    }
}
