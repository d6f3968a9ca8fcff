//! The verdict on an observation.

use serde::{Deserialize, Serialize};
use tangle_program::case::{Case, Tier};
use tangle_program::tree::SiteId;
use tangle_program::validate::validate;

use crate::machine::LaneLog;
use crate::map::{LaneMap, MapFault, SizePromise};
use crate::observed::{Status, TangleRule};
use crate::predict::{OpUse, Prediction, Workgroup, lanes_by_subgroup, predict_observed};

/// What a device gave back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// The lane map buffer ([`tangle_program::case::interface::MAP`]).
    pub map: Vec<u32>,
    /// The log of each invocation, by `workgroup_index * N + local_index`; zeros at the end may be left out.
    pub logs: Vec<Vec<u32>>,
}

/// The outcome for one case on one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every compared value is right.
    Pass,
    /// Nothing was compared: no statement about the device.
    Vacuous,
    /// The device broke a rule.
    Mismatch(Box<Mismatch>),
    /// Only the lane map breaks a rule; values are right.
    LaneMap,
    /// The case is not well-defined: a fault of the generator, no statement about the device.
    Invalid(String),
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Logged values compared, exactly or by the rules for observed tangles.
    pub checked: u64,
    /// Those of them that the rules for observed tangles judged ([`crate::observed`]).
    #[serde(default)]
    pub observed: u64,
    /// Values logged under divergence: where control flow is not uniform by the tier's rules.
    #[serde(default)]
    pub divergent: u64,
    /// Those of them compared.
    #[serde(default)]
    pub divergent_checked: u64,
    /// Logged values not compared because the specification or the tier leaves them open.
    pub tainted: u64,
    /// Logged values not compared because the lane's path was unknown, or after its first wrong value.
    pub skipped: u64,
    /// Log entries compared: that the lane came by this site, as its next step.
    pub steps: u64,
    /// Log sites in the programs.
    pub sites: u64,
    /// Log sites that some lane had to reach.
    pub sites_reached: u64,
}

impl Counts {
    /// Adds another count.
    pub fn add(&mut self, other: Counts) {
        self.checked += other.checked;
        self.observed += other.observed;
        self.divergent += other.divergent;
        self.divergent_checked += other.divergent_checked;
        self.tainted += other.tainted;
        self.skipped += other.skipped;
        self.steps += other.steps;
        self.sites += other.sites;
        self.sites_reached += other.sites_reached;
    }
}

/// The judgement on one observation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The outcome.
    pub verdict: Verdict,
    /// Broken rules of the lane map.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub map_faults: Vec<MapFault>,
    /// What was compared.
    pub counts: Counts,
    /// Use of every operation of the program, in the order of [`tangle_program::context::operations`]; empty if there was no prediction.
    #[serde(skip)]
    pub op_use: Vec<OpUse>,
}

/// How the first wrong step is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The lane reached the right site with a wrong value.
    Value,
    /// The lane went somewhere else, or logged nothing more.
    Path,
    /// The lane logged more than it must.
    Extra,
}

/// The first wrong step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// How it is wrong.
    pub kind: Kind,
    /// The site the lanes had to log; 0 after the last one.
    pub site: SiteId,
    /// Linear index of the workgroup.
    pub workgroup: u32,
    /// The lanes that had to log together here: number of the subgroup, lane mask. At tier maximal this is the tangle.
    pub expected_active: Vec<(usize, LaneSet)>,
    /// Those that did log this site as their next step.
    pub actual_active: Vec<(usize, LaneSet)>,
    /// The wrong lanes, at this step.
    pub lanes: Vec<WrongLane>,
    /// Lanes of the dispatch whose log is wrong here or later.
    pub wrong_lanes: u32,
    /// The rule that no division of the lanes into tangles keeps, if the tier leaves the division open here. What is expected is then what one
    /// legal division gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<TangleRule>,
    /// The weakest tier whose rules are broken, if it is not the case's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weakest_tier: Option<Tier>,
}

/// A lane mask; JSON form is a hexadecimal string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneSet(pub u128);

impl Serialize for LaneSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

impl<'de> Deserialize<'de> for LaneSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<LaneSet, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let digits = text.trim_start_matches("0x");
        u128::from_str_radix(digits, 16).map(LaneSet).map_err(serde::de::Error::custom)
    }
}

