//! What shows that an observation is wrong where the tier leaves the tangle open: words that no legal execution gives together.
//!
//! In such a place no word is wrong by itself. The device may choose who is together, and what it logs must only be explained by one choice
//! ([`crate::observed`]). An observation that nothing explains holds a *relation* that is broken: a few of its words that already cannot stand
//! together, whatever the others are. They are found by leaving out words as long as the rest is still wrong ([`predict_shown`]).
//!
//! So a program that knows nothing of this oracle can show that a device is wrong: it has every word that one legal value is known for,
//! and these combinations. It never fails on a device that is right.

use std::collections::BTreeMap;

use tangle_analysis::cost::log_stride;
use tangle_program::case::{Case, GroupId, InvocationId};
use tangle_program::subgroup::Severity;

use crate::judge::{Mismatch, Observation, WrongLane, compare};
use crate::map::LaneMap;
use crate::observed::TangleRule;
use crate::predict::{NotDefined, Prediction, predict, predict_shown};

/// Words that no legal execution gives together, if the words that have one legal value ([`predict`]) have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The words, by invocation and place.
    pub words: Vec<ShownWord>,
    /// The rule that they break, if it is one for tangles.
    pub rule: Option<TangleRule>,
}

/// A word of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShownWord {
    /// The [ordinal](tangle_program::case::EntryPoint::ordinal) of the invocation.
    pub invocation: usize,
    /// The place in its log.
    pub at: usize,
    /// The word that the device logged.
    pub value: u32,
}

/// Relations at most: each says that the device is wrong.
const MOST: usize = 4;

/// Predictions at most for each of them; what is left then is more than it takes.
const BUDGET: u32 = 400;

/// What is broken in an observation where no word is wrong by itself; nothing if one is, or if all is well.
///
/// # Errors
/// If the case has undefined behaviour on this map.
pub fn relations(case: &Case, map: &LaneMap, observation: &Observation) -> Result<Vec<Relation>, NotDefined> {
    if observation.open.iter().flatten().any(|&word| word != 0) {
        // Nothing was adopted from it.
        return Ok(Vec::new());
    }
    let stride = log_stride(case) as usize;
    let mut logs = observation.logs.clone();
    logs.iter_mut().for_each(|log| log.resize(log.len().max(stride), 0));
    let certain = predict(case, map)?;
    if compare(&certain, &case.entry_point, &logs).0.is_some() {
        return Ok(Vec::new());
    }
    let wrong = |hidden: &Hidden| -> Result<Option<Mismatch>, NotDefined> {
        Ok(compare(&predict_shown(case, map, &logs, hidden)?, &case.entry_point, &logs).0)
    };
    let nothing: Hidden = logs.iter().map(|log| vec![0; log.len()]).collect();
    let Some(mismatch) = wrong(&nothing)? else { return Ok(Vec::new()) };
    let uncertain = uncertain_words(case, &certain, &logs);
    let ordinal =
        |lane: &WrongLane| case.entry_point.ordinal(InvocationId { group: mismatch.group, index: lane.index });
    let wrong_lanes: Vec<usize> = mismatch.lanes.iter().map(ordinal).collect();
    let subgroups: BTreeMap<usize, (GroupId, usize)> = certain
        .logs()
        .iter()
        .map(|log| (case.entry_point.ordinal(log.invocation), (log.invocation.group, log.subgroup)))
        .collect();
    let mut relations: Vec<Relation> = Vec::new();
    for &lane in &wrong_lanes {
        let is_in = |relation: &Relation| relation.words.iter().any(|word| word.invocation == lane);
        if relations.len() == MOST || relations.iter().any(is_in) {
            continue;
        }
        let Mismatch { severity, rule, .. } = mismatch;
        let mut search = Search { wrong: &wrong, hidden: nothing.clone(), severity, rule, left: BUDGET };
        let lanes = |are: &dyn Fn(usize) -> bool| -> Vec<Unit> {
            (0..logs.len()).filter(|&other| other != lane && are(other)).map(|other| from(&logs, other, 0)).collect()
        };
        // Each lane that is wrong shows it by itself, if it can, or with its subgroup.
        search.hide_as_many(&lanes(&|other| subgroups.get(&other) != subgroups.get(&lane)))?;
        search.hide_all(&lanes(&|other| wrong_lanes.contains(&other)).concat())?;
        search.hide_as_many(&lanes(&|other| subgroups.get(&other) == subgroups.get(&lane)))?;
        for (invocation, start) in open_ends(&uncertain) {
            search.hide_the_end(&logs, invocation, start)?;
        }
        let values: Vec<Unit> = uncertain
            .iter()
            .filter(|word| !word.is_after_end && !search.is_hidden(word))
            .map(|word| vec![(word.invocation, word.at)])
            .collect();
        search.hide_as_many(&values)?;
        let shown = uncertain
            .iter()
            .filter(|word| !search.is_hidden(word))
            .map(|&Uncertain { invocation, at, .. }| ShownWord { invocation, at, value: logs[invocation][at] });
        let relation = Relation { words: shown.collect(), rule: search.rule };
        if !relation.words.is_empty() && !relations.contains(&relation) {
            relations.push(relation);
        }
    }
    Ok(relations)
}

