//! Which step changed what a program means, shown by executing modules: that of the front end, those of `spirv-opt` pass by pass, and that the
//! driver got.
//!
//! ```text
//!   tree ──► front end ──► pass 1 ──► … ──► pass n ──► driver
//!   oracle    module 0     module 1        module n    log of the device
//! ```
//!
//! All are executed by the interpreter with the lane map that the device showed. A step is blamed where two neighbours differ in a word that both
//! determine. What the interpreter holds open proves nothing, and the vote of the devices stands ([`tangle_identity::stage`]).

use tangle_identity::Kind;
use tangle_identity::stage::{Blame, Proof, Stage};
use tangle_interpreter as spirv;
use tangle_oracle::judge::{Observation, Verdict, judge};
use tangle_oracle::map::LaneMap;
use tangle_program::case::Case;
use tangle_program::case::interface::{MAP_WORDS, NOT_OBSERVED};
use tangle_program::subgroup::lanes;
use tangle_program::variant::single_passes;

use crate::executor::interpreter::{Places, Stopped, draw_of, execute};
use crate::prepare::{Prepared, made};
use crate::target::{Conclusion, Finish, Target};

/// What the interpreter makes of a module.
enum Executed {
    Leaves(Observation),
    /// What no module of a valid case does: undefined behaviour, or no end.
    Misbehaves(String),
}

/// Who changed the meaning of a case that fails on a device; `None` if that cannot be shown.
pub fn prove(target: &Target, prepared: &Prepared, conclusion: &Conclusion) -> Option<Proof> {
    let case = &prepared.case;
    // A device that makes its module itself shows nothing about this one.
    let own_module = target.has_front_end() && case.variant.may_be_text();
    if !target.runs_modules() || own_module || target.executor.front_end().is_some() {
        return None;
    }
    let kind = conclusion.signature(case)?.kind;
    let (places, seen) = match (&conclusion.finish, &conclusion.observation) {
        (_, Some(observation)) if matches!(kind, Kind::Value | Kind::Path) => {
            (places(target, case, &observation.map)?, Some(observation))
        }
        // The interpreter as a device stopped at it; nothing was read back.
        (Finish::Undefined { .. } | Finish::Endless { .. }, None) => {
            let size = target.capabilities.sizes.default;
            let in_workgroups = || spirv::LaneMap::linear(case.entry_point.group_size(), size);
            (Places::of(case, size, in_workgroups), None)
        }
        _ => return None,
    };
    let run = Run { target, prepared, places };
    let blame = run.blame(seen)?;
    Some(Proof { device: target.name.clone(), blame })
}

/// Where the invocations of a device sit, for the interpreter.
fn places(target: &Target, case: &Case, words: &[u32]) -> Option<Places> {
    let (Some(map), faults) = LaneMap::check(case, words, target.capabilities.sizes) else { return None };
    if !case.entry_point.stage.has_workgroups() {
        // Of helpers that are not there where they have to be, and of what nothing is known, the interpreter knows as little.
        return if faults.is_empty() { places_of_draw(case, &map) } else { None };
    }
    let mut size = 0;
    let mut workgroups = Vec::new();
    for layout in &map.groups {
        let mut places = vec![None; case.entry_point.group_size() as usize];
        for (number, subgroup) in (0u32..).zip(&layout.subgroups) {
            size = subgroup.size as u32;
            for lane in lanes(subgroup.live) {
                let invocation = layout.invocation(subgroup.first + lane);
                let record = words.get(case.entry_point.ordinal(invocation) * MAP_WORDS..)?;
                let reported = |word: u32, otherwise: u32| if word == NOT_OBSERVED { otherwise } else { word };
                *places.get_mut(invocation.index as usize)? = Some(spirv::LanePosition {
                    subgroup: number,
                    lane: lane as u32,
                    subgroup_id: reported(*record.get(2)?, number),
                    num_subgroups: reported(*record.get(3)?, layout.subgroups.len() as u32),
                });
            }
        }
        workgroups.push(places.into_iter().collect::<Option<Vec<_>>>()?);
    }
    Some(Places { lane_map: spirv::LaneMap { subgroup_size: size, workgroups }, draw: spirv::Draw::default() })
}

