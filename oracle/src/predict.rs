//! From a case and a lane map to what every lane must log.

use serde::{Deserialize, Serialize};
use tangle_program::case::{Case, GroupId, InvocationId, Tier};
use tangle_program::subgroup::Severity;
use tangle_program::tree::SiteId;

use crate::contended::Contention;
use crate::lower::{Code, lower};
use crate::machine::{Event, LaneLog, Learnt, Machine, Memory, OpCounts, Pass, Stop};
use crate::map::{LaneMap, Layout};
use crate::mask::Mask;
use crate::observation::Observation;
use crate::observed::{Broken, Seen, Status, TangleRule, follow};
use crate::rules::Spec;

/// Why there is no prediction: the case must not be run. A validated case from the generator never gives one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the case is not well-defined on this lane map: {0}")]
pub struct NotDefined(pub String);

/// What a device must log, for one lane map.
#[derive(Debug)]
pub struct Prediction {
    pub(crate) groups: Vec<Group>,
    /// Log sites in the program.
    sites: usize,
}

#[derive(Debug)]
pub(crate) struct Group {
    pub layout: Layout,
    /// What each slot has to log; empty for slots without an invocation.
    pub logs: Vec<LaneLog>,
    pub events: Vec<Event>,
    pub counts: OpCounts,
    /// What atomics did to memory, where that is known.
    contention: Contention,
}

/// One execution of a log site, as [`Prediction::events`] gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// The group of invocations.
    pub group: GroupId,
    /// The site that is executed.
    pub site: SiteId,
    /// The lanes that log together: for each subgroup with any, its number and lane mask. Exact at tier maximal; at the others the largest
    /// set that the tier allows.
    pub active: Vec<(usize, u128)>,
}

/// What the lanes of a [`LoggedEvent`] log: for each its number in the group and the words behind the site; `None` where nothing is
/// compared.
pub type LoggedValues = Vec<(u32, Vec<Option<u32>>)>;

/// What one invocation has to log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedLog {
    /// Which invocation of the launch.
    pub invocation: InvocationId,
    /// Number of the subgroup in the group.
    pub subgroup: usize,
    /// `gl_SubgroupInvocationID`
    pub lane: usize,
    /// The words in order; `None` where nothing is compared.
    pub words: Vec<Option<u32>>,
    /// For each entry: the index of its first word, and that of its event in [`Prediction::events`].
    pub entries: Vec<(usize, usize)>,
    /// True if the log may go on after these words in an unknown way; else only zeros follow.
    pub open_end: bool,
    /// Words that cannot be what was observed, because of a rule for tangles that the tier leaves open. What stands in `words` is one of
    /// several legal values. Ascending.
    pub rules: Vec<(usize, TangleRule)>,
}

/// How often an operation ran, and how often a compared value depended on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpUse {
    /// Lane executions with the whole subgroup active.
    pub executed_full: u64,
    /// Lane executions with a part of the subgroup active.
    pub executed_partial: u64,
    /// Compared values that came from executions with the whole subgroup active.
    pub checked_full: u64,
    /// Compared values that came from executions with a part of it active.
    pub checked_partial: u64,
}

impl OpUse {
    /// Adds the counts of the same operation in another group of the launch.
    pub fn add(&mut self, other: OpUse) {
        self.executed_full += other.executed_full;
        self.executed_partial += other.executed_partial;
        self.checked_full += other.checked_full;
        self.checked_partial += other.checked_partial;
    }
}

/// Predicts what a device with this lane map must log.
///
/// # Errors
/// If the case has undefined behaviour on this map.
pub fn predict(case: &Case, map: &LaneMap) -> Result<Prediction, NotDefined> {
    let code = lower(&case.program).map_err(NotDefined)?;
    let mut groups = Vec::with_capacity(map.groups.len());
    for layout in &map.groups {
        let Settled { machine, .. } = settle(case, &code, layout)?;
        groups.push(Group::of(machine, layout));
    }
    Ok(Prediction { groups, sites: code.sites })
}

