//! Keys of paths: which lanes have taken the same decisions since they were last uniform, and what is known of who is together.

use smallvec::SmallVec;
use tangle_program::case::Tier;
use tangle_program::subgroup::{Reach, Severity, lanes};
use tangle_program::variant::Language;

use super::{Machine, Saved, mix};
use crate::lower::Decision;
use crate::mask::Mask;
use crate::rules::Rules;

impl<'a, R: Rules> Machine<'a, R> {
    /// The uniform groups of `u` all of whose lanes are in `lanes`.
    pub(super) fn whole(&self, u: &Mask, lanes: &Mask) -> Mask {
        if u.is_empty() || u.within(lanes) {
            return u.clone();
        }
        let mut whole = self.none();
        for group in &self.groups {
            if group.within(u) && group.within(lanes) {
                whole.add(group);
            }
        }
        whole
    }

    /// Control flow of these groups is uniform again: their paths start anew.
    pub(super) fn restart_paths(&mut self, uniform: &Mask) {
        if self.tier != Tier::Maximal && !uniform.is_empty() {
            self.epoch += 1;
            let start = mix(0, Decision::MAX, self.epoch);
            if self.reconverges {
                return self.set_paths(uniform, |_| start);
            }
            // Lanes of several graphics operations that have not parted go on as one (rule R2); else each operation is together again (rule I4).
            let layout = self.layout;
            for subgroup in &layout.subgroups {
                let here = lanes(uniform.lanes(subgroup.first, subgroup.size)).map(|lane| subgroup.first + lane);
                let operations = here.filter_map(|slot| {
                    let [x, y] = self.case.entry_point.operation(layout.invocation(slot))?;
                    Some((slot, mix(mix(start, Decision::MAX, x.into()), Decision::MAX, y.into())))
                });
                let operations: SmallVec<[(usize, u64); 32]> = operations.collect();
                let restart = |paths: &mut [u64]| {
                    let one = operations.first().map(|&(slot, _)| paths[slot]);
                    let together = operations.iter().all(|&(slot, _)| Some(paths[slot]) == one);
                    operations.iter().for_each(|&(slot, own)| paths[slot] = if together { start } else { own });
                };
                restart(&mut self.keys);
                if let Some(trace) = &mut self.trace {
                    restart(&mut trace.paths);
                }
            }
        }
    }

    /// Where control flow is uniform for the whole draw or workgroup: what it is known by that the parts of a tangle that an operation waits for are
    /// together. They are if it has come back for them, or if they have followed one path.
    pub(super) fn together_by(&self, first: usize, reach: Reach, tangle: u128) -> Option<Severity> {
        if self.reconverges {
            return Some(self.in_its_language(Severity::Hard));
        }
        let is_one_path = |mut keys: SmallVec<[u64; 8]>| {
            keys.dedup();
            keys.len() <= 1
        };
        let keys = |part: u128| lanes(part).map(|lane| self.keys[first + lane]).collect();
        let together = reach.waiting(tangle).all(|part| is_one_path(keys(part)));
        let live = &self.layout.live;
        let has_come_back = self.case.entry_point.operation(self.layout.invocation(first)).is_some();
        let is_hard = has_come_back || is_one_path(live.slots().map(|slot| self.keys[slot]).collect());
        together.then_some(self.in_its_language(if is_hard { Severity::Hard } else { Severity::Strong }))
    }

    /// What is known of who is together, in the language of the shader: in WGSL no sentence says it any more once a decision has been made (rule E9).
    fn in_its_language(&self, severity: Severity) -> Severity {
        match self.has_decided && self.case.variant.language() == Language::Wgsl {
            true => severity.max(Severity::Strong),
            false => severity,
        }
    }

    fn set_paths(&mut self, lanes: &Mask, path: impl Fn(u64) -> u64) {
        for slot in lanes.slots() {
            self.keys[slot] = path(self.keys[slot]);
            if let Some(trace) = &mut self.trace {
                trace.paths[slot] = path(trace.paths[slot]);
            }
        }
    }

    pub(super) fn note_path(&mut self, decision: Decision, lanes: &Mask, value: u64) {
        self.has_decided = true;
        if self.tier != Tier::Maximal {
            self.set_paths(lanes, |path| mix(path, decision, value));
        }
    }

    /// Keys as they are now, to be put back where tier maximal reconverges.
    pub(super) fn saved_keys(&self) -> Option<Saved> {
        (self.keyed && self.tier == Tier::Maximal)
            .then(|| (self.keys.clone(), self.trace.as_ref().map_or_else(Vec::new, |trace| trace.paths.clone())))
    }

    pub(super) fn restore_keys(&mut self, saved: &Option<Saved>, lanes: &Mask) {
        let Some((keys, paths)) = saved else { return };
        lanes.slots().for_each(|slot| self.keys[slot] = keys[slot]);
        if let Some(trace) = &mut self.trace {
            lanes.slots().for_each(|slot| trace.paths[slot] = paths[slot]);
        }
    }
}
