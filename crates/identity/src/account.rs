//! What every lane had to do and what it did, step by step: what stories, pictures and exports are made from.
//!
//! A *step* is one execution of a log site by the lanes that are expected there together. Steps are numbered in an order of
//! execution, group by group. A lane's *entries* are the steps it has to take, in its own order; it is judged up to its
//! first wrong entry (rules D1 and D2: what a lane does afterwards says nothing).

use std::collections::{BTreeMap, BTreeSet};

use tangle_emit::Printed;
use tangle_emit::glsl::parts;
use tangle_oracle::judge::{Kind, Observation};
use tangle_oracle::map::LaneMap;
use tangle_oracle::observed::TangleRule;
use tangle_oracle::predict::{NotDefined, predict, predict_for};
use tangle_program::case::{Case, GroupId, InvocationId};
use tangle_program::subgroup::{SubgroupOp, lanes};
use tangle_program::tree::{Expr, SiteId, Stmt, VarId, walk_block};
use tangle_program::types::{Scalar, ScalarKind, Type};

/// An observation point of the program.
#[derive(Clone, Debug)]
pub struct Site {
    /// The number that it logs, unique in the program.
    pub id: SiteId,
    /// The line of the shader, from 1.
    pub line: usize,
    /// That line without indentation.
    pub source: String,
    /// What is logged, word by word.
    pub values: Vec<Logged>,
}

/// One word that the site logs; a vector or a 64-bit value takes several.
#[derive(Clone, Debug)]
pub struct Logged {
    /// The logged expression as it is printed.
    pub text: String,
    /// The type to show it in.
    pub scalar: Scalar,
    /// The subgroup operation whose result it is: in the expression itself, or in what was last assigned to the variable.
    pub operation: Option<SubgroupOp>,
}

/// The observation points of a case, by number.
pub type Sites = BTreeMap<SiteId, Site>;

/// One execution of a log site.
#[derive(Clone, Debug)]
pub struct Step {
    /// The group of invocations.
    pub group: GroupId,
    /// The site that is executed.
    pub site: SiteId,
    /// The expected lanes: number of the subgroup, lane mask.
    pub active: Vec<(usize, u128)>,
    /// Its number; `None` if nothing is logged there ([`crate::flow`]).
    pub number: Option<usize>,
}

/// An entry that a lane has to log.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The step it belongs to.
    pub step: usize,
    /// Where it stands in the lane's log.
    pub at: usize,
    /// Its words, the site first; `None` where nothing is compared. Empty if nothing is logged there ([`crate::flow`]).
    pub words: Vec<Option<u32>>,
    /// Where nothing is logged: the value of the counter of the loop whose body begins here.
    pub counter: Option<u32>,
}

/// Where a lane first goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// A value, a path, or entries after the end.
    pub kind: Kind,
    /// Number of the entry; one past the last for [`Kind::Extra`].
    pub entry: usize,
}

/// One invocation of a subgroup: what it had to log, and what it logged.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Where its log and its record of the lane map stand in the buffers.
    pub invocation: InvocationId,
    /// Number of the subgroup in its group.
    pub subgroup: usize,
    /// `gl_SubgroupInvocationID`
    pub lane: usize,
    /// True if it is a helper invocation at entry.
    pub is_helper: bool,
    /// True if its place is a fragment's in another quad, so that the log there is not its own.
    pub stands_in: bool,
    /// What it has to log.
    pub entries: Vec<Entry>,
    /// True if more may follow in an unknown way.
    pub open_end: bool,
    /// What it logged; zeros at the end may be left out.
    pub actual: Vec<u32>,
    /// Where it goes wrong, if it does.
    pub wrong: Option<Wrong>,
    /// Words of which several values are legal, but not the one observed; by their place in the log.
    pub rules: Vec<(usize, TangleRule)>,
}

/// The state of a lane at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// It is not expected here, and is not.
    Absent,
    /// It is here, and everything that is compared is right.
    Right,
    /// It is here; nothing, or not everything, that it logged is compared.
    Open,
    /// It is expected here; nothing is logged.
    Unseen,
    /// It is here with a wrong value: its first wrong step.
    WrongValue,
    /// It is expected here, and went elsewhere or ended: its first wrong step.
    Missing,
    /// It is here and expected elsewhere: its first wrong step was another.
    Intruder,
    /// It is expected here, after its first wrong step: nothing is said about it.
    NotJudged,
}

