//! An account with steps between the logs: who has to be in which arm of an `if`, in which iteration of a loop.
//!
//! A minimised program logs once, at its end. That alone shows nothing of how the lanes got there. So the same program is predicted
//! with an empty log at the head of every block and behind every construct; the body of a loop logs the loop's counter. Nothing is known of
//! what a device did there, only what is expected of it.

use std::collections::{BTreeMap, BTreeSet};

use tangle_analysis::cost::{MAX_LOG_WORDS, cost};
use tangle_emit::glsl::Printed;
use tangle_oracle::predict::{LoggedEvent, predict};
use tangle_program::tree::{Block, Expr, SiteId, Stmt, VarId};

use crate::account::{Account, Entry, Site, Step, Wrong};

/// With more steps than this a picture of the logs alone is clearer.
const STEPS: usize = 100;

/// The account with more steps; `None` if there would be no more, too many, or if the path of a lane is not known without what it logged.
pub fn detailed<'a>(account: &Account<'a>) -> Option<Account<'a>> {
    let mut marks = Marks {
        printed: &account.printed,
        next: account.sites.keys().max().copied().unwrap_or(0) + 1,
        lines: BTreeMap::new(),
        counters: BTreeSet::new(),
    };
    let mut case = account.case.clone();
    for (function, marked) in account.case.program.functions.iter().zip(&mut case.program.functions) {
        marked.body = marks.block(&function.body, true, None);
    }
    let Marks { lines, counters, .. } = marks;
    // A loop that may run tens of thousands of times logs in every iteration now.
    if lines.is_empty() || cost(&case).log_words > MAX_LOG_WORDS {
        return None;
    }
    let prediction = predict(&case, &account.map).ok()?;
    let step = |event: LoggedEvent| Step { group: event.group, site: event.site, active: event.active, number: None };
    let steps: Vec<Step> = prediction.events().take(STEPS + 1).map(step).collect();
    if steps.len() > STEPS {
        return None;
    }
    let mut detailed = Account { steps, ..account.clone() };
    let text: Vec<&str> = account.printed.text.lines().collect();
    detailed.sites.extend(lines.into_iter().map(|(id, line)| {
        let source = text.get(line - 1).map_or("", |line| line.trim()).to_owned();
        (id, Site { id, line, source, values: Vec::new() })
    }));
    for (lane, log) in detailed.lanes.iter_mut().zip(prediction.logs()) {
        let mut logged = std::mem::take(&mut lane.entries).into_iter().peekable();
        let wrong = lane.wrong.take();
        for &(logged_at, step) in &log.entries {
            let at = logged.peek().map_or(lane.actual.len(), |entry| entry.at);
            if !account.sites.contains_key(&detailed.steps[step].site) {
                let counter = log.words.get(logged_at + 1).copied().flatten();
                let counter = counter.filter(|_| counters.contains(&detailed.steps[step].site));
                lane.entries.push(Entry { step, at, words: Vec::new(), counter });
                continue;
            }
            let entry = logged.next()?;
            if account.steps[entry.step].site != detailed.steps[step].site {
                return None;
            }
            detailed.steps[step].number = account.steps[entry.step].number;
            lane.entries.push(Entry { step, ..entry });
        }
        if logged.next().is_some() {
            return None;
        }
        lane.wrong = wrong.map(|Wrong { kind, entry }| {
            let mut with_words = lane.entries.iter().enumerate().filter(|(_, entry)| !entry.words.is_empty());
            let entry = with_words.nth(entry).map_or(lane.entries.len(), |(number, _)| number);
            Wrong { kind, entry }
        });
    }
    Some(detailed)
}

/// Puts empty logs into a program.
struct Marks<'a> {
    printed: &'a Printed<'a>,
    next: SiteId,
    /// The lines of those that were put in.
    lines: BTreeMap<SiteId, usize>,
    /// Those that log the counter of a loop.
    counters: BTreeSet<SiteId>,
}

impl Marks<'_> {
    /// A block with marks: at its head if it `begins` something, and behind constructs. Where a log stands anyway, none is needed.
    /// The body of a loop logs its `counter`.
    fn block(&mut self, block: &Block, begins: bool, mut counter: Option<VarId>) -> Block {
        let mut marked = Block::new();
        let mut needs_mark = begins;
        for stmt in block {
            if needs_mark && !matches!(stmt, Stmt::Log { .. }) {
                marked.extend(self.mark(stmt, counter.take()));
            }
            needs_mark = stmt.nested_blocks().next().is_some();
            marked.push(self.stmt(stmt));
        }
        marked
    }

    fn mark(&mut self, before: &Stmt, counter: Option<VarId>) -> Option<Stmt> {
        let (line, _) = self.printed.places.iter().find(|(_, stmt)| std::ptr::eq(*stmt, before))?;
        let site = self.next;
        self.next += 1;
        self.lines.insert(site, *line);
        self.counters.extend(counter.map(|_| site));
        Some(Stmt::Log { site, values: counter.map(Expr::Var).into_iter().collect() })
    }

    fn stmt(&mut self, stmt: &Stmt) -> Stmt {
        let mut marked = stmt.clone();
        match (stmt, &mut marked) {
            (Stmt::If { then, otherwise, .. }, Stmt::If { then: new_then, otherwise: new_otherwise, .. }) => {
                *new_then = self.block(then, true, None);
                *new_otherwise = self.block(otherwise, true, None);
            }
            (Stmt::Switch { arms, .. }, Stmt::Switch { arms: new, .. }) => {
                for (arm, new) in arms.iter().zip(new) {
                    new.body = self.block(&arm.body, true, None);
                }
            }
            (Stmt::Loop(old), Stmt::Loop(new)) => new.body = self.block(&old.body, true, Some(old.counter)),
            _ => {}
        }
        marked
    }
}

#[cfg(test)]
mod tests {
    use tangle_oracle::map::LaneMap;
    use tangle_program::case::Case;

    use super::*;
    use crate::account::State::{Absent, Open, Right, Unseen};

    #[test]
    fn steps_between_the_logs_show_who_is_where() {
        let case = include_str!("../../../corpus/regressions/reduction_in_loop_used_after.json");
        let case = Case::from_json(case).expect("a case");
        let account = Account::new(&case, LaneMap::linear(&case, 4), None).expect("it is well-defined");
        let detailed = detailed(&account).expect("there is a loop");
        let shown = detailed.steps.iter().enumerate().map(|(step, Step { active, number, .. })| {
            let source = detailed.site(step).map_or("", |site| site.source.as_str());
            (source, active[0].1, *number)
        });
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                ("do {", 0b11, None),
                ("a = subgroupMin(lane);", 0b11, None),
                ("a = subgroupMin(lane);", 0b10, None),
                ("LOG1(1, a);", 0b11, Some(0)),
            ]
        );
        let counters = |step| {
            let entries = detailed.lanes.iter().flat_map(|lane| &lane.entries).filter(move |entry| entry.step == step);
            entries.map(|entry| entry.counter).collect::<Vec<_>>()
        };
        assert_eq!((counters(0), counters(1), counters(2)), (vec![None; 2], vec![Some(1); 2], vec![Some(2)]));
        let states = |step| detailed.states(step).into_values().collect::<Vec<_>>();
        assert_eq!((states(1), states(2)), (vec![Unseen, Unseen], vec![Absent, Unseen]));
        assert!(states(3).iter().all(|state| matches!(state, Right | Open)));
    }
}
