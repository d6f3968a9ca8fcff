//! One digest of what a range of seeds generates, prints, predicts and judges: equal before and after a change that must not
//! change behaviour.
//!
//! `cargo run --release -p tangle-oracle --example digest -- [--cases N] [--seeds N]`: N seeds (10), each a base of N cases (400),
//! over all profiles, tiers and subgroup sizes 4 to 128. A line for each seed, then one over all of them. With `--languages` the other
//! languages instead, which takes a small part of the time: HLSL, WGSL and SPIR-V.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

use tangle_emit::glsl::glsl;
use tangle_emit::{fitted, lacks, source, spirv};
use tangle_generator::{Config, Profile, from_seed};
use tangle_oracle::faults::{Fault, Planted};
use tangle_oracle::judge::{Judgement, Verdict, judge};
use tangle_oracle::map::{LaneMap, SubgroupPromise};
use tangle_oracle::predict::predict;
use tangle_oracle::reference::observe;
use tangle_oracle::rules::{Drawn, MinimalReconvergence, Rules};
use tangle_program::case::{Case, SubgroupSize, Tier};
use tangle_program::variant::{Freedom, FrontEnd, Language, Printing, Variant};

const SIZES: [u32; 5] = [4, 8, 32, 64, 128];

fn main() {
    let (seeds, cases) = (argument("--seeds", 10), argument("--cases", 400));
    let languages = std::env::args().any(|text| text == "--languages");
    let mut whole = DefaultHasher::new();
    for base in 0..seeds {
        let mut hasher = DefaultHasher::new();
        for number in 0..cases {
            case_digest(base * 1_000_003 + number, number as usize, languages, &mut hasher);
        }
        let digest = hasher.finish();
        println!("seed {base}: {cases} cases, {digest:016x}");
        digest.hash(&mut whole);
    }
    println!("all: {:016x}", whole.finish());
}

/// The number behind an option, or this default.
fn argument(name: &str, default: u64) -> u64 {
    let value = std::env::args().skip_while(|text| text != name).nth(1);
    value.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} takes a number")))
}

fn case_digest(seed: u64, number: usize, languages: bool, hasher: &mut DefaultHasher) {
    let tier = Tier::ALL[number % Tier::ALL.len()];
    let profile = Profile::ALL[number / Tier::ALL.len() % Profile::ALL.len()].0;
    let size = SIZES[number / (Tier::ALL.len() * Profile::ALL.len()) % SIZES.len()];
    let required_sizes = vec![4, 8, 16, 32];
    let config = Config { tier, profile, max_subgroup_size: size.max(32), required_sizes, ..Config::default() };
    let case = from_seed(seed, &config);
    if languages {
        return language_digest(seed, case, hasher);
    }
    glsl(&case).hash(hasher);
    let size = if let SubgroupSize::Required(size) = case.entry_point.subgroup_size { size } else { size };
    let map = LaneMap::linear(&case, size);
    let prediction = predict(&case, &map).expect("a generated case is well-defined");
    for log in prediction.logs() {
        let (group, index) = (log.invocation.group.index(), log.invocation.index);
        (group, log.subgroup, log.lane, index, log.words, log.entries, log.open_end).hash(hasher);
    }
    let fault = Fault::ALL[number % Fault::ALL.len()];
    let mut text = String::new();
    describe(&judged(&case, &map, size, || MinimalReconvergence), &mut text);
    describe(&judged(&case, &map, size, || Drawn::new(seed)), &mut text);
    // The faults themselves may be mended; what is judged of them is then another observation.
    if std::env::args().all(|text| text != "--without-faults") {
        describe(&judged(&case, &map, size, || Planted::new(fault)), &mut text);
    }
    text.hash(hasher);
}

/// What the printers besides that of GLSL make of a case.
fn language_digest(seed: u64, mut case: Case, hasher: &mut DefaultHasher) {
    let printing = Printing::new(seed as u32, Freedom::ALL.to_vec());
    spirv::module(&case, &printing).hash(hasher);
    for language in [Language::Hlsl, Language::Wgsl] {
        lacks(language, &case).hash(hasher);
        case.variant = Variant::compiled(FrontEnd { language, compiler: "any".to_owned() });
        source(&fitted(language, case.clone())).hash(hasher);
    }
}

fn judged<R: Rules>(case: &Case, map: &LaneMap, size: u32, rules: impl Fn() -> R) -> Judgement {
    let observation = observe(case, map, rules).expect("a generated case is well-formed");
    judge(case, &observation, SubgroupPromise::vulkan(size, 4, 128))
}

/// What does not depend on how the judgement's types are named.
fn describe(judgement: &Judgement, text: &mut String) {
    let counts = &judgement.counts;
    let _ = write!(
        text,
        "{} {} {} {} {} {} {} {} {} maps {} ",
        counts.checked,
        counts.observed,
        counts.divergent,
        counts.divergent_checked,
        counts.tainted,
        counts.skipped,
        counts.steps,
        counts.sites,
        counts.sites_reached,
        judgement.map_faults.len(),
    );
    if let Verdict::Mismatch(mismatch) = &judgement.verdict {
        let _ = write!(text, "site {} workgroup {} lanes {} ", mismatch.site, mismatch.group.0, mismatch.wrong_lanes);
        for lane in &mismatch.lanes {
            let _ =
                write!(text, "{} {} {} {:?} {:?} ", lane.subgroup, lane.lane, lane.entry, lane.expected, lane.actual);
        }
    }
}