/// The first wrong step, or the end of the program if lanes go on after it.
#[derive(Clone, Debug)]
pub struct First {
    /// How it is wrong.
    pub kind: Kind,
    /// The group of invocations.
    pub group: GroupId,
    /// Number of the step; `None` after the last one.
    pub step: Option<usize>,
    /// Indices of the lanes that are wrong here.
    pub lanes: Vec<usize>,
}

/// What every lane had to do, and what it did.
#[derive(Clone, Debug)]
pub struct Account<'a> {
    /// The case whose execution this is.
    pub case: &'a Case,
    /// Its shader, in the language of its variant, with the line of each statement.
    pub printed: Printed<'a>,
    /// Its observation points, by number.
    pub sites: Sites,
    /// Who sits where: the lane map that the expectations were computed for.
    pub map: LaneMap,
    /// Everything that has to happen, in an order of execution.
    pub steps: Vec<Step>,
    /// Group by group, subgroup by subgroup.
    pub lanes: Vec<Lane>,
    /// True if there is an observation: without one no lane is wrong.
    pub observed: bool,
}

impl<'a> Account<'a> {
    /// What has to happen on a lane map, and what did.
    ///
    /// # Errors
    /// If the case has undefined behaviour on this map.
    pub fn new(case: &'a Case, map: LaneMap, observation: Option<&Observation>) -> Result<Account<'a>, NotDefined> {
        let prediction = match observation {
            Some(seen) => predict_for(case, &map, seen)?,
            None => predict(case, &map)?,
        };
        let steps = prediction.events().enumerate().map(|(number, event)| Step {
            group: event.group,
            site: event.site,
            active: event.active,
            number: Some(number),
        });
        let lanes = prediction.logs().into_iter().map(|log| {
            let ends = log.entries.iter().skip(1).map(|&(at, _)| at).chain([log.words.len()]);
            let entry = |(&(at, step), end): (&(usize, usize), usize)| Entry {
                step,
                at,
                words: log.words[at..end].to_vec(),
                counter: None,
            };
            let ordinal = case.entry_point.ordinal(log.invocation);
            let layout = &map.groups[log.invocation.group.index()];
            let slot = layout.subgroups[log.subgroup].first + log.lane;
            let stands_in = layout.stands_in(slot, &case.entry_point);
            let seen = observation.filter(|_| !stands_in);
            let actual = seen.and_then(|seen| seen.logs.get(ordinal)).cloned().unwrap_or_default();
            let mut lane = Lane {
                invocation: log.invocation,
                subgroup: log.subgroup,
                lane: log.lane,
                is_helper: layout.helpers.contains(slot),
                stands_in,
                entries: log.entries.iter().zip(ends).map(entry).collect(),
                open_end: log.open_end,
                actual,
                wrong: None,
                rules: log.rules,
            };
            lane.wrong = seen.and_then(|_| lane.first_wrong());
            lane
        });
        let printed = tangle_emit::print(case);
        Ok(Account {
            sites: sites(case, &printed),
            printed,
            steps: steps.collect(),
            lanes: lanes.collect(),
            map,
            case,
            observed: observation.is_some(),
        })
    }

    /// The first wrong step.
    pub fn first(&self) -> Option<First> {
        let place = |lane: &Lane| Some((lane.invocation.group, lane.wrong_step()?));
        let (group, step) = self.lanes.iter().filter_map(place).min()?;
        let here = |(_, lane): &(usize, &Lane)| place(lane) == Some((group, step));
        let lanes: Vec<usize> = self.lanes.iter().enumerate().filter(here).map(|(index, _)| index).collect();
        let kind = self.lanes[*lanes.first()?].wrong?.kind;
        Some(First { kind, group, step: (step != usize::MAX).then_some(step), lanes })
    }

    /// Lanes of the dispatch that go wrong anywhere.
    pub fn wrong_lanes(&self) -> usize {
        self.lanes.iter().filter(|lane| lane.wrong.is_some()).count()
    }

    /// Whose log is at each [place](tangle_program::case::EntryPoint::ordinal). No lane is there where nothing is known of an invocation.
    pub fn by_ordinal(&self) -> Vec<Option<&Lane>> {
        let mut places = vec![None; self.case.entry_point.invocations() as usize];
        for lane in self.lanes.iter().filter(|lane| !lane.stands_in) {
            places[self.case.entry_point.ordinal(lane.invocation)] = Some(lane);
        }
        places
    }

    /// The site of a step.
    pub fn site(&self, step: usize) -> Option<&Site> {
        self.sites.get(&self.steps.get(step)?.site)
    }

    /// What a lane logged instead of what it had to at its first wrong step: the site, and the words after it. `None` if it
    /// logged nothing more.
    pub fn instead(&self, lane: &Lane) -> Option<(SiteId, Vec<u32>)> {
        let wrong = lane.wrong?;
        let at = lane.entries.get(wrong.entry).map_or(lane.expected_words(), |entry| entry.at);
        let site = lane.actual.get(at).copied().filter(|&site| site != 0)?;
        let words = self.sites.get(&site).map_or(0, |site| site.values.len());
        Some((site, (0..words).map(|i| lane.actual_word(at + 1 + i)).collect()))
    }

    /// The state of every lane of a step's group, by index of the lane.
    pub fn states(&self, step: usize) -> BTreeMap<usize, State> {
        let Some(Step { group, site, active, .. }) = self.steps.get(step) else { return BTreeMap::new() };
        let here: BTreeSet<(usize, usize)> =
            active.iter().flat_map(|&(subgroup, mask)| lanes(mask).map(move |lane| (subgroup, lane))).collect();
        let of_group = self.lanes.iter().enumerate().filter(|(_, lane)| lane.invocation.group == *group);
        let state = |lane: &Lane| {
            if here.contains(&(lane.subgroup, lane.lane)) {
                return lane.state(step);
            }
            // Steps have no time of their own for a lane that is not part of them. An intruder is shown where the lanes stand that
            // it joins: at the first step of this site after its last right one.
            if self.is_intruder(lane, step, *site) { State::Intruder } else { State::Absent }
        };
        of_group.map(|(index, lane)| (index, state(lane))).collect()
    }

    fn is_intruder(&self, lane: &Lane, step: usize, site: SiteId) -> bool {
        let Some(Wrong { kind: Kind::Path | Kind::Extra, entry }) = lane.wrong else { return false };
        if self.instead(lane).is_none_or(|(went_to, _)| went_to != site) {
            return false;
        }
        let from = entry.checked_sub(1).map_or(0, |last| lane.entries[last].step + 1);
        let joined = self.steps[from..].iter().position(|s| s.group == lane.invocation.group && s.site == site);
        joined.is_some_and(|at| from + at == step)
    }
}

impl Lane {
    /// True if both are of one subgroup.
    pub fn is_beside(&self, other: &Lane) -> bool {
        (self.invocation.group, self.subgroup) == (other.invocation.group, other.subgroup)
    }

