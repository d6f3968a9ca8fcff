//! What the `cargo fuzz` targets do with their bytes; the targets themselves only call this.
//!
//! A violated invariant, or a finding that is not known yet, ends in a panic, as libFuzzer wants it. The message begins with
//! what is the same for all inputs that show the same thing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use arbitrary::Unstructured;
use tangle_generator::{Config, Profile, generate};
use tangle_oracle::judge::{Judgement, Verdict, judge};
use tangle_oracle::map::{LaneMap, SizePromise};
use tangle_oracle::reference::observe;
use tangle_oracle::rules::{Finest, Rules, Spec};
use tangle_program::case::{Case, SubgroupSize, Tier};
use tangle_program::validate::validate;
use tangle_runner::Options;
use tangle_triage::Signature;

use crate::campaign::{Prep, finding};
use crate::plan::{Choice, Plan};
use crate::prepare::prepare;
use crate::target::{Jobs, Target, open};

/// Subgroup sizes that `predict` tries where the case requires none.
const SIZES: [u32; 3] = [4, 8, 32];

/// Generate → validate → JSON → print → compile → predict at several subgroup sizes, and the reference device passes. No driver.
///
/// # Panics
/// If an invariant of tangle itself does not hold.
pub fn predict(bytes: &[u8]) {
    let (&tier, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let (&profile, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let config = Config {
        tier: Tier::ALL[usize::from(tier) % Tier::ALL.len()],
        profile: Profile::ALL[usize::from(profile) % Profile::ALL.len()].0,
        required_sizes: vec![4, 8, 16, 32, 64],
        ..Config::default()
    };
    let make = || generate(&mut Unstructured::new(bytes), &config);
    let Ok(case) = make() else { return };
    assert_eq!(Ok(&case), make().as_ref(), "the generator is not deterministic");
    if let Err(invalid) = validate(&case) {
        panic!("the generator made an invalid case: {invalid}");
    }
    let read = Case::from_json(&case.to_json()).unwrap_or_else(|error| panic!("a case does not read back: {error}"));
    assert_eq!(case, read, "a case changes in JSON");
    let prepared = prepare(case).unwrap_or_else(|fault| panic!("toolchain: {fault}\n{}", fault.glsl));
    for size in SIZES {
        passes(&prepared.case, size, || Spec);
        passes(&prepared.case, size, || Finest);
    }
}

fn passes<R: Rules>(case: &Case, size: u32, rules: impl FnMut() -> R) {
    let size = if let SubgroupSize::Required(required) = case.launch.subgroup_size { required } else { size };
    let map = LaneMap::linear(case, size);
    let observation = match observe(case, &map, rules) {
        Ok(observation) => observation,
        Err(error) => panic!("the reference device cannot run a valid case: {error}"),
    };
    let Judgement { verdict, map_faults, .. } =
        judge(case, &observation, SizePromise { default: size, min: size.min(4), max: 128 });
    let fine = matches!(verdict, Verdict::Pass | Verdict::Vacuous) && map_faults.is_empty();
    assert!(fine, "a correct device does not pass: {verdict:?} {map_faults:?}");
}

/// Becomes a worker if this process is one. To be called first.
pub fn init() {
    tangle_runner::worker::run_if_requested();
}

struct Devices {
    targets: Vec<Target>,
    plan: Plan,
    out: PathBuf,
}

// Device handles are used under one lock, since libFuzzer runs one input at a time.
static DEVICES: OnceLock<Mutex<Devices>> = OnceLock::new();
static KNOWN: Mutex<BTreeSet<(String, Signature)>> = Mutex::new(BTreeSet::new());

/// Generate → run on every device → judge. `TANGLE_FUZZ_DEVICES` names the devices, with commas between; without it all
/// Vulkan devices are used. Findings are saved in `TANGLE_FUZZ_OUT` (default: `tangle-out`). With `TANGLE_FUZZ_KEEP_GOING=1` only the first
/// finding of each signature of a process panics no more than it is printed: the run goes on.
///
/// # Panics
/// On a finding, and if no device can be opened.
pub fn judge_on_devices(bytes: &[u8]) {
    let devices = DEVICES.get_or_init(|| Mutex::new(open_devices()));
    let devices = devices.lock().unwrap_or_else(PoisonError::into_inner);
    let Ok(case) = devices.plan.case_from_bytes(&mut Unstructured::new(bytes)) else { return };
    let prep = match prepare(case.clone()) {
        Ok(prepared) => Prep::Ready(prepared),
        Err(fault) => Prep::Faulty(case, fault),
    };
    for target in &devices.targets {
        let conclusion = match &prep {
            Prep::Ready(prepared) => target.run(prepared),
            Prep::Faulty(_, fault) => fault.into(),
        };
        let Some(signature) = conclusion.signature(prep.case()) else { continue };
        let key = (target.name.clone(), signature.clone());
        if !KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(key) {
            continue;
        }
        let folder = match finding(target, &prep, &conclusion, signature.clone()).save(&devices.out) {
            Ok(folder) => folder.display().to_string(),
            Err(error) => error.to_string(),
        };
        let message = format!("{signature} on {} ({folder})", target.name);
        assert!(std::env::var_os("TANGLE_FUZZ_KEEP_GOING").is_some(), "{message}");
        eprintln!("finding: {message}");
    }
}

fn open_devices() -> Devices {
    let names = std::env::var("TANGLE_FUZZ_DEVICES").unwrap_or_default();
    let names: Vec<String> = names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let targets = open(&names, None, Jobs::One, &Options::default(), |warning| eprintln!("warning: {warning}"))
        .unwrap_or_else(|error| panic!("{error:#}"));
    let plan = Plan::new(Choice::default(), &targets).unwrap_or_else(|error| panic!("{error:#}"));
    let out = std::env::var_os("TANGLE_FUZZ_OUT").unwrap_or_else(|| "tangle-out".into());
    Devices { targets, plan, out: Path::new(&out).join("findings") }
}
