//! The reference device: the machine behind the interface of a device.
//!
//! It takes a case and a lane map and gives an observation, as a driver would. With [`Spec`](crate::rules::Spec),
//! [`MinimalReconvergence`](crate::rules::MinimalReconvergence) or [`Drawn`](crate::rules::Drawn) it must pass every case; with a planted fault ([`crate::faults`]) it must not.

use tangle_program::case::Case;

use crate::judge::Observation;
use crate::lower::lower_as;
use crate::machine::{Machine, Pass};
use crate::map::LaneMap;
use crate::predict::{NotDefined, visitors};
use crate::rules::Rules;

/// Runs a case on a device with this lane map and behaviour. `rules` makes the behaviour of each group.
///
/// # Errors
/// If the case is ill-formed.
pub fn observe<R: Rules>(case: &Case, map: &LaneMap, mut rules: impl FnMut() -> R) -> Result<Observation, NotDefined> {
    let mut code = None;
    let mut logs = vec![Vec::new(); case.entry_point.invocations() as usize];
    for layout in &map.groups {
        let rules = rules();
        if code.is_none() {
            code = Some(lower_as(&case.program, rules.peephole(), rules.rewrite(), rules.bound()).map_err(NotDefined)?);
        }
        let Some(code) = &code else { continue };
        let visitors = if rules.has_open_operations() { visitors(case, code, layout)? } else { Vec::new() };
        let mut machine = Machine::new(case, code, layout, rules, Pass::Observe { visitors });
        machine.run()?;
        for slot in layout.live.slots() {
            let log = std::mem::take(&mut machine.logs[slot]);
            // A helper beside a fragment of the same place has no log of its own.
            if !log.words.is_empty() {
                logs[case.entry_point.ordinal(layout.invocation(slot))] = log.words;
            }
        }
    }
    let mut words = map.words(case);
    rules().map_written(&case.entry_point, &mut words);
    Ok(Observation { map: words, logs, open: Vec::new() })
}