/// Predicts what a device must log that logged this, where it is the device's choice who is together: results of open tangles are
/// adopted as far as they are legal ([`crate::observed`]). `logs` are those of [`crate::judge::Observation`].
///
/// # Errors
/// If the case has undefined behaviour on this map.
fn predict_observed(case: &Case, map: &LaneMap, logs: &[Vec<u32>]) -> Result<Prediction, NotDefined> {
    predict_shown(case, map, logs, &[])
}

/// The same of a device of which only a part of what it logged is known: words with something other than zero at their place in `hidden`
/// are not looked at and not compared, and from a site on that is hidden nothing is known of its lane. What is wrong then is wrong
/// whatever these words are.
///
/// # Errors
/// If the case has undefined behaviour on this map.
pub fn predict_shown(
    case: &Case,
    map: &LaneMap,
    logs: &[Vec<u32>],
    hidden: &[Vec<u32>],
) -> Result<Prediction, NotDefined> {
    let code = lower(&case.program).map_err(NotDefined)?;
    let mut groups = Vec::with_capacity(map.groups.len());
    for layout in &map.groups {
        let Settled { mut machine, visitors, classes } = settle(case, &code, layout)?;
        // Helpers log nothing that could be followed.
        let follows = layout.helpers.is_empty() && layout.others.iter().all(|&others| others == 0) && !code.discards;
        if machine.is_open && follows {
            let mut seen = Seen { logs: vec![&[]; layout.slots], hidden: vec![&[]; layout.slots] };
            for slot in layout.live.slots() {
                let at = case.entry_point.ordinal(layout.invocation(slot));
                seen.logs[slot] = logs.get(at).map_or(&[], Vec::as_slice);
                seen.hidden[slot] = hidden.get(at).map_or(&[], Vec::as_slice);
            }
            let followed = follow(case, &code, layout, (visitors, classes), &seen)?;
            machine = followed.unwrap_or(machine);
        }
        groups.push(Group::of(machine, layout));
    }
    let mut prediction = Prediction { groups, sites: code.sites };
    prediction.leave_open(case, hidden);
    prediction.judge_atomics(case, logs);
    Ok(prediction)
}

/// Predicts what a device must log that gave this. Where the observation leaves words open, nothing is adopted from it: what it says of the
/// words is one possibility of several, which need not fit together.
///
/// # Errors
/// If the case has undefined behaviour on this map.
pub fn predict_for(case: &Case, map: &LaneMap, observation: &Observation) -> Result<Prediction, NotDefined> {
    if observation.open.iter().flatten().all(|&word| word == 0) {
        return predict_observed(case, map, &observation.logs);
    }
    let mut prediction = predict(case, map)?;
    prediction.leave_open(case, &observation.open);
    Ok(prediction)
}

impl From<Stop> for NotDefined {
    fn from(Stop::Invalid(why): Stop) -> NotDefined {
        NotDefined(why)
    }
}

impl Group {
    fn of(machine: Machine<'_, Spec>, layout: &Layout) -> Group {
        let is_told = machine.memory.is_told();
        let Machine { logs, events, counts, memory, .. } = machine;
        let Memory { histories, names, rests_on, .. } = memory;
        let contention = if is_told { Contention { histories, names, rests_on } } else { Contention::default() };
        Group { layout: layout.clone(), logs, events, counts, contention }
    }
}

/// Who visits each operation, as [`Pass::Predict`] has it; none at tier maximal.
pub(crate) fn visitors(case: &Case, code: &Code, layout: &Layout) -> Result<Vec<u128>, NotDefined> {
    Ok(settle(case, code, layout)?.visitors)
}

/// A run, with what it was found to rest on: who visits each operation, and where that is known ([`Pass::Predict`]).
struct Settled<'a> {
    machine: Machine<'a, Spec>,
    visitors: Vec<u128>,
    classes: Vec<bool>,
}