/// One lane at the first wrong step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongLane {
    /// Number of the subgroup in the workgroup, in the order of their lowest local indices' tokens.
    pub subgroup: usize,
    /// `gl_SubgroupInvocationID`
    pub lane: usize,
    /// `gl_LocalInvocationIndex`
    pub local_index: u32,
    /// How many entries the lane had logged rightly before.
    pub entry: usize,
    /// The words of the entry that had to be logged, the site first; `None` where anything may stand.
    pub expected: Vec<Option<u32>>,
    /// The words found there instead; empty at the end of the log.
    pub actual: Vec<u32>,
}

/// Judges an observation of a case.
pub fn judge(case: &Case, observation: &Observation, promise: SizePromise) -> Judgement {
    let (map, map_faults) = LaneMap::check(case, &observation.map, promise);
    let mut judgement =
        Judgement { verdict: Verdict::LaneMap, map_faults, counts: Counts::default(), op_use: Vec::new() };
    let Some(map) = map else { return judgement };
    let prediction = match predict_observed(case, &map, &observation.logs) {
        Ok(prediction) => prediction,
        Err(not_defined) => {
            judgement.verdict = Verdict::Invalid(not_defined.0);
            return judgement;
        }
    };
    let (mismatch, counts) = compare(&prediction, case.launch.invocations(), &observation.logs);
    let (reached, sites) = prediction.sites_reached();
    judgement.counts = Counts { sites: sites as u64, sites_reached: reached as u64, ..counts };
    judgement.op_use = prediction.op_use();
    judgement.verdict = match mismatch {
        Some(mut mismatch) => {
            mismatch.weakest_tier = weaker_broken(case, &map, observation);
            Verdict::Mismatch(Box::new(mismatch))
        }
        None if !judgement.map_faults.is_empty() => Verdict::LaneMap,
        None if counts.checked + counts.steps == 0 => Verdict::Vacuous,
        None => Verdict::Pass,
    };
    judgement
}

/// The weakest tier whose rules the observation breaks, if it is weaker than the case's. Where the program would not be valid at a tier,
/// nothing is said about it.
fn weaker_broken(case: &Case, map: &LaneMap, observation: &Observation) -> Option<Tier> {
    let weaker = Tier::ALL.into_iter().take_while(|&tier| tier != case.tier);
    weaker.into_iter().find(|&tier| {
        let case = Case { tier, ..case.clone() };
        let broken =
            |prediction: Prediction| compare(&prediction, case.launch.invocations(), &observation.logs).0.is_some();
        validate(&case).is_ok() && predict_observed(&case, map, &observation.logs).is_ok_and(broken)
    })
}

/// Where a lane's log first goes wrong.
struct Wrong {
    workgroup: usize,
    slot: usize,
    kind: Kind,
    entry: usize,
    /// Number of the event in the workgroup; past the last one for [`Kind::Extra`].
    event: u32,
    rule: Option<TangleRule>,
}

/// Compares all logs with the prediction. `invocations` is the number in one workgroup.
pub fn compare(prediction: &Prediction, invocations: u32, logs: &[Vec<u32>]) -> (Option<Mismatch>, Counts) {
    let mut counts = Counts::default();
    let mut wrong = Vec::new();
    let log_of = |workgroup: usize, local_index: u32| {
        logs.get(workgroup * invocations as usize + local_index as usize).map_or(&[][..], Vec::as_slice)
    };
    for (w, workgroup) in prediction.workgroups.iter().enumerate() {
        for slot in workgroup.layout.live.slots() {
            let actual = log_of(w, workgroup.layout.local_index[slot]);
            let fault = compare_lane(workgroup, slot, actual, &mut counts);
            wrong.extend(fault.map(|(kind, entry, rule)| {
                let event = workgroup.logs[slot].entries.get(entry).map_or(u32::MAX, |&(_, event)| event);
                Wrong { workgroup: w, slot, kind, entry, event, rule }
            }));
        }
    }
    let Some(first) = wrong.iter().min_by_key(|wrong| (wrong.workgroup, wrong.event)) else { return (None, counts) };
    let workgroup = &prediction.workgroups[first.workgroup];
    let mut mismatch = Mismatch {
        kind: first.kind,
        site: workgroup.events.get(first.event as usize).map_or(0, |event| event.site),
        workgroup: first.workgroup as u32,
        expected_active: Vec::new(),
        actual_active: Vec::new(),
        lanes: Vec::new(),
        wrong_lanes: wrong.len() as u32,
        rule: None,
        weakest_tier: None,
    };
    if let Some(event) = workgroup.events.get(first.event as usize) {
        let mut came = event.active.clone();
        for other in wrong.iter().filter(|w| w.workgroup == first.workgroup && w.kind == Kind::Path) {
            let mut gone = crate::mask::Mask::empty(workgroup.layout.slots);
            gone.insert(other.slot);
            if other.event <= first.event {
                came = came.minus(&gone);
            }
        }
        let sets =
            |mask| lanes_by_subgroup(&workgroup.layout, mask).into_iter().map(|(s, m)| (s, LaneSet(m))).collect();
        mismatch.expected_active = sets(&event.active);
        mismatch.actual_active = sets(&came);
    }
    let here = |wrong: &&Wrong| wrong.workgroup == first.workgroup && wrong.event == first.event;
    for wrong in wrong.iter().filter(here) {
        let local_index = workgroup.layout.local_index[wrong.slot];
        mismatch.lanes.push(wrong_lane(workgroup, wrong, log_of(first.workgroup, local_index)));
        mismatch.rule = mismatch.rule.or(wrong.rule);
    }
    (Some(mismatch), counts)
}