/// The same of a draw: each lane that is there, and whether it began as a helper.
fn places_of_draw(case: &Case, map: &LaneMap) -> Option<Places> {
    let [layout] = map.groups.as_slice() else { return None };
    if layout.others.iter().any(|&others| others != 0) {
        return None;
    }
    let size = layout.subgroups.first()?.size as u32;
    let (mut places, mut invocations) = (Vec::new(), Vec::new());
    for (number, subgroup) in (0..).zip(&layout.subgroups) {
        for lane in lanes(subgroup.live) {
            let slot = subgroup.first + lane;
            // Which of several executions of one item counts first is not known.
            let is_again = || case.entry_point.workgroups().position(layout.index[slot])[2] > 0;
            if case.entry_point.items().is_some() && is_again() {
                return None;
            }
            invocations.push((layout.invocation(slot).index, layout.helpers.contains(slot)));
            places.push(spirv::LanePosition { subgroup: number, lane: lane as u32, subgroup_id: 0, num_subgroups: 0 });
        }
    }
    let lane_map = spirv::LaneMap { subgroup_size: size, workgroups: vec![places] };
    Some(Places { lane_map, draw: draw_of(case, invocations) })
}

struct Run<'a> {
    target: &'a Target,
    prepared: &'a Prepared,
    places: Places,
}

impl Run<'_> {
    fn blame(&self, seen: Option<&Observation>) -> Option<Blame> {
        let last = self.execute(&self.prepared.spirv)?;
        if let (Some(seen), Executed::Leaves(right)) = (seen, &last)
            && let Some(word) = difference(right, seen)
        {
            return Some(Blame::new(
                Stage::Driver,
                format!("the interpreter executed its module with the same lane map, and {word}"),
            ));
        }
        // The driver did what its module says, as far as that is determined: the module is wrong, or nothing is shown.
        let passes = self.passes();
        let first = if passes.is_empty() { None } else { Some(self.module(&[])?) };
        let source = match &first {
            None => &last,
            Some(module) => module,
        };
        if let Some(how) = self.is_wrong(source) {
            let variant = &self.prepared.case.variant;
            let stage = match variant.front_end() {
                Some(_) => Stage::Compiler,
                None if variant.is_printed() => Stage::Printer,
                None => Stage::FrontEnd,
            };
            return Some(Blame::new(stage, format!("the interpreter executed its module, and {how}")));
        }
        let first = first?;
        self.of_passes(&passes, first, last)
    }

    /// Between the first module and the last, which differ: the pass that did it.
    fn of_passes(&self, passes: &[String], first: Executed, last: Executed) -> Option<Blame> {
        changed(&first, &last)?;
        // `before` means what the first module means, `after` something else.
        let (mut low, mut before) = (0, None);
        let (mut high, mut after) = (passes.len(), last);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let Some(module) = self.module(&passes[..middle]) else { break };
            if changed(&first, &module).is_some() {
                (high, after) = (middle, module);
            } else {
                (low, before) = (middle, Some(module));
            }
        }
        let shown = changed(before.as_ref().unwrap_or(&first), &after);
        let how = match &shown {
            Some(how) => how.clone(),
            None => changed(&first, &after)?,
        };
        let of = format!("of {}", passes.len());
        let who = match (high - low, shown.is_some()) {
            (1, true) if passes.len() == 1 => passes[0].clone(),
            (1, true) => format!("{}, pass {high} {of}", passes[high - 1]),
            // The word is open in between.
            (1, false) => format!("{}, pass {high} {of}, or one before it", passes[high - 1]),
            _ => format!("one of the passes {} to {high} {of}, {} to {}", low + 1, passes[low], passes[high - 1]),
        };
        Some(Blame::new(
            Stage::Optimiser,
            format!("{who}: the interpreter executed the modules before and after it, and {how}"),
        ))
    }

    /// The passes of the case's module one by one; all in one where that makes another module.
    fn passes(&self) -> Vec<String> {
        let flags = self.prepared.case.variant.flags();
        let single = single_passes(&flags);
        let same = flags == single || self.make(&single).is_some_and(|module| module == self.prepared.spirv);
        if same { single } else { flags }
    }

    fn make(&self, flags: &[String]) -> Option<Vec<u32>> {
        made(&self.prepared.case, &self.prepared.shader, flags).ok()
    }

    fn module(&self, flags: &[String]) -> Option<Executed> {
        self.execute(&self.make(flags)?)
    }

    fn execute(&self, module: &[u32]) -> Option<Executed> {
        let prepared = Prepared { spirv: module.to_vec(), ..self.prepared.clone() };
        match execute(&prepared, &self.places) {
            Ok(observation) => Some(Executed::Leaves(observation)),
            Err(Stopped::Undefined(_, met)) => {
                Some(Executed::Misbehaves(format!("it has undefined behaviour, and the program has none: {met}")))
            }
            Err(Stopped::Endless(_, place)) => {
                Some(Executed::Misbehaves(format!("it does not end, and the program does: {place}")))
            }
            Err(Stopped::Unsupported(_)) => None,
        }
    }

    /// How a module is not what the program means, by the oracle of the tree.
    fn is_wrong(&self, executed: &Executed) -> Option<String> {
        let observation = match executed {
            Executed::Misbehaves(how) => return Some(how.clone()),
            Executed::Leaves(observation) => observation,
        };
        match judge(&self.prepared.case, observation, self.target.capabilities.sizes).verdict {
            Verdict::Mismatch(mismatch) => Some(match mismatch.site {
                0 => "it logs more than the program does".to_owned(),
                site => format!("it does something else than the program at site {site}"),
            }),
            Verdict::Pass | Verdict::Vacuous | Verdict::LaneMap | Verdict::Invalid(_) => None,
        }
    }
}