/// Runs a group of invocations until it is known which subgroups the path-class rule may be used in.
fn settle<'a>(case: &'a Case, code: &'a Code, layout: &'a Layout) -> Result<Settled<'a>, Stop> {
    let run = |pass: Pass, learnt: Learnt| {
        let mut machine = Machine::new(case, code, layout, Spec, pass).knowing(learnt);
        machine.run().map(|()| machine)
    };
    let mut learnt = Learnt::default();
    let mut classes = vec![true; layout.subgroups.len()];
    let visitors = match case.tier {
        Tier::Maximal => Vec::new(),
        Tier::Plain | Tier::SubgroupUniform => run(Pass::Survey, Learnt::default())?.visitors,
    };
    // Every round but the last takes the rule from one more subgroup, which it never gets back, or learns something of memory: that loads are
    // unknown, or one more of the elements that the program touches in one of its phases. There are finitely many of each.
    loop {
        let machine = run(Pass::Predict { visitors: visitors.clone(), classes: classes.clone() }, learnt.clone())?;
        let mut settled = true;
        if case.tier != Tier::Maximal {
            // A lost lane may visit any operation, so who visits it is no longer known.
            for (class, subgroup) in classes.iter_mut().zip(&layout.subgroups) {
                let lost = machine.lost.lanes(subgroup.first, subgroup.size) != 0;
                settled &= !(lost && *class);
                *class &= !lost;
            }
        }
        if settled && !machine.memory.wrong {
            return Ok(Settled { machine, visitors, classes });
        }
        learnt = machine.memory.into_learnt();
    }
}

impl Prediction {
    /// Compares no word that is open, of those of each invocation.
    fn leave_open(&mut self, case: &Case, open: &[Vec<u32>]) {
        for group in &mut self.groups {
            for slot in group.layout.live.slots() {
                let at = case.entry_point.ordinal(group.layout.invocation(slot));
                if let Some(open) = open.get(at).filter(|open| !open.is_empty()) {
                    group.logs[slot].leave_open(open);
                }
            }
        }
    }

    /// Adopts what the logs show of atomics that several lanes do to one element, as far as an order of them gives it (rule A3).
    fn judge_atomics(&mut self, case: &Case, logs: &[Vec<u32>]) {
        for Group { layout, logs: expected, contention, .. } in &mut self.groups {
            let log_of =
                |slot| logs.get(case.entry_point.ordinal(layout.invocation(slot))).map_or(&[][..], Vec::as_slice);
            let slots: Vec<usize> =
                layout.live.slots().filter(|&slot| !layout.stands_in(slot, &case.entry_point)).collect();
            contention.judge(case.tier, expected, &slots, log_of);
        }
    }

    /// Use of every operation of the program, in the order of [`tangle_analysis::context::operations`].
    pub fn op_use(&self) -> Vec<OpUse> {
        let ops = self.groups.first().map_or(0, |group| group.counts.executed.len());
        let mut uses = vec![OpUse::default(); ops];
        for Group { counts, .. } in &self.groups {
            for (op, used) in uses.iter_mut().enumerate() {
                used.add(OpUse {
                    executed_full: counts.executed[op][0],
                    executed_partial: counts.executed[op][1],
                    checked_full: counts.checked[op][0],
                    checked_partial: counts.checked[op][1],
                });
            }
        }
        uses
    }

    /// True if a sum or product of integers over lanes may leave its type ([`Fold::may_overflow`]).
    pub fn overflows(&self) -> bool {
        self.groups.iter().any(|group| group.counts.overflows)
    }

    /// Log sites that some lane reaches, and all there are.
    pub fn sites_reached(&self) -> (usize, usize) {
        let events = self.groups.iter().flat_map(|group| &group.events);
        let mut reached: Vec<SiteId> = events.map(|event| event.site).collect();
        reached.sort_unstable();
        reached.dedup();
        (reached.len(), self.sites)
    }