fn wrong_lane(workgroup: &Workgroup, wrong: &Wrong, actual: &[u32]) -> WrongLane {
    let log = &workgroup.logs[wrong.slot];
    let (subgroup, lane) = workgroup.layout.lane_of(wrong.slot);
    let (start, end) = match log.entries.get(wrong.entry) {
        Some(&(start, _)) => (start, log.entry_end(wrong.entry)),
        None => (log.words.len() as u32, log.words.len() as u32),
    };
    let expected: Vec<Option<u32>> =
        (start..end).map(|at| log.tainted.binary_search(&at).is_err().then(|| log.words[at as usize])).collect();
    // Of an entry at another site a few words are shown, whatever was expected.
    let shown = if wrong.kind == Kind::Value { expected.len() } else { expected.len().max(4) };
    let found = actual.iter().skip(start as usize).take(shown).copied();
    WrongLane {
        subgroup,
        lane,
        local_index: workgroup.layout.local_index[wrong.slot],
        entry: wrong.entry,
        expected,
        actual: found.take_while(|&word| wrong.kind == Kind::Value || word != 0).collect(),
    }
}

/// Compares one lane entry by entry; gives kind and number of the first wrong entry, and the rule for tangles that it breaks.
fn compare_lane(
    workgroup: &Workgroup,
    slot: usize,
    actual: &[u32],
    counts: &mut Counts,
) -> Option<(Kind, usize, Option<TangleRule>)> {
    let log = &workgroup.logs[slot];
    let mut tainted = log.tainted.iter().copied().peekable();
    let mut adopted = log.adopted.iter().copied().peekable();
    for (i, &(start, event)) in log.entries.iter().enumerate() {
        let divergent = !workgroup.events[event as usize].uniform.contains(slot);
        let (start, end) = (start as usize, log.entry_end(i) as usize);
        let values = (end - start - 1) as u64;
        if actual.get(start).copied().unwrap_or(0) != log.words[start] {
            counts.skipped += values + rest_of(log, i);
            return Some((Kind::Path, i, None));
        }
        counts.steps += 1;
        counts.divergent += if divergent { values } else { 0 };
        for at in start + 1..end {
            if tainted.next_if_eq(&(at as u32)).is_some() {
                counts.tainted += 1;
                continue;
            }
            let status = adopted.next_if(|&(adopted, _)| adopted == at as u32).map(|(_, status)| status);
            // Zeros at the end of a slice are not sent, so a missing word is a zero.
            let right = actual.get(at).copied().unwrap_or(0) == log.words[at];
            if status == Some(Status::Open) && right {
                counts.tainted += 1;
                continue;
            }
            counts.checked += 1;
            counts.observed += u64::from(status.is_some());
            counts.divergent_checked += u64::from(divergent);
            if !right {
                counts.skipped += (end - at - 1) as u64 + rest_of(log, i);
                let rule = match status {
                    Some(Status::Broken(rule)) => Some(rule),
                    _ => None,
                };
                return Some((Kind::Value, i, rule));
            }
        }
    }
    let extra = actual.get(log.words.len()..).unwrap_or(&[]);
    if log.lost {
        counts.skipped += extra.iter().filter(|&&word| word != 0).count() as u64;
        return None;
    }
    extra.iter().any(|&word| word != 0).then_some((Kind::Extra, log.entries.len(), None))
}

/// Values in the entries after entry `i`.
fn rest_of(log: &LaneLog, i: usize) -> u64 {
    let entries = log.entries.len() - i - 1;
    (log.words.len() - log.entry_end(i) as usize - entries) as u64
}
