//! The verdict on an observation.

use serde::{Deserialize, Serialize};
use tangle_analysis::validate::validate;
use tangle_program::case::{Case, EntryPoint, GroupId, Tier};
use tangle_program::subgroup::Severity;
use tangle_program::tree::SiteId;

use crate::machine::LaneLog;
use crate::map::{LaneMap, MapFault, SubgroupPromise};
pub use crate::observation::Observation;
use crate::observed::{Broken, Status, TangleRule};
use crate::predict::{Group, OpUse, Prediction, lanes_by_subgroup, predict_for};

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

/// What was compared of one observation, or of several together.
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
    /// Adds the counts of another observation.
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
    /// What comes of it: the first wrong step, if there is one.
    pub verdict: Verdict,
    /// Broken rules of the lane map.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub map_faults: Vec<MapFault>,
    /// What was compared, up to each lane's first wrong value.
    pub counts: Counts,
    /// Use of every operation of the program, in the order of [`tangle_analysis::context::operations`]; empty if there was no prediction.
    #[serde(skip)]
    pub op_use: Vec<OpUse>,
    /// True if a sum or product of integers over lanes may leave its type.
    #[serde(skip)]
    pub overflows: bool,
}

impl Judgement {
    /// Nothing is said of a case that is not well-defined, for the reason given.
    pub fn not_defined(why: String) -> Judgement {
        Judgement {
            verdict: Verdict::Invalid(why),
            map_faults: Vec::new(),
            counts: Counts::default(),
            op_use: Vec::new(),
            overflows: false,
        }
    }

    /// How well it stands that the device is wrong: the best of what the mismatch and the broken rules of the lane map rest on. `None` if
    /// nothing is wrong with the device.
    pub fn severity(&self) -> Option<Severity> {
        let mismatch = match &self.verdict {
            Verdict::Mismatch(mismatch) => Some(mismatch.severity),
            Verdict::Pass | Verdict::Vacuous | Verdict::LaneMap | Verdict::Invalid(_) => None,
        };
        self.map_faults.iter().map(|fault| fault.rule.severity()).chain(mismatch).min()
    }
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
    /// The group of invocations.
    #[serde(alias = "workgroup")]
    pub group: GroupId,
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
    /// The weakest rule that it takes to call the wrong lanes of this step wrong: how well the mismatch stands. Findings of versions that
    /// did not say are taken for [`Severity::Hard`].
    #[serde(default)]
    pub severity: Severity,
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
    /// Number of the subgroup in the group, in the order of their lowest local indices' tokens.
    pub subgroup: usize,
    /// `gl_SubgroupInvocationID`
    pub lane: usize,
    /// Its number in the group.
    #[serde(alias = "local_index")]
    pub index: u32,
    /// How many entries the lane had logged rightly before.
    pub entry: usize,
    /// The words of the entry that had to be logged, the site first; `None` where anything may stand.
    pub expected: Vec<Option<u32>>,
    /// The words found there instead; empty at the end of the log.
    pub actual: Vec<u32>,
}

/// Judges an observation of a case.
pub fn judge(case: &Case, observation: &Observation, promise: SubgroupPromise) -> Judgement {
    let (map, map_faults) = LaneMap::check(case, &observation.map, promise);
    let mut judgement = Judgement {
        verdict: Verdict::LaneMap,
        map_faults,
        counts: Counts::default(),
        op_use: Vec::new(),
        overflows: false,
    };
    let Some(map) = map else {
        if judgement.map_faults.is_empty() {
            // Subgroups that are none of a workgroup's, where that is allowed.
            judgement.verdict = Verdict::Vacuous;
        }
        return judgement;
    };
    let prediction = match predict_for(case, &map, observation) {
        Ok(prediction) => prediction,
        Err(not_defined) => {
            judgement.verdict = Verdict::Invalid(not_defined.0);
            return judgement;
        }
    };
    let (mismatch, counts) = compare(&prediction, &case.entry_point, &observation.logs);
    let (reached, sites) = prediction.sites_reached();
    judgement.counts = Counts { sites: sites as u64, sites_reached: reached as u64, ..counts };
    judgement.op_use = prediction.op_use();
    judgement.overflows = prediction.overflows();
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
        let broken = |prediction: Prediction| compare(&prediction, &case.entry_point, &observation.logs).0.is_some();
        validate(&case).is_ok() && predict_for(&case, map, observation).is_ok_and(broken)
    })
}

/// Where a lane's log first goes wrong.
struct Wrong {
    /// Its place in the prediction.
    group: usize,
    slot: usize,
    kind: Kind,
    entry: usize,
    /// Number of the event in the group; past the last one for [`Kind::Extra`].
    event: u32,
    rule: Option<TangleRule>,
    severity: Severity,
}

/// The first wrong entry of a lane.
struct WrongEntry {
    kind: Kind,
    entry: usize,
    /// The rule for tangles that it breaks.
    rule: Option<TangleRule>,
    severity: Severity,
}

