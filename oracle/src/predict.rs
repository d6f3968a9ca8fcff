//! From a case and a lane map to what every lane must log.

use serde::{Deserialize, Serialize};
use tangle_program::case::{Case, Tier};
use tangle_program::tree::SiteId;

use crate::lower::{Code, lower};
use crate::machine::{Event, LaneLog, Learnt, Machine, OpCounts, Pass, Stop};
use crate::map::{LaneMap, Layout};
use crate::mask::Mask;
use crate::observed::{Status, TangleRule, follow};
use crate::rules::Spec;

/// Why there is no prediction: the case must not be run. A validated case from the generator never gives one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the case is not well-defined on this lane map: {0}")]
pub struct NotDefined(pub String);

/// What a device must log, for one lane map.
#[derive(Debug)]
pub struct Prediction {
    pub(crate) workgroups: Vec<Workgroup>,
    /// Log sites in the program.
    sites: usize,
}

#[derive(Debug)]
pub(crate) struct Workgroup {
    pub layout: Layout,
    /// By slot.
    pub logs: Vec<LaneLog>,
    pub events: Vec<Event>,
    pub counts: OpCounts,
}

/// One execution of a log site, as [`Prediction::events`] tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Linear workgroup index.
    pub workgroup: usize,
    /// The site.
    pub site: SiteId,
    /// The lanes that log together: for each subgroup with any, its number and lane mask. Exact at tier maximal; at the others the largest
    /// set that the tier allows.
    pub active: Vec<(usize, u128)>,
    /// Local invocation index and logged words of each lane; `None` where nothing is compared.
    pub values: Vec<(u32, Vec<Option<u32>>)>,
}

/// What one invocation has to log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedLog {
    /// Linear workgroup index.
    pub workgroup: usize,
    /// Number of the subgroup in the workgroup.
    pub subgroup: usize,
    /// `gl_SubgroupInvocationID`
    pub lane: usize,
    /// `gl_LocalInvocationIndex`
    pub local_index: u32,
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
    /// Adds another count.
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
    let mut workgroups = Vec::with_capacity(map.workgroups.len());
    for (index, layout) in map.workgroups.iter().enumerate() {
        let Settled { machine, .. } = settle(case, &code, layout, index)?;
        workgroups.push(Workgroup::of(machine, layout));
    }
    Ok(Prediction { workgroups, sites: code.sites })
}

/// Predicts what a device must log that logged this, where it is the device's choice who is together: results of open tangles are
/// adopted as far as they are legal ([`crate::observed`]). `logs` are those of [`crate::judge::Observation`].
///
/// # Errors
/// If the case has undefined behaviour on this map.
pub fn predict_observed(case: &Case, map: &LaneMap, logs: &[Vec<u32>]) -> Result<Prediction, NotDefined> {
    let code = lower(&case.program).map_err(NotDefined)?;
    let invocations = case.launch.invocations() as usize;
    let mut workgroups = Vec::with_capacity(map.workgroups.len());
    for (index, layout) in map.workgroups.iter().enumerate() {
        let Settled { mut machine, visitors, classes } = settle(case, &code, layout, index)?;
        if machine.is_open {
            let mut seen: Vec<&[u32]> = vec![&[]; layout.slots];
            for slot in layout.live.slots() {
                let at = index * invocations + layout.local_index[slot] as usize;
                seen[slot] = logs.get(at).map_or(&[], Vec::as_slice);
            }
            let followed = follow(case, &code, layout, index, (visitors, classes), &seen)?;
            machine = followed.unwrap_or(machine);
        }
        workgroups.push(Workgroup::of(machine, layout));
    }
    Ok(Prediction { workgroups, sites: code.sites })
}

impl From<Stop> for NotDefined {
    fn from(Stop::Invalid(why): Stop) -> NotDefined {
        NotDefined(why)
    }
}

impl Workgroup {
    fn of(machine: Machine<'_, Spec>, layout: &Layout) -> Workgroup {
        let Machine { logs, events, counts, .. } = machine;
        Workgroup { layout: layout.clone(), logs, events, counts }
    }
}