/// How the second module means something else than the first.
fn changed(first: &Executed, second: &Executed) -> Option<String> {
    match (first, second) {
        (Executed::Leaves(first), Executed::Leaves(second)) => difference(first, second),
        (Executed::Leaves(_), Executed::Misbehaves(how)) => Some(how.clone()),
        (Executed::Misbehaves(_), _) => None,
    }
}

/// The first word of the logs that is determined in both, and differs.
fn difference(expected: &Observation, seen: &Observation) -> Option<String> {
    let word = |slices: &[Vec<u32>], lane: usize, at: usize| {
        slices.get(lane).and_then(|slice| slice.get(at)).copied().unwrap_or(0)
    };
    let lanes = expected.logs.len().max(seen.logs.len());
    (0..lanes).find_map(|lane| {
        let len = |observation: &Observation| observation.logs.get(lane).map_or(0, Vec::len);
        (0..len(expected).max(len(seen))).find_map(|at| {
            let is_open = word(&expected.open, lane, at) != 0 || word(&seen.open, lane, at) != 0;
            let (right, wrong) = (word(&expected.logs, lane, at), word(&seen.logs, lane, at));
            (right != wrong && !is_open)
                .then(|| format!("word {at} of invocation {lane}'s log has to be {right:#x}, not {wrong:#x}"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_both_determine_differs() {
        let log = |words: &[u32], open: &[u32]| Observation {
            map: Vec::new(),
            logs: vec![Vec::new(), words.to_vec()],
            open: vec![Vec::new(), open.to_vec()],
        };
        let table: &[(&[u32], &[u32], &[u32], &[u32], Option<&str>)] = &[
            (&[1, 2], &[], &[1, 2], &[], None),
            // Zeros at the end may be left out.
            (&[1, 0], &[], &[1], &[], None),
            (&[1, 2], &[], &[1, 3], &[], Some("word 1 of invocation 1's log has to be 0x2, not 0x3")),
            (&[1], &[], &[1, 3], &[], Some("word 1 of invocation 1's log has to be 0x0, not 0x3")),
            (&[1, 2], &[0, 1], &[1, 3], &[], None),
            (&[1, 2], &[], &[1, 3], &[0, 1], None),
        ];
        for (right, right_open, wrong, wrong_open, expected) in table {
            let found = difference(&log(right, right_open), &log(wrong, wrong_open));
            assert_eq!(found.as_deref(), *expected, "{right:?} {wrong:?}");
        }
    }
}
