//! Cases on real devices: what is new ends in a panic.
//!
//! | variable | means | without it |
//! |---|---|---|
//! | `TANGLE_FUZZ_DEVICES` | names of devices, with commas between | all Vulkan devices |
//! | `TANGLE_FUZZ_KNOWN` | files and folders of known bugs, with commas between | nothing is known |
//! | `TANGLE_FUZZ_OUT` | folder whose `findings` the findings go to | `tangle-out` |
//! | `TANGLE_FUZZ_KEEP_GOING` | a finding is saved and printed, and the run goes on | it ends the run |

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use arbitrary::Unstructured;
use tangle_identity::{Known, Signature};
use tangle_oracle::judge::Verdict;
use tangle_oracle::map::LaneMap;
use tangle_oracle::reference::observe;
use tangle_program::case::Case;
use tangle_runner::DeviceOptions;
use tangle_runner::config::Drivers;

use super::feedback::{self, Watched};
use super::input;
use crate::finding::finding;
use crate::plan::{Choice, Plan};
use crate::prepare::{Prep, Prepared};
use crate::reduce::{self, reduce};
use crate::target::{Conclusion, Finish, Jobs, Target, open};

/// Becomes a worker if this process is one. To be called first.
pub fn init() {
    tangle_runner::worker::run_if_requested();
}

struct Devices {
    targets: Vec<Target>,
    plan: Plan,
    known: Known,
    out: PathBuf,
    /// Signatures that were reported, or turned out to be known.
    reported: BTreeSet<(String, Signature)>,
    inputs: u64,
}

/// How long a finding is minimised to see whether its bug is known.
const MINIMIZING: Duration = Duration::from_secs(20);

/// Subgroup size of the run that is watched for feedback.
const WATCHED_SIZE: u32 = 8;

// One lock: libFuzzer runs one input at a time.
fn devices() -> MutexGuard<'static, Devices> {
    static DEVICES: OnceLock<Mutex<Devices>> = OnceLock::new();
    DEVICES.get_or_init(|| Mutex::new(Devices::open())).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a case on every device and judges it. False if it is not worth keeping: no device compared anything.
///
/// # Panics
/// On a finding that is new, if no device can be opened, and if one cannot run anything any more. Of every signature on every device only the first is reported.
pub fn judge_on_devices(input: &[u8]) -> bool {
    let Some(case) = input::case(input) else { return false };
    if feedback::is_on() {
        let _ = observe(&case, &LaneMap::linear(&case, WATCHED_SIZE), Watched::default);
    }
    devices().judge(case)
}

/// True if some device can run the case.
pub fn runs_somewhere(case: &Case) -> bool {
    devices().targets.iter().any(|target| target.missing(case).is_empty())
}

/// A case of the generator's that suits the devices. The first bytes choose device, tier and profile.
pub fn case_for_devices(bytes: &[u8]) -> Case {
    let case = devices().plan.case_from_bytes(&mut Unstructured::new(bytes));
    case.expect("the generator takes every number of bytes")
}

fn words(variable: &str) -> Vec<String> {
    let text = std::env::var(variable).unwrap_or_default();
    text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

impl Devices {
    fn open() -> Devices {
        let names = words("TANGLE_FUZZ_DEVICES");
        let targets = open(&names, &Drivers::default(), Jobs::One, &DeviceOptions::default(), |warning| {
            eprintln!("warning: {warning}")
        })
        .unwrap_or_else(|error| panic!("{error:#}"));
        let plan = Plan::new(Choice::default(), &targets).unwrap_or_else(|error| panic!("{error:#}"));
        let files: Vec<PathBuf> = words("TANGLE_FUZZ_KNOWN").into_iter().map(PathBuf::from).collect();
        let known = Known::read(&files).unwrap_or_else(|error| panic!("{error:#}"));
        let out = std::env::var_os("TANGLE_FUZZ_OUT").unwrap_or_else(|| "tangle-out".into());
        Devices { targets, plan, known, out: Path::new(&out).join("findings"), reported: BTreeSet::new(), inputs: 0 }
    }

    fn judge(&mut self, case: Case) -> bool {
        self.inputs += 1;
        let prep = match self.targets.iter().any(Target::runs_modules) {
            true => Prep::of(case),
            false => Prep::Ready(Prepared::without_module(case)),
        };
        let mut compared = false;
        let mut findings = Vec::new();
        for (number, target) in self.targets.iter().enumerate() {
            let conclusion = match &prep {
                Prep::Ready(prepared) => target.run(prepared),
                Prep::Faulty(_, fault) => fault.into(),
            };
            if let Finish::NoWorker { reason } = &conclusion.finish {
                // Nothing would be tested any more.
                panic!("device {}: {reason}", target.name);
            }
            compared |= matches!(&conclusion.finish, Finish::Judged(judged) if judged.verdict != Verdict::Vacuous);
            let Some(signature) = conclusion.signature(prep.case()) else { continue };
            if self.reported.insert((target.name.clone(), signature.clone())) {
                findings.push((number, conclusion, signature));
            }
        }
        for (number, conclusion, signature) in findings {
            self.report(number, &prep, &conclusion, signature);
        }
        compared
    }

    fn report(&self, number: usize, prep: &Prep, conclusion: &Conclusion, signature: Signature) {
        let target = &self.targets[number];
        if let Some(bug) = self.known_bug(target, prep.case(), &signature) {
            eprintln!("known: {bug}: {signature} on {}", target.name);
            return;
        }
        let late;
        let prep = match prep {
            Prep::Ready(Prepared { case, spirv, .. }) if spirv.is_empty() => {
                late = Prep::of(case.clone());
                &late
            }
            prep => prep,
        };
        let message = format!("{signature} on {}", target.name);
        match finding(target, prep, conclusion, signature).save(&self.out) {
            Ok(folder) => eprintln!("finding {message}, input {}, saved in {}", self.inputs, folder.display()),
            Err(error) => eprintln!("finding {message}, input {}, not saved: {error}", self.inputs),
        }
        if std::env::var_os("TANGLE_FUZZ_KEEP_GOING").is_none() {
            // ClusterFuzz knows crashes by the text between quotation marks that old versions of Rust printed; the new format
            // has none, and all findings have one stack.
            eprintln!("thread 'judge' panicked at '{message}'");
            panic!("{message}");
        }
    }

    /// The name of the known bug that a finding shows, after minimising it if need be.
    fn known_bug(&self, target: &Target, case: &Case, signature: &Signature) -> Option<String> {
        let id = target.id();
        if let Some(bug) = self.known.by_signature(&id, signature) {
            return Some(bug.name.clone());
        }
        if !self.known.bugs().iter().any(|bug| bug.concerns(&id)) {
            return None;
        }
        let options = reduce::ReduceOptions { time: Some(MINIMIZING), ..reduce::ReduceOptions::default() };
        let stop = AtomicBool::new(false);
        let one = std::slice::from_ref(target);
        let reduction = reduce(one, case, Some(signature), &options, &stop, |_| ControlFlow::Continue(())).ok()?;
        let (case, changes) = (&reduction.minimized.case, &reduction.passes_without);
        self.known.by_minimal(&id, &reduction.signature, case, changes).map(|bug| bug.name.clone())
    }
}