/// Who visits each operation, as [`Pass::Predict`] has it; none at tier maximal.
pub(crate) fn visitors(case: &Case, code: &Code, layout: &Layout, index: usize) -> Result<Vec<u128>, NotDefined> {
    Ok(settle(case, code, layout, index)?.visitors)
}

/// A run, with what it was found to rest on: who visits each operation, and where that is known ([`Pass::Predict`]).
struct Settled<'a> {
    machine: Machine<'a, Spec>,
    visitors: Vec<u128>,
    classes: Vec<bool>,
}

/// Runs a workgroup until it is known which subgroups the path-class rule may be used in.
fn settle<'a>(case: &'a Case, code: &'a Code, layout: &'a Layout, index: usize) -> Result<Settled<'a>, Stop> {
    let run = |pass: Pass, learnt: Learnt| {
        let mut machine = Machine::new(case, code, layout, index, Spec, pass).knowing(learnt);
        machine.run().map(|()| machine)
    };
    let mut learnt = Learnt::default();
    let mut classes = vec![true; layout.subgroups.len()];
    let visitors = match case.tier {
        Tier::Maximal => Vec::new(),
        Tier::Plain | Tier::SubgroupUniform => run(Pass::Survey, Learnt::default())?.visitors,
    };
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
    /// Use of every operation of the program, in the order of [`tangle_program::context::operations`].
    pub fn op_use(&self) -> Vec<OpUse> {
        let ops = self.workgroups.first().map_or(0, |workgroup| workgroup.counts.executed.len());
        let mut uses = vec![OpUse::default(); ops];
        for Workgroup { counts, .. } in &self.workgroups {
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

    /// Log sites that some lane reaches, and all there are.
    pub fn sites_reached(&self) -> (usize, usize) {
        let events = self.workgroups.iter().flat_map(|workgroup| &workgroup.events);
        let mut reached: Vec<SiteId> = events.map(|event| event.site).collect();
        reached.sort_unstable();
        reached.dedup();
        (reached.len(), self.sites)
    }

    /// The log of every invocation, workgroup by workgroup and subgroup by subgroup.
    pub fn logs(&self) -> Vec<ExpectedLog> {
        let mut first_event = 0;
        let mut logs = Vec::new();
        for (index, workgroup) in self.workgroups.iter().enumerate() {
            for slot in workgroup.layout.live.slots() {
                let LaneLog { words, tainted, adopted, entries, lost } = &workgroup.logs[slot];
                let (subgroup, lane) = workgroup.layout.lane_of(slot);
                let mut words: Vec<Option<u32>> = words.iter().copied().map(Some).collect();
                tainted.iter().for_each(|&at| words[at as usize] = None);
                let broken = |&(at, status): &(u32, Status)| match status {
                    Status::Broken(rule) => Some((at as usize, rule)),
                    Status::Open | Status::Checked => None,
                };
                let rules = adopted.iter().filter_map(broken).collect();
                logs.push(ExpectedLog {
                    rules,
                    workgroup: index,
                    subgroup,
                    lane,
                    local_index: workgroup.layout.local_index[slot],
                    words,
                    entries: entries.iter().map(|&(at, event)| (at as usize, first_event + event as usize)).collect(),
                    open_end: *lost,
                });
            }
            first_event += workgroup.events.len();
        }
        logs
    }

    /// Every execution of every log site, in an order of execution.
    pub fn events(&self) -> Vec<LoggedEvent> {
        let mut all = Vec::new();
        for (index, workgroup) in self.workgroups.iter().enumerate() {
            let first = all.len();
            all.extend(workgroup.events.iter().map(|event| LoggedEvent {
                workgroup: index,
                site: event.site,
                active: lanes_by_subgroup(&workgroup.layout, &event.active),
                values: Vec::new(),
            }));
            for slot in workgroup.layout.live.slots() {
                let log = &workgroup.logs[slot];
                for (i, &(start, event)) in log.entries.iter().enumerate() {
                    let end = log.entry_end(i);
                    let words = (start + 1..end)
                        .map(|at| log.tainted.binary_search(&at).is_err().then(|| log.words[at as usize]));
                    let values = words.collect();
                    all[first + event as usize].values.push((workgroup.layout.local_index[slot], values));
                }
            }
        }
        all
    }
}

impl LaneLog {
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