/// By invocation, as [`predict_shown`] has it.
type Hidden = Vec<Vec<u32>>;

/// Words that are hidden together: invocation and place.
type Unit = Vec<(usize, usize)>;

/// The words of an invocation from a place on.
fn from(logs: &[Vec<u32>], invocation: usize, at: usize) -> Unit {
    (at..logs[invocation].len()).map(|at| (invocation, at)).collect()
}

/// A word that several values are legal for.
#[derive(Clone, Copy)]
struct Uncertain {
    invocation: usize,
    at: usize,
    /// True where the lane's path is not known any more: nobody knows which words are sites.
    is_after_end: bool,
}

/// The words of the logs that have not one legal value.
fn uncertain_words(case: &Case, certain: &Prediction, logs: &[Vec<u32>]) -> Vec<Uncertain> {
    let mut uncertain = Vec::new();
    for log in certain.logs() {
        let invocation = case.entry_point.ordinal(log.invocation);
        let open = (0..log.words.len()).filter(|&at| log.words[at].is_none());
        uncertain.extend(open.map(|at| Uncertain { invocation, at, is_after_end: false }));
        let end = if log.open_end { logs[invocation].len() } else { 0 };
        uncertain.extend((log.words.len()..end).map(|at| Uncertain { invocation, at, is_after_end: true }));
    }
    uncertain.sort_by_key(|word| (word.invocation, word.at));
    uncertain
}

/// The invocations whose paths are not known to their ends, and from where on.
fn open_ends(uncertain: &[Uncertain]) -> Vec<(usize, usize)> {
    let mut ends: Vec<(usize, usize)> = Vec::new();
    for word in uncertain.iter().filter(|word| word.is_after_end) {
        if ends.last().is_none_or(|(invocation, _)| *invocation != word.invocation) {
            ends.push((word.invocation, word.at));
        }
    }
    ends
}

/// Hides words of an observation that is wrong as long as it stays wrong.
struct Search<'a> {
    wrong: &'a dyn Fn(&Hidden) -> Result<Option<Mismatch>, NotDefined>,
    hidden: Hidden,
    /// What the whole observation being wrong rests on.
    severity: Severity,
    /// The rule that is broken with what is left.
    rule: Option<TangleRule>,
    /// Predictions that it may still make.
    left: u32,
}