/// Compares all logs with the prediction for a case with this entry point.
pub fn compare(prediction: &Prediction, entry_point: &EntryPoint, logs: &[Vec<u32>]) -> (Option<Mismatch>, Counts) {
    let mut counts = Counts::default();
    let mut wrong = Vec::new();
    let log_of = |group: &Group, slot: usize| {
        logs.get(entry_point.ordinal(group.layout.invocation(slot))).map_or(&[][..], Vec::as_slice)
    };
    for (g, group) in prediction.groups.iter().enumerate() {
        for slot in group.layout.live.slots() {
            if group.layout.stands_in(slot, entry_point) {
                continue;
            }
            let actual = log_of(group, slot);
            let fault = compare_lane(group, slot, actual, &mut counts);
            wrong.extend(fault.map(|fault| {
                let event = group.logs[slot].entries.get(fault.entry).map_or(u32::MAX, |&(_, event)| event);
                let WrongEntry { kind, entry, rule, severity } = fault;
                Wrong { group: g, slot, kind, entry, event, rule, severity }
            }));
        }
    }
    let Some(first) = wrong.iter().min_by_key(|wrong| (wrong.group, wrong.event)) else { return (None, counts) };
    let group = &prediction.groups[first.group];
    let mut mismatch = Mismatch {
        kind: first.kind,
        site: group.events.get(first.event as usize).map_or(0, |event| event.site),
        group: group.layout.group,
        expected_active: Vec::new(),
        actual_active: Vec::new(),
        lanes: Vec::new(),
        wrong_lanes: wrong.len() as u32,
        rule: None,
        severity: Severity::Quality,
        weakest_tier: None,
    };
    if let Some(event) = group.events.get(first.event as usize) {
        let mut came = event.active.clone();
        for other in wrong.iter().filter(|w| w.group == first.group && w.kind == Kind::Path) {
            let mut gone = crate::mask::Mask::empty(group.layout.slots);
            gone.insert(other.slot);
            if other.event <= first.event {
                came = came.minus(&gone);
            }
        }
        let sets = |mask| lanes_by_subgroup(&group.layout, mask).into_iter().map(|(s, m)| (s, LaneSet(m))).collect();
        mismatch.expected_active = sets(&event.active);
        mismatch.actual_active = sets(&came);
    }
    let here = |wrong: &&Wrong| wrong.group == first.group && wrong.event == first.event;
    for wrong in wrong.iter().filter(here) {
        mismatch.lanes.push(wrong_lane(group, wrong, log_of(group, wrong.slot)));
        mismatch.rule = mismatch.rule.or(wrong.rule);
        // One lane that is wrong by a sentence is enough.
        mismatch.severity = mismatch.severity.min(wrong.severity);
    }
    (Some(mismatch), counts)
}

fn wrong_lane(group: &Group, wrong: &Wrong, actual: &[u32]) -> WrongLane {
    let log = &group.logs[wrong.slot];
    let (subgroup, lane) = group.layout.lane_of(wrong.slot);
    let (start, end) = match log.entries.get(wrong.entry) {
        Some(&(start, _)) => (start, log.entry_end(wrong.entry)),
        None => (log.words.len() as u32, log.words.len() as u32),
    };
    let expected: Vec<Option<u32>> =
        (start..end).map(|at| log.tainted.binary_search(&at).is_err().then(|| log.words[at as usize])).collect();
    // Of an entry at another site a few words are shown, whatever was expected.
    let shown = if wrong.kind == Kind::Value { expected.len() } else { expected.len().max(4) };
    // A log ends with its last word that is not zero: of an entry that was begun the words behind it are zeros.
    let rest = if wrong.kind == Kind::Value { expected.len() } else { 0 };
    let found = actual.iter().copied().chain(std::iter::repeat_n(0, rest)).skip(start as usize).take(shown);
    WrongLane {
        subgroup,
        lane,
        index: group.layout.index[wrong.slot],
        entry: wrong.entry,
        expected,
        actual: found.take_while(|&word| wrong.kind == Kind::Value || word != 0).collect(),
    }
}

/// Compares one lane entry by entry; gives the first wrong entry.
fn compare_lane(group: &Group, slot: usize, actual: &[u32], counts: &mut Counts) -> Option<WrongEntry> {
    let log = &group.logs[slot];
    let mut tainted = log.tainted.iter().copied().peekable();
    let mut adopted = log.adopted.iter().copied().peekable();
    for (i, &(start, event)) in log.entries.iter().enumerate() {
        let divergent = !group.events[event as usize].uniform.contains(slot);
        let (start, end) = (start as usize, log.entry_end(i) as usize);
        let values = (end - start - 1) as u64;
        if actual.get(start).copied().unwrap_or(0) != log.words[start] {
            counts.skipped += values + rest_of(log, i);
            return Some(WrongEntry { kind: Kind::Path, entry: i, rule: None, severity: log.rests_on(start) });
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
                let (rule, severity) = match status {
                    Some(Status::Broken(Broken { rule, severity })) => (Some(rule), severity.max(log.rests_on(start))),
                    _ => (None, log.rests_on(at)),
                };
                return Some(WrongEntry { kind: Kind::Value, entry: i, rule, severity });
            }
        }
    }
    let extra = actual.get(log.words.len()..).unwrap_or(&[]);
    if log.lost {
        counts.skipped += extra.iter().filter(|&&word| word != 0).count() as u64;
        return None;
    }
    let entry = log.entries.len();
    let wrong = WrongEntry { kind: Kind::Extra, entry, rule: None, severity: log.path };
    extra.iter().any(|&word| word != 0).then_some(wrong)
}

/// Values in the entries after entry `i`.
fn rest_of(log: &LaneLog, i: usize) -> u64 {
    let entries = log.entries.len() - i - 1;
    (log.words.len() - log.entry_end(i) as usize - entries) as u64
}