    /// The step where the lane first goes wrong; the largest number if that is after its last one.
    pub fn wrong_step(&self) -> Option<usize> {
        Some(self.entries.get(self.wrong?.entry).map_or(usize::MAX, |entry| entry.step))
    }

    /// The last entry before the lane goes wrong.
    pub fn last_right(&self) -> Option<&Entry> {
        self.entries.get(self.wrong?.entry.checked_sub(1)?)
    }

    /// The word of the log at an index.
    pub fn actual_word(&self, at: usize) -> u32 {
        self.actual.get(at).copied().unwrap_or(0)
    }

    /// How many words the lane has to log.
    pub fn expected_words(&self) -> usize {
        self.entries.last().map_or(0, |entry| entry.at + entry.words.len())
    }

    /// The first word of an entry that is not what it has to be.
    pub fn first_difference(&self, entry: &Entry) -> Option<usize> {
        let differs =
            |(i, word): (usize, &Option<u32>)| word.is_some_and(|word| word != self.actual_word(entry.at + i));
        entry.words.iter().enumerate().position(differs)
    }

    /// The rule for tangles that its first wrong word breaks, if the tier leaves the tangle open there.
    pub fn broken_rule(&self) -> Option<TangleRule> {
        let entry = self.entries.get(self.wrong?.entry)?;
        let at = entry.at + self.first_difference(entry)?;
        self.rules.iter().find(|(word, _)| *word == at).map(|&(_, rule)| rule)
    }