    /// The log of every invocation, group by group and subgroup by subgroup.
    pub fn logs(&self) -> Vec<ExpectedLog> {
        let mut first_event = 0;
        let mut logs = Vec::new();
        for group in &self.groups {
            for slot in group.layout.live.slots() {
                let LaneLog { words, tainted, adopted, entries, lost, .. } = &group.logs[slot];
                let (subgroup, lane) = group.layout.lane_of(slot);
                let mut words: Vec<Option<u32>> = words.iter().copied().map(Some).collect();
                tainted.iter().for_each(|&at| words[at as usize] = None);
                let broken = |&(at, status): &(u32, Status)| match status {
                    Status::Broken(Broken { rule, .. }) => Some((at as usize, rule)),
                    Status::Open | Status::Checked => None,
                };
                let rules = adopted.iter().filter_map(broken).collect();
                logs.push(ExpectedLog {
                    rules,
                    invocation: group.layout.invocation(slot),
                    subgroup,
                    lane,
                    words,
                    entries: entries.iter().map(|&(at, event)| (at as usize, first_event + event as usize)).collect(),
                    open_end: *lost,
                });
            }
            first_event += group.events.len();
        }
        logs
    }

    /// Every execution of every log site, in an order of execution.
    pub fn events(&self) -> impl Iterator<Item = LoggedEvent> {
        self.groups.iter().flat_map(|Group { layout, events, .. }| {
            events.iter().map(|event| LoggedEvent {
                group: layout.group,
                site: event.site,
                active: lanes_by_subgroup(layout, &event.active),
            })
        })
    }

    /// The same with what is logged.
    pub fn events_with_values(&self) -> Vec<(LoggedEvent, LoggedValues)> {
        let mut all: Vec<(LoggedEvent, LoggedValues)> = self.events().map(|event| (event, Vec::new())).collect();
        let mut first = 0;
        for group in &self.groups {
            for slot in group.layout.live.slots() {
                let log = &group.logs[slot];
                for (i, &(start, event)) in log.entries.iter().enumerate() {
                    let words = (start + 1..log.entry_end(i))
                        .map(|at| log.tainted.binary_search(&at).is_err().then(|| log.words[at as usize]));
                    all[first + event as usize].1.push((group.layout.index[slot], words.collect()));
                }
            }
            first += group.events.len();
        }
        all
    }
}

impl LaneLog {
    /// Compares no word that is open. From an open site on, nothing is known of the lane.
    fn leave_open(&mut self, open: &[u32]) {
        let is_open = |at: u32| open.get(at as usize).is_some_and(|&word| word != 0);
        if let Some(first) = self.entries.iter().position(|&(start, _)| is_open(start)) {
            let (end, _) = self.entries[first];
            self.entries.truncate(first);
            self.words.truncate(end as usize);
            self.tainted.retain(|&at| at < end);
            self.adopted.retain(|&(at, _)| at < end);
            self.severity.retain(|&(at, _)| at < end);
            self.shown.retain(|shown| shown.at < end);
            self.lost = true;
        }
        self.tainted.extend((0..self.words.len() as u32).filter(|&at| is_open(at)));
        self.tainted.sort_unstable();
        self.tainted.dedup();
        self.adopted.retain(|&(at, _)| !is_open(at));
        // Of a value of two words neither shows it alone.
        let open_names: Vec<usize> =
            self.shown.iter().filter(|shown| is_open(shown.at)).map(|shown| shown.name).collect();
        self.shown.retain(|shown| !open_names.contains(&shown.name));
        // What goes on where it should end may not be there.
        self.lost |= (self.words.len()..open.len()).any(|at| is_open(at as u32));
    }

    /// The weakest rule that a word rests on; at the start of an entry, that the lane's path to it rests on.
    pub fn rests_on(&self, word: usize) -> Severity {
        let at = self.severity.binary_search_by_key(&(word as u32), |&(at, _)| at);
        at.map_or(Severity::Hard, |at| self.severity[at].1)
    }

    /// Where entry `i` ends.
    pub fn entry_end(&self, i: usize) -> u32 {
        self.entries.get(i + 1).map_or(self.words.len() as u32, |&(start, _)| start)
    }
}

