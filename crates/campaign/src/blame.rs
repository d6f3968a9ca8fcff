//! What makes a failing case pass: a driver's own switches, `VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT`, single passes of `spirv-opt`, one at a
//! time ([`tangle_identity::switches`]).
//!
//! A case that fails intermittently says nothing: it has to fail each time, before the switches are tried and after. A switch makes it pass if it passes
//! each time; what fails in another way, or cannot run, is left open.

use anyhow::ensure;
use tangle_identity::switches::{Switch, Switches, Variable};
use tangle_identity::{DriverId, Signature};
use tangle_program::case::Case;
use tangle_program::variant::{PASSES, Variant};

use crate::bisect::Answer;
use crate::prepare::{Prep, prepare};
use crate::target::{Conclusion, Target};

/// Runs without a switch, and those of a switch with which it passes.
const RUNS: u32 = 3;

/// Opens the device with one variable of its driver set to something else.
pub type Switched<'a> = dyn Fn(&Variable) -> anyhow::Result<Target> + 'a;

/// Tries all switches. `signature` is the failure that counts; without one, what the first run shows.
///
/// # Errors
/// If the case does not fail each time on the device as it is.
pub fn blame(
    target: &Target,
    case: &Case,
    signature: Option<&Signature>,
    variables: &[Variable],
    open: &Switched<'_>,
) -> anyhow::Result<Switches> {
    let own = Prep::of(target.dressed(case).into_owned());
    let seen = if signature.is_none() { run(target, &own).signature(own.case()) } else { None };
    let signature = signature.or(seen.as_ref());
    let fails = |when: &str| -> anyhow::Result<()> {
        for run in 1..=RUNS {
            let answer = one(target, &own, signature);
            ensure!(answer == Answer::Bad, "{} {when}, in run {run} of {RUNS} it {}", target.name, answer.words());
        }
        Ok(())
    };
    fails("does not show it each time")?;
    let DriverId { name, version } = target.driver_id();
    let mut switches = Switches { device: target.name.clone(), driver: name, version, ..Switches::default() };
    let size = |target: &Target| target.info["subgroup"]["size"].clone();
    for variable in variables {
        let (answer, is_same_size) = match open(variable) {
            Ok(switched) => (answer(&switched, &own, signature), size(&switched) == size(target)),
            // A driver that does not start with it.
            Err(_) => (Answer::Unknown, true),
        };
        enter(&mut switches, variable.into(), answer, is_same_size);
    }
    for variant in target.runs_modules().then(|| variants(&own.case().variant)).into_iter().flatten() {
        let changed = Case { variant: variant.clone(), ..own.case().clone() };
        let changed = match prepare(changed) {
            // A pass that changes nothing says nothing.
            Ok(prepared) if is_same_module(&prepared.spirv, &own) && !variant.disables_driver_optimisation() => {
                continue;
            }
            Ok(prepared) => Prep::Ready(prepared),
            Err(_) => {
                switches.says_nothing.push(Switch::Variant(variant));
                continue;
            }
        };
        enter(&mut switches, Switch::Variant(variant), answer(target, &changed, signature), true);
    }
    fails("has it no more after the switches were tried")?;
    Ok(switches)
}

fn enter(switches: &mut Switches, switch: Switch, answer: Answer, is_same_size: bool) {
    let list = match (answer, is_same_size) {
        (Answer::Good, true) => &mut switches.passes,
        (Answer::Good, false) => &mut switches.passes_in_another_size,
        (Answer::Bad, _) => &mut switches.fails,
        (Answer::Unknown, _) => &mut switches.says_nothing,
    };
    list.push(switch);
}

fn is_same_module(spirv: &[u32], own: &Prep) -> bool {
    matches!(own, Prep::Ready(prepared) if prepared.spirv == spirv)
}