    /// Finds the first wrong entry, as [`tangle_oracle::judge::compare`] does.
    fn first_wrong(&self) -> Option<Wrong> {
        for (i, entry) in self.entries.iter().enumerate() {
            match self.first_difference(entry) {
                Some(0) => return Some(Wrong { kind: Kind::Path, entry: i }),
                Some(_) => return Some(Wrong { kind: Kind::Value, entry: i }),
                None => {}
            }
        }
        let mut rest = self.actual.iter().skip(self.expected_words());
        let extra = !self.open_end && rest.any(|&word| word != 0);
        extra.then_some(Wrong { kind: Kind::Extra, entry: self.entries.len() })
    }

    /// The state at a step that the lane has to take.
    fn state(&self, step: usize) -> State {
        let Ok(number) = self.entries.binary_search_by_key(&step, |entry| entry.step) else { return State::Absent };
        let is_open = self.entries[number].words.contains(&None);
        match self.wrong {
            Some(wrong) if number == wrong.entry && wrong.kind == Kind::Path => State::Missing,
            Some(wrong) if number == wrong.entry => State::WrongValue,
            Some(wrong) if number > wrong.entry => State::NotJudged,
            _ if self.entries[number].words.is_empty() => State::Unseen,
            _ if is_open => State::Open,
            _ => State::Right,
        }
    }
}

/// The observation points of a case.
pub fn sites(case: &Case, printed: &Printed<'_>) -> Sites {
    let lines: Vec<&str> = printed.text.lines().collect();
    let mut sites = Sites::new();
    for function in &case.program.functions {
        let mut last_assigned = BTreeMap::<VarId, &Expr>::new();
        walk_block(&function.body, &mut |stmt| match stmt {
            Stmt::Assign { var, value } => drop(last_assigned.insert(*var, value)),
            Stmt::Log { site, values } => {
                let line = printed.line_of_site(*site).unwrap_or(0);
                let source = lines.get(line.wrapping_sub(1)).map_or("", |line| line.trim());
                let words = values.iter().flat_map(|value| {
                    let computed = match value {
                        Expr::Var(var) => last_assigned.get(var).copied().unwrap_or(value),
                        other => other,
                    };
                    let ty = value.ty(function).unwrap_or(Type::UINT);
                    components(&tangle_emit::expression(case, function, value), ty, operation_in(computed))
                });
                sites.insert(*site, Site { id: *site, line, source: source.into(), values: words.collect() });
            }
            _ => {}
        });
    }
    sites
}

fn components(text: &str, ty: Type, operation: Option<SubgroupOp>) -> Vec<Logged> {
    let logged = |text| Logged { text, scalar: ty.scalar, operation };
    let parts: Vec<String> = parts(ty).into_iter().map(|part| format!("{text}{part}")).collect();
    match ty.scalar.words() {
        1 => parts.into_iter().map(logged).collect(),
        _ => {
            parts.iter().flat_map(|part| ["low", "high"].map(|half| logged(format!("{part} ({half} word)")))).collect()
        }
    }
}

fn operation_in(expr: &Expr) -> Option<SubgroupOp> {
    let mut found = None;
    expr.walk(&mut |expr| {
        if let Expr::Subgroup(call) = expr {
            found.get_or_insert(call.op);
        }
    });
    found
}

/// A logged word as a value of its type: small numbers in decimal, others in hexadecimal.
pub fn show(word: u32, scalar: Scalar) -> String {
    match scalar.info().kind {
        // Half of a number.
        _ if scalar.words() > 1 => format!("{word:#x}"),
        ScalarKind::Bool if word < 2 => (word == 1).to_string(),
        ScalarKind::Signed if (word as i32).unsigned_abs() < 100_000 => (word as i32).to_string(),
        ScalarKind::Unsigned if word < 100_000 => word.to_string(),
        // Logged as a float of 32 bits; numbers of cases are quarters, and most others came out wrong.
        ScalarKind::Float if (f32::from_bits(word) * 4.0).fract() == 0.0 => format!("{:?}", f32::from_bits(word)),
        ScalarKind::Bool | ScalarKind::Signed | ScalarKind::Unsigned | ScalarKind::Float => format!("{word:#x}"),
    }
}