/// The lane masks of a set, for the subgroups with any lane in it.
pub(crate) fn lanes_by_subgroup(layout: &Layout, mask: &Mask) -> Vec<(usize, u128)> {
    let lanes = layout.subgroups.iter().enumerate().map(|(s, subgroup)| (s, mask.lanes(subgroup.first, subgroup.size)));
    lanes.filter(|&(_, lanes)| lanes != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Shown;

    /// Three entries: a site with two values, one with one, one with two. Values 2 and 7 are not compared.
    fn log() -> LaneLog {
        use Severity::{Quality, Strong};
        LaneLog {
            words: vec![1, 10, 11, 2, 20, 3, 30, 31],
            tainted: vec![2, 7],
            adopted: vec![(1, Status::Checked), (4, Status::Open), (6, Status::Checked)],
            entries: vec![(0, 0), (3, 1), (5, 2)],
            lost: false,
            severity: vec![(1, Quality), (3, Strong), (4, Strong), (6, Quality)],
            path: Strong,
            shown: Vec::new(),
        }
    }

    /// What words show goes with the words, and with the other word of the same value.
    #[test]
    fn what_is_shown_goes_with_what_is_left_open() {
        let shown = [(1, 0), (2, 1), (4, 2), (6, 3), (7, 3)].map(|(at, name)| Shown { at, name, part: 0 });
        for (open, left) in [
            (&[][..], &[1, 2, 4, 6, 7][..]),
            (&[0, 1], &[2, 4, 6, 7]),
            (&[0, 0, 0, 0, 0, 0, 1], &[1, 2, 4]),
            (&[0, 0, 0, 0, 0, 1], &[1, 2, 4]),
            (&[0, 0, 0, 1], &[1, 2]),
            (&[1], &[]),
        ] {
            let mut log = LaneLog { shown: shown.to_vec(), ..log() };
            log.leave_open(open);
            assert_eq!(log.shown.iter().map(|shown| shown.at).collect::<Vec<_>>(), left, "{open:?}");
        }
    }

    #[test]
    fn words_that_are_left_open() {
        let without = |open: &[u32], was_lost: bool| {
            let mut log = LaneLog { lost: was_lost, ..log() };
            log.leave_open(open);
            let adopted: Vec<u32> = log.adopted.iter().map(|&(at, _)| at).collect();
            let severity: Vec<u32> = log.severity.iter().map(|&(at, _)| at).collect();
            (log.words.len(), log.entries.len(), log.tainted, adopted, severity, log.lost)
        };
        let all =
            |tainted: &[u32], adopted: &[u32], lost| (8, 3, tainted.to_vec(), adopted.to_vec(), vec![1, 3, 4, 6], lost);
        assert_eq!(without(&[], false), all(&[2, 7], &[1, 4, 6], false), "nothing");
        assert_eq!(without(&[], true), all(&[2, 7], &[1, 4, 6], true), "nothing, of a lane that was lost");
        assert_eq!(without(&[0; 12], false), all(&[2, 7], &[1, 4, 6], false), "nothing, in so many words");
        assert_eq!(without(&[0, 1], false), all(&[1, 2, 7], &[4, 6], false), "a value");
        assert_eq!(without(&[0, 0, 5], false), all(&[2, 7], &[1, 4, 6], false), "a value that was not compared");
        assert_eq!(without(&[0, 0, 0, 0, 1, 0, 1], false), all(&[2, 4, 6, 7], &[1], false), "two values");
        // Whoever has logged there may have gone anywhere.
        let first = (3, 1, vec![2], vec![1], vec![1], true);
        assert_eq!(without(&[0, 0, 0, 1], false), first, "a site");
        assert_eq!(without(&[0, 0, 0, 1, 1, 1, 1, 1], false), first, "a site and all behind it");
        assert_eq!(without(&[0, 0, 0, 1], true), first, "a site, of a lane that was lost");
        assert_eq!(without(&[1], false), (0, 0, vec![], vec![], vec![], true), "the first site");
        // It may go on.
        assert_eq!(
            without(&[0, 0, 0, 0, 0, 0, 0, 0, 1], false),
            all(&[2, 7], &[1, 4, 6], true),
            "a word behind the end"
        );
        assert_eq!(without(&[0, 0, 0, 0, 0, 0, 0, 0, 1], true), all(&[2, 7], &[1, 4, 6], true), "the same, if lost");
    }
}