/// The variants of a case that differ from its own in one thing.
fn variants(own: &Variant) -> Vec<Variant> {
    if own.is_printed() {
        // Any other has a module of another maker.
        return Vec::new();
    }
    let single = |pass: &&'static str| Variant::of_passes([*pass]);
    let mut all = match own.then() {
        Variant::Unoptimised => vec![Variant::DriverUnoptimised, Variant::Performance, Variant::Size],
        Variant::Module => vec![Variant::Unoptimised, Variant::Performance, Variant::Size],
        _ => vec![Variant::Unoptimised],
    };
    match own.then() {
        Variant::Passes(list) if list.len() > 1 => {
            let without =
                |at: usize| list.iter().enumerate().filter(move |(other, _)| *other != at).map(|(_, pass)| *pass);
            all.extend((0..list.len()).map(|at| Variant::of_passes(without(at))));
        }
        Variant::DriverUnoptimised => {}
        _ => all.extend(PASSES.iter().map(single)),
    }
    all.retain(|variant| variant != own.then());
    match own.front_end() {
        Some(front_end) => all.iter().map(|variant| variant.by(front_end.clone())).collect(),
        None => all,
    }
}

fn run(target: &Target, prep: &Prep) -> Conclusion {
    match prep {
        Prep::Ready(prepared) => target.run(prepared),
        Prep::Faulty(_, fault) => fault.into(),
    }
}

fn one(target: &Target, prep: &Prep, signature: Option<&Signature>) -> Answer {
    Answer::of(&run(target, prep), prep.case(), signature)
}

/// Good if it is each time.
fn answer(target: &Target, prep: &Prep, signature: Option<&Signature>) -> Answer {
    (0..RUNS).map(|_| one(target, prep, signature)).find(|answer| *answer != Answer::Good).unwrap_or(Answer::Good)
}

#[cfg(test)]
mod tests {
    use tangle_identity::switches::listed;

    use super::*;

    fn case(name: &str) -> Case {
        let file = format!("{}/../../corpus/vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
        Case::from_json(&std::fs::read_to_string(file).expect("it is there")).expect("a case of the corpus")
    }

    fn none(_: &Variable) -> anyhow::Result<Target> {
        anyhow::bail!("it has no switches")
    }

    #[test]
    fn what_passes_is_not_looked_into() {
        let target = Target::built_in("interpreter").expect("a device");
        let error = blame(&target, &case("V16"), None, &[], &none).expect_err("it passes");
        assert!(error.to_string().contains("in run 1 of 3 it passes"), "{error}");
    }

    #[test]
    fn a_switch_that_makes_it_pass_is_told_from_one_that_does_not() {
        let faulty = Target::built_in("reference:if_merge_loses_last_lane").expect("a device");
        let variable = |value: &str| Variable { name: "DEVICE".into(), value: value.into(), is_list: false };
        let values = ["reference", "reference:if_merge_loses_last_lane", "reference:nothing", "reference@16"];
        let open = |variable: &Variable| Target::built_in(&variable.value);
        let switches = blame(&faulty, &case("V16"), None, &values.map(variable), &open).expect("it fails");
        assert_eq!(switches.passes[0].to_string(), "DEVICE=reference");
        assert_eq!(listed(&switches.fails), "DEVICE=reference:if_merge_loses_last_lane");
        assert_eq!(listed(&switches.says_nothing), "DEVICE=reference:nothing");
    }

    #[test]
    fn one_thing_changes_at_a_time() {
        let passes = Variant::of_passes(["ccp", "vector-dce"]);
        assert_eq!(
            variants(&passes),
            [Variant::Unoptimised, Variant::of_passes(["vector-dce"]), Variant::of_passes(["ccp"])]
        );
        assert_eq!(variants(&Variant::DriverUnoptimised), [Variant::Unoptimised]);
        assert_eq!(variants(&Variant::Unoptimised).len(), 3 + PASSES.len());
        assert!(variants(&Variant::Unoptimised).iter().all(|variant| variant.unpromised().is_none()));
    }
}