impl Search<'_> {
    fn is_hidden(&self, word: &Uncertain) -> bool {
        self.hidden[word.invocation][word.at] != 0
    }

    /// Hides these, if the rest is wrong without them.
    fn hide_all(&mut self, words: &[(usize, usize)]) -> Result<bool, NotDefined> {
        if words.is_empty() || self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        let mut hidden = self.hidden.clone();
        words.iter().for_each(|&(invocation, at)| hidden[invocation][at] = 1);
        // What is left may not rest on less.
        let wrong = (self.wrong)(&hidden)?.filter(|mismatch| mismatch.severity <= self.severity);
        let Some(mismatch) = wrong else { return Ok(false) };
        self.rule = mismatch.rule;
        self.hidden = hidden;
        Ok(true)
    }

    /// Hides as many of these as it can, in halves.
    fn hide_as_many(&mut self, units: &[Unit]) -> Result<(), NotDefined> {
        if units.is_empty() || self.hide_all(&units.concat())? || units.len() == 1 {
            return Ok(());
        }
        let (first, second) = units.split_at(units.len() / 2);
        self.hide_as_many(first)?;
        self.hide_as_many(second)
    }

    /// Hides as much as it can of the end of a log, from `start` at the earliest.
    fn hide_the_end(&mut self, logs: &[Vec<u32>], invocation: usize, start: usize) -> Result<(), NotDefined> {
        let (mut needed, mut end) = (start, logs[invocation].len());
        if self.hidden[invocation].get(start).is_none_or(|&word| word != 0) {
            return Ok(());
        }
        while needed < end {
            let middle = needed.midpoint(end);
            if self.hide_all(&from(logs, invocation, middle))? {
                end = middle;
            } else {
                needed = middle + 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::judge::Kind;

    fn mismatch(severity: Severity) -> Mismatch {
        Mismatch {
            kind: Kind::Value,
            site: 1,
            group: GroupId(0),
            expected_active: Vec::new(),
            actual_active: Vec::new(),
            lanes: Vec::new(),
            wrong_lanes: 1,
            rule: None,
            severity,
            weakest_tier: None,
        }
    }

    /// Looks for what shows that something is wrong, if that takes just these words of two logs of eight; gives the words that are left, and how
    /// many predictions it took.
    fn shown(takes: &[(usize, usize)], budget: u32, look: impl Fn(&mut Search<'_>, &[Vec<u32>])) -> (Unit, u32) {
        let logs = vec![vec![7; 8]; 2];
        let calls = Cell::new(0);
        let wrong = |hidden: &Hidden| {
            calls.set(calls.get() + 1);
            let is_wrong = takes.iter().all(|&(invocation, at)| hidden[invocation][at] == 0);
            Ok(is_wrong.then(|| mismatch(Severity::Strong)))
        };
        let hidden = vec![vec![0; 8]; 2];
        let mut search = Search { wrong: &wrong, hidden, severity: Severity::Strong, rule: None, left: budget };
        look(&mut search, &logs);
        assert_eq!(search.left, budget - calls.get(), "each prediction is counted");
        let all = (0..2).flat_map(|invocation| from(&logs, invocation, 0));
        (all.filter(|&(invocation, at)| search.hidden[invocation][at] == 0).collect(), calls.get())
    }

    #[test]
    fn as_many_as_can_are_hidden() {
        let units: Vec<Unit> = (0..8).map(|at| vec![(0, at), (1, at)]).collect();
        let look = |search: &mut Search<'_>, _: &[Vec<u32>]| search.hide_as_many(&units).expect("it is defined");
        assert_eq!(shown(&[], 99, look), (vec![], 1));
        assert_eq!(shown(&[(1, 5)], 99, look).0, [(0, 5), (1, 5)], "what is hidden together stays together");
        assert_eq!(shown(&[(0, 0), (1, 6)], 99, look).0, [(0, 0), (0, 6), (1, 0), (1, 6)]);
        // The whole, halves, quarters and each by itself, until nothing may be asked any more: then the rest stays.
        let all = units.concat();
        assert_eq!((shown(&all, 99, look).0.len(), shown(&all, 99, look).1), (16, 15));
        assert_eq!((shown(&[(0, 7)], 3, look).0.len(), shown(&[(0, 7)], 3, look).1), (8, 3));
        // Nothing to hide takes no prediction.
        assert_eq!(shown(&[], 99, |search, _| search.hide_as_many(&[vec![], vec![]]).expect("it is defined")).1, 0);
        assert_eq!(shown(&[], 99, |search, _| search.hide_as_many(&[]).expect("it is defined")).1, 0);
    }

    #[test]
    fn the_end_of_a_log_is_hidden_as_far_as_it_can_be() {
        for takes in 2..8 {
            // Words 2 to 7 are the end; the last one that is needed is this.
            let look =
                |search: &mut Search<'_>, logs: &[Vec<u32>]| search.hide_the_end(logs, 0, 2).expect("it is defined");
            let (left, calls) = shown(&[(0, takes)], 99, look);
            assert_eq!(left.iter().filter(|(invocation, _)| *invocation == 0).count(), takes + 1, "{takes}: {left:?}");
            assert!(calls <= 3, "{takes}: {calls} predictions for six words");
        }
        // None is needed, or the end does not begin in this log, or is hidden already.
        let look = |start: usize, is_hidden: bool| {
            move |search: &mut Search<'_>, logs: &[Vec<u32>]| {
                search.hidden[0][2] = is_hidden.into();
                search.hide_the_end(logs, 0, start).expect("it is defined");
            }
        };
        assert_eq!(shown(&[(1, 7)], 99, look(2, false)).0.len(), 2 + 8);
        assert_eq!(shown(&[(1, 7)], 99, look(8, false)), (shown(&[(1, 7)], 99, |_, _| ()).0, 0));
        assert_eq!(shown(&[(1, 7)], 99, look(2, true)).1, 0);
    }

    #[test]
    fn what_is_left_rests_on_no_less() {
        for (severity, is_hidden) in [(Severity::Hard, true), (Severity::Strong, true), (Severity::Quality, false)] {
            let wrong = |_: &Hidden| Ok(Some(mismatch(severity)));
            let mut search =
                Search { wrong: &wrong, hidden: vec![vec![0]], severity: Severity::Strong, rule: None, left: 9 };
            assert_eq!(search.hide_all(&[(0, 0)]), Ok(is_hidden), "{severity:?}");
        }
    }

    #[test]
    fn where_paths_are_not_known_any_more() {
        let word = |invocation, at, is_after_end| Uncertain { invocation, at, is_after_end };
        let words = [
            word(0, 1, false),
            word(0, 4, true),
            word(0, 5, true),
            word(1, 2, false),
            word(2, 0, true),
            word(3, 1, false),
            word(3, 3, true),
            word(3, 4, true),
        ];
        assert_eq!(open_ends(&words), [(0, 4), (2, 0), (3, 3)]);
        assert_eq!(open_ends(&words[3..4]), []);
    }
}
