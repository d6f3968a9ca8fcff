//! Bugs that are known: pages of a bug book ([`crate::book`]), or a file with a list that a person edits, one for each family of drivers say.
//!
//! ```toml
//! [[bug]]
//! name = "loop-value"                       # unique in the file
//! link = "https://gitlab.freedesktop.org/…" # the tracker
//! devices = ["lvp", "llvmpipe Mesa 22.*"]   # names as `tangle devices` shows them, or driver name and version; none: every device
//! # What identifies the bug; one of these is enough, and of several all have to fit:
//! signature = "^hang: while creating"       # a regular expression, found anywhere in a finding's signature
//! skeleton = "after-loop"                   # the shape of the minimal program, as `tangle fuzz --minimize` prints it
//! case = "loop-value.json"                  # a minimal case, beside this file: its skeleton counts
//! also = ["in-a-switch.json"]               # beside `case`: minimal cases of other shapes
//! example = "shuffle.json"                  # a case that shows it, for `tangle matrix`; it identifies nothing
//! pass = "loop-unroll"                      # beside one of them, of a bug of spirv-opt: the last pass of the minimal program's list
//! effect = "dies"                           # of skeleton and case: "wrong" results, which is what is meant without it, or the driver "dies"
//! first_bad = "22.2.0"                      # for people
//! last_bad = "22.3.7"
//! fixed_in = "23.0.0"
//! passes_without = ["subgroupBarrier in a loop"] # what its programs pass without ([`Change`]): findings that are not minimised are identified, too
//! avoid = ["subgroupBarrier"]               # what `--avoid-known` steers a campaign away from: operations, constructs, combinations ([`Combination`])
//! ```
//!
//! A skeleton is a coarse thing, so that more has to fit. The operations: where the skeleton of a `case` does not name them, a minimal program has to
//! have one of the same category. The operators: where a `case` has neither operations nor control flow, a program has to have half of those of the `case`. A `precise` variable: where the `case` has one, which the minimiser drops if it can. The effect: a crash is not what gives wrong results. And who made the module: what
//! only `spirv-opt`'s module of a program gives (the minimiser has tried the front end's) is not what the front end's gives. The pass: the minimiser leaves
//! out all that are not needed. So a bug with anything beside its signature is identified by minimal programs only.
//!
//! Without `avoid`, it is what the minimal `case` is made of ([`Combination::of_minimal`]); with an empty one, nothing: of a bug that rests on a number, say.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde::Deserialize;
use tangle_generator::Combination;
use tangle_program::case::{Case, Stage};
use tangle_program::subgroup::Category;
use tangle_program::tree::{Expr, Stmt, walk_block};
use tangle_program::variant::{Variant, single_passes};

use crate::book::{Record, is_page};
use crate::change::{Change, show_one_bug, tell};
pub use crate::entry::{DeviceId, Effect, KnownError};
use crate::entry::{files, wrong};
use crate::pattern::{glob, problem};
use crate::signature::Signature;
use crate::skeleton::{Skeleton, operators, skeleton};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    bug: Vec<Entry>,
}

/// How a campaign is steered away from known bugs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Avoided {
    /// Programs that have all of one of these in them are left out: the driver dies of them, or the bug's page says so.
    pub without: BTreeSet<Combination>,
    /// Those that the driver dies of, or hangs.
    pub deadly: BTreeSet<Combination>,
    /// Programs that have all of one of these in them are seldom: minimal programs of the bugs do, and so may programs that pass.
    pub seldom: BTreeSet<Combination>,
    /// Programs are changed by all of these.
    pub changes: BTreeSet<Change>,
}

/// A bug as it is written down.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    link: String,
    #[serde(default)]
    devices: Vec<String>,
    signature: Option<String>,
    skeleton: Option<String>,
    case: Option<PathBuf>,
    #[serde(default)]
    also: Vec<PathBuf>,
    example: Option<PathBuf>,
    pass: Option<String>,
    #[serde(default)]
    effect: Effect,
    #[serde(default)]
    first_bad: String,
    #[serde(default)]
    last_bad: String,
    #[serde(default)]
    fixed_in: String,
    #[serde(default)]
    avoid: Option<Vec<Combination>>,
    #[serde(default)]
    passes_without: Vec<Change>,
}

/// A bug that findings are compared with, from a page of a book or from a list.
#[derive(Clone, Debug)]
pub struct Bug {
    /// The id of its page, or its name in the list, unique in the file.
    pub name: String,
    /// Where it is tracked.
    pub link: String,
    /// Which versions have it, for people.
    pub versions: String,
    /// A case that shows it.
    pub case: Option<Case>,
    /// What programs that show it are made of.
    pub avoid: BTreeSet<Combination>,
    /// True if somebody wrote that, and it does not come of the minimal program.
    is_avoid_written: bool,
    devices: Vec<String>,
    /// Its page, if it is of a book: which devices and versions have it.
    page: Option<Record>,
    signature: Option<Regex>,
    shapes: Vec<Shape>,
    /// What comes of it, where programs identify it.
    pub effect: Effect,
    /// What its programs pass without.
    pub passes_without: BTreeSet<Change>,
    /// Whether it takes a module that `spirv-opt` made.
    optimised: bool,
    /// The pass of `spirv-opt` that does it.
    pass: Option<String>,
}

/// What minimal programs of a bug have in common.
#[derive(Clone, Debug)]
struct Shape {
    /// The skeleton, as it is shown.
    skeleton: String,
    /// One of these kinds of operations is in all of them, where the skeleton does not say it; empty if any will do.
    categories: BTreeSet<Category>,
    /// Half of these operators are in all of them ([`operators`]); empty if any will do.
    operators: BTreeSet<&'static str>,
    /// All of them have a `precise` variable: the minimiser asks for that where it is needed only.
    is_precise: bool,
    /// The stage of the program that it is of, if it is of one. What is wrong in compute shaders may be in every stage, what is wrong in another stage is
    /// that stage's own: a loop that ends too early for helper invocations, say.
    stage: Option<Stage>,
}

impl Shape {
    /// That of a case. Where it uses values behind their loops, the operations have nothing to do with it.
    fn of(case: &Case) -> Shape {
        let skeleton = skeleton(case);
        let is_any = matches!(skeleton, Skeleton::AfterLoop { .. }) || skeleton.names_operations();
        let categories = if is_any { BTreeSet::new() } else { to_blame(case) };
        Shape {
            skeleton: skeleton.to_string(),
            categories,
            operators: operators(case),
            is_precise: is_precise(case),
            stage: Some(case.entry_point.stage),
        }
    }

    /// True if programs of a stage may have it, which a bug with this effect shows. A compiler that dies does it of the program, whatever the stage.
    fn may_be_in(&self, stage: Stage, effect: Effect) -> bool {
        effect == Effect::Dies || self.stage.is_none_or(|own| own == Stage::Compute || own == stage)
    }
}

fn is_precise(case: &Case) -> bool {
    case.program.functions.iter().flat_map(|function| &function.locals).any(|local| local.precise)
}

/// The kinds of operations that may be to blame in a program: a ballot beside others only shows what they do.
fn to_blame(case: &Case) -> BTreeSet<Category> {
    let mut found = categories(case);
    if found.len() > 1 {
        found.remove(&Category::Ballot);
    }
    found
}

/// The kinds of operations in a program.
fn categories(case: &Case) -> BTreeSet<Category> {
    let mut found = BTreeSet::new();
    for function in &case.program.functions {
        walk_block(&function.body, &mut |stmt| {
            if let Stmt::SubgroupBarrier(op) = stmt {
                found.insert(op.info().category);
            }
            stmt.direct_exprs().for_each(|expr| {
                expr.walk(&mut |expr| {
                    if let Expr::Subgroup(call) = expr {
                        found.insert(call.op.info().category);
                    }
                });
            });
        });
    }
    found
}

/// Everything that is known.
#[derive(Clone, Debug, Default)]
pub struct Known {
    bugs: Vec<Bug>,
}

impl Known {
    /// Reads files; a folder stands for the `.toml` files in it.
    ///
    /// # Errors
    /// If one cannot be read or understood.
    pub fn read(paths: &[PathBuf]) -> Result<Known, KnownError> {
        let mut known = Known::default();
        for path in paths {
            for file in files(path)? {
                known.bugs.extend(read_file(&file)?);
            }
        }
        Ok(known)
    }

    /// Those that no part of the toolchain has: what a driver is proven to be to blame for is none of the others.
    pub fn of_drivers(&self) -> Known {
        let is_of_driver = |bug: &&Bug| bug.page.as_ref().is_none_or(|page| page.maker().is_none());
        Known { bugs: self.bugs.iter().filter(is_of_driver).cloned().collect() }
    }

    /// The bugs, in the order of the files.
    pub fn bugs(&self) -> &[Bug] {
        &self.bugs
    }

    /// The known bug that a signature alone identifies.
    pub fn by_signature(&self, device: &DeviceId, signature: &Signature) -> Option<&Bug> {
        let text = signature.to_string();
        let alone = |bug: &&Bug| bug.signature.is_some() && bug.shapes.is_empty() && bug.pass.is_none();
        self.bugs_on(device).find(|bug| alone(bug) && bug.may_have(&text))
    }

    /// The known bug that a minimised case shows.
    pub fn by_case(&self, device: &DeviceId, signature: &Signature, minimal: &Case) -> Option<&Bug> {
        // Files name skeletons as they are shown.
        let skeleton = skeleton(minimal);
        let shown = [Some(&skeleton), skeleton.simpler().as_ref()].map(|shape| shape.map(Skeleton::to_string));
        let (operations, operators) = (categories(minimal), operators(minimal));
        let is_it = |known: &Shape| {
            let has_one = known.categories.is_empty() || !known.categories.is_disjoint(&operations);
            let common = known.operators.intersection(&operators).count();
            has_one
                && (!known.is_precise || is_precise(minimal))
                && 2 * common >= known.operators.len()
                && shown.iter().flatten().any(|shown| *shown == known.skeleton)
        };
        let is_in = |known: &Shape, bug: &Bug| known.may_be_in(minimal.entry_point.stage, bug.effect);
        let effect = Effect::of(signature.kind);
        let text = signature.to_string();
        let fits = |bug: &&Bug| {
            let by_shape = !bug.shapes.is_empty();
            // A signature says what comes of it.
            let made_alike = bug.effect == Effect::Dies || bug.optimised == minimal.variant.is_optimised();
            let has_effect = bug.signature.is_some() || effect == Some(bug.effect) && made_alike;
            (by_shape || bug.signature.is_some())
                && bug.may_have(&text)
                && bug.may_be_of(minimal)
                && (!by_shape || has_effect && bug.shapes.iter().any(|known| is_in(known, bug) && is_it(known)))
        };
        // What more has to fit for comes first.
        self.bugs_on(device).filter(fits).min_by_key(|bug| bug.shapes.is_empty())
    }

    /// The known bug whose programs fail like this and pass with these changes ([`show_one_bug`]).
    pub fn by_changes(&self, device: &DeviceId, signature: &Signature, changes: &BTreeSet<Change>) -> Option<&Bug> {
        let effect = Effect::of(signature.kind);
        self.bugs_on(device).find(|bug| effect == Some(bug.effect) && show_one_bug(changes, &bug.passes_without))
    }

    /// The known bug that a minimised case shows, which passes with these changes. Its shape decides, unless that bug says what its
    /// programs pass without, this one does not, and it does with what another bug says.
    pub fn by_minimal(
        &self,
        device: &DeviceId,
        signature: &Signature,
        minimal: &Case,
        changes: &BTreeSet<Change>,
    ) -> Option<&Bug> {
        let contradicts = |bug: &Bug| !bug.passes_without.is_empty() && !show_one_bug(changes, &bug.passes_without);
        match self.by_case(device, signature, minimal) {
            Some(bug) if !contradicts(bug) => Some(bug),
            by_shape => self.by_changes(device, signature, changes).or(by_shape),
        }
    }

    /// What to avoid on a device: of a bug whose programs pass with a change that tells by itself, what is changed, and of another what its programs
    /// have in them.
    pub fn avoid(&self, device: &DeviceId) -> Avoided {
        let mut avoided = Avoided::default();
        for bug in self.bugs_on(device) {
            match bug.passes_without.iter().find(|change| change.is_enough()) {
                Some(change) => {
                    avoided.changes.extend(change.alike());
                    if change.is_of_skipped() {
                        avoided.seldom.extend(bug.avoid.iter().cloned());
                    }
                }
                None => {
                    let combinations = || bug.avoid.iter().cloned();
                    match bug.effect {
                        Effect::Wrong if !bug.is_avoid_written => avoided.seldom.extend(combinations()),
                        Effect::Wrong => avoided.without.extend(combinations()),
                        Effect::Dies => {
                            avoided.without.extend(combinations());
                            avoided.deadly.extend(combinations());
                        }
                    }
                }
            }
        }
        avoided
    }

    /// The bugs that a device may have.
    pub fn bugs_on(&self, device: &DeviceId) -> impl Iterator<Item = &Bug> {
        self.bugs.iter().filter(|bug| bug.concerns(device))
    }
}

impl Bug {
    /// True if the device may have it.
    pub fn concerns(&self, device: &DeviceId) -> bool {
        if let Some(page) = &self.page {
            return page.concerns(device);
        }
        let is_here = |pattern: &String| glob(pattern, &device.name, None) || glob(pattern, &device.driver, None);
        self.devices.is_empty() || self.devices.iter().any(is_here)
    }

    /// True if failures of this signature can be the bug.
    fn may_have(&self, signature: &str) -> bool {
        self.signature.as_ref().is_none_or(|regex| regex.is_match(signature))
    }

    /// True if the pass that does it, if one does, is the last of a minimal program's list, all of which are needed.
    fn may_be_of(&self, minimal: &Case) -> bool {
        let Some(pass) = &self.pass else { return true };
        match &minimal.variant {
            Variant::Passes(passes) => passes.last() == Some(&pass.as_str()),
            // Not taken apart.
            variant => single_passes(&variant.flags()).iter().any(|flag| flag.trim_start_matches('-') == pass),
        }
    }
}

fn read_file(path: &Path) -> Result<Vec<Bug>, KnownError> {
    let text = tangle_files::read_text(path).map_err(|error| wrong(path, error))?;
    if is_page(&text) {
        let record = Record::parse(&text).map_err(|problem| wrong(path, problem))?;
        let id = record.id.clone();
        return Ok(vec![of_page(record, path).map_err(|problem| wrong(path, format!("bug '{id}': {problem}")))?]);
    }
    let file: File = toml::from_str(&text).map_err(|error| wrong(path, error))?;
    let mut names = BTreeSet::new();
    let mut bugs = Vec::new();
    for entry in file.bug {
        let name = entry.name.clone();
        if !names.insert(name.clone()) {
            return Err(wrong(path, format!("there are two bugs '{name}'")));
        }
        bugs.push(entry.bug(path).map_err(|problem| wrong(path, format!("bug '{name}': {problem}")))?);
    }
    Ok(bugs)
}

/// The bug of a page of a book.
fn of_page(record: Record, file: &Path) -> Result<Bug, String> {
    let entry = Entry {
        name: record.id.clone(),
        link: record.tracker.clone(),
        devices: Vec::new(),
        signature: record.signature.clone(),
        skeleton: record.skeleton.clone(),
        case: record.case.clone(),
        also: record.also.clone(),
        example: record.example.clone(),
        pass: record.pass.clone(),
        effect: record.effect,
        first_bad: String::new(),
        last_bad: String::new(),
        fixed_in: String::new(),
        avoid: record.avoid.clone(),
        passes_without: record.passes_without.clone(),
    };
    Ok(Bug { versions: record.ranges().join("; "), page: Some(record), ..entry.bug(file)? })
}

impl Entry {
    fn bug(self, file: &Path) -> Result<Bug, String> {
        let has_program = self.skeleton.is_some() || self.case.is_some() || !self.passes_without.is_empty();
        if self.signature.is_none() && !has_program {
            return Err("it needs a signature, a skeleton, a case or a change to be identified by".into());
        }
        let passes_without: BTreeSet<Change> = self.passes_without.into_iter().collect();
        if !passes_without.is_empty() && !tell(&passes_without) {
            return Err(
                "programs of many bugs pass without that: two changes of the program, or one that identifies a bug alone".into()
            );
        }
        let of_any = |skeleton| Shape {
            skeleton,
            categories: BTreeSet::new(),
            operators: BTreeSet::new(),
            is_precise: false,
            stage: None,
        };
        let mut shapes: Vec<Shape> = self.skeleton.into_iter().map(of_any).collect();
        let minimal = self.case.as_deref().map(|case| read_case(file, case)).transpose()?;
        let also: Vec<Case> = self.also.iter().map(|case| read_case(file, case)).collect::<Result<_, _>>()?;
        // A skeleton names operations where it is they that are broken.
        let of_minimal =
            |case: &Case| Combination::of_minimal(case, skeleton(case).names_operations(), self.pass.as_deref());
        let is_avoid_written = self.avoid.is_some();
        let avoid: BTreeSet<Combination> = match self.avoid {
            Some(avoid) => avoid.into_iter().collect(),
            None => minimal.iter().chain(&also).filter_map(of_minimal).collect(),
        };
        shapes.extend(minimal.iter().chain(&also).map(Shape::of));
        let example = self.example.as_deref().map(|case| read_case(file, case)).transpose()?;
        let versions = [("first bad", self.first_bad), ("last bad", self.last_bad), ("fixed in", self.fixed_in)];
        let versions = versions.iter().filter(|(_, version)| !version.is_empty());
        Ok(Bug {
            versions: versions.map(|(what, version)| format!("{what} {version}")).collect::<Vec<_>>().join(", "),
            name: self.name,
            case: minimal.clone().or(example),
            link: self.link,
            devices: self.devices,
            page: None,
            signature: self.signature.map(|text| Regex::new(&text)).transpose().map_err(|error| problem(&error))?,
            shapes,
            effect: self.effect,
            pass: self.pass,
            optimised: minimal.is_some_and(|case| case.variant.is_optimised()),
            avoid,
            is_avoid_written,
            passes_without,
        })
    }
}

/// A case beside a file of known bugs.
fn read_case(file: &Path, case: &Path) -> Result<Case, String> {
    let path = file.parent().unwrap_or(Path::new("")).join(case);
    let text = tangle_files::read_text(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Case::from_json(&text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::signature::{Detail, Kind};
    use tangle_generator::{Config, Contents, from_seed};
    use tangle_program::ops::BinaryOp;
    use tangle_program::tree::Builtin;
    use tangle_program::types::Scalar;

    fn read(text: &str) -> Result<Known, KnownError> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("some.toml"), text).expect("it can be written");
        Known::read(&[folder.path().into()])
    }

    #[test]
    fn a_bug_is_told_by_device_and_signature() {
        let known = read(
            "[[bug]]\nname = 'a'\nsignature = '^hang: .*pipeline'\ndevices = ['lvp', 'llvmpipe Mesa 22.*']\n\
             avoid = ['subgroupBarrier']\n[[bug]]\nname = 'b'\nsignature = 'crash'\n\
             [[bug]]\nname = 'c'\nsignature = 'lost'\neffect = 'dies'\navoid = ['subgroupElect']\n",
        );
        let known = known.expect("it is good");
        let deadly: BTreeSet<Combination> = ["subgroupElect".parse().expect("an operation")].into();
        let signature = |kind, detail: &str| Signature::new(kind, Detail::Text(detail.into()));
        let hang = signature(Kind::Hang, "while creating the pipeline");
        let crash = signature(Kind::Crash, "signal 11 while x");
        let table = [
            ("lvp", "", &hang, Some("a")),
            ("mine", "llvmpipe Mesa 22.3.6", &hang, Some("a")),
            ("mine", "llvmpipe Mesa 23.1", &hang, None),
            ("mine", "llvmpipe Mesa 23.1", &crash, Some("b")),
        ];
        for (name, driver, signature, bug) in table {
            let device = DeviceId { name: name.into(), driver: driver.into() };
            let found = known.by_signature(&device, signature).map(|bug| bug.name.as_str());
            assert_eq!(found, bug, "{device:?} {signature}");
            let barrier = "subgroupBarrier".parse().expect("an operation");
            assert_eq!(known.avoid(&device).without.contains(&barrier), !driver.contains("23"), "{device:?}");
            assert_eq!(known.avoid(&device).deadly, deadly, "{device:?}");
        }
    }

    /// What is left out is what bugs are made of, and no more.
    #[test]
    fn known_bugs_leave_most_programs() {
        let known = Known::read(&[concat!(env!("CARGO_MANIFEST_DIR"), "/../../known").into()]).expect("the book");
        let cases = (0..1000).map(|seed| from_seed(seed, &Config::default()));
        let programs: Vec<Contents> = cases.map(|case| Contents::of(&case)).collect();
        for (driver, most) in [
            ("llvmpipe Mesa 22.3.6 (LLVM 15.0.6)", 190),
            ("llvmpipe Mesa 25.0.7-2 (LLVM 19.1.7)", 125),
            ("SwiftShader driver", 100),
            ("NVIDIA 580.159.04", 500),
            ("a driver without bugs", 50),
        ] {
            let Avoided { without, seldom, .. } =
                known.avoid(&DeviceId { name: "it".into(), driver: driver.to_owned() });
            let is_left_out = |program: &&Contents| without.iter().chain(&seldom).any(|one| one.is_in(program));
            let left_out = programs.iter().filter(is_left_out);
            let left_out = left_out.count();
            assert!(left_out <= most, "{left_out} of 1,000 on {driver}");
        }
        for case in known.bugs.iter().filter_map(|bug| bug.case.as_ref()) {
            let own = Combination::of_minimal(case, true, None);
            assert!(own.is_none_or(|own| own.is_in(&Contents::of(case))));
        }
    }

    #[test]
    fn a_bug_is_told_by_what_it_passes_without() {
        let known = read("[[bug]]\nname = 'a'\npasses_without = ['subgroupBarrier in a loop']\ndevices = ['lvp']\n");
        let known = known.expect("it is good");
        let device = |name: &str| DeviceId { name: name.into(), driver: String::new() };
        let signature = |kind| Signature::new(kind, Detail::Text(String::new()));
        let changes = |text: &str| BTreeSet::from([text.parse::<Change>().expect("a change")]);
        for (name, kind, change, is_known) in [
            ("lvp", Kind::Path, "subgroupBarrier in a loop", true),
            ("lvp", Kind::Path, "subgroupBarrier in a switch", true),
            ("lvp", Kind::Path, "assumeEXT in a loop", false),
            ("lvp", Kind::Crash, "subgroupBarrier in a loop", false),
            ("other", Kind::Path, "subgroupBarrier in a loop", false),
        ] {
            let found = known.by_changes(&device(name), &signature(kind), &changes(change));
            assert_eq!(found.is_some(), is_known, "{name} {} {change}", kind.name());
            assert_eq!(known.bugs_on(&device(name)).count(), usize::from(name == "lvp"));
        }
    }

    #[test]
    fn what_a_program_passes_without_decides_between_bugs_of_one_shape() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/regressions/bool_through_two_loops.json");
        let minimal = Case::from_json(&fs::read_to_string(&file).expect("it is there")).expect("a case");
        let shape = |name: &str, more: &str| format!("[[bug]]\nname = '{name}'\ncase = '{}'\n{more}\n", file.display());
        let barrier = "[[bug]]\nname = 'barrier'\npasses_without = ['subgroupBarrier in a loop']\n";
        let device = DeviceId { name: "mine".into(), driver: String::new() };
        let signature = Signature::new(Kind::Value, Detail::Text(String::new()));
        let unroll = "passes_without = ['[[unroll]] in a loop']";
        for (own, change, expected) in [
            (unroll, "[[unroll]] in a loop", "shape"),
            // It says what its programs pass without, and this one does not.
            (unroll, "subgroupBarrier in a loop", "barrier"),
            ("", "subgroupBarrier in a loop", "shape"),
            // Nobody else says it, either.
            (unroll, "assumeEXT in a loop", "shape"),
        ] {
            let known = read(&(shape("shape", own) + barrier)).expect("it is good");
            let changes = BTreeSet::from([change.parse::<Change>().expect("a change")]);
            let found = known.by_minimal(&device, &signature, &minimal, &changes).map(|bug| bug.name.as_str());
            assert_eq!(found, Some(expected), "{own} {change}");
        }
    }

    #[test]
    fn a_bug_is_told_by_skeleton_effect_and_maker() {
        let regressions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/regressions");
        let case = |name: &str| {
            let path = regressions.join(format!("{name}.json"));
            Case::from_json(&fs::read_to_string(path).expect("it is there")).expect("a case")
        };
        let entry = |name: &str, more: &str| {
            let path = regressions.join(format!("{name}.json"));
            format!("[[bug]]\nname = '{name}'\ncase = '{}'\n{more}\n", path.display())
        };
        let known = entry("optimiser_maximum_of_int16", "")
            + &entry("bool_and_int64_through_ifs", "effect = 'dies'")
            + &entry("bool_through_two_loops", "effect = 'dies'");
        let known = read(&known).expect("it is good");
        let device = DeviceId { name: "mine".into(), driver: String::new() };
        let (optimised, plain) = (Variant::Size, Variant::Unoptimised);
        for (name, variant, kind, bug) in [
            ("optimiser_maximum_of_int16", &optimised, Kind::Value, Some("optimiser_maximum_of_int16")),
            // The driver's own fault, in a program of the same shape.
            ("optimiser_maximum_of_int16", &plain, Kind::Value, None),
            ("optimiser_maximum_of_int16", &optimised, Kind::Crash, None),
            ("optimiser_maximum_of_int16", &optimised, Kind::LaneMap, None),
            ("bool_and_int64_through_ifs", &plain, Kind::Crash, Some("bool_and_int64_through_ifs")),
            ("bool_and_int64_through_ifs", &plain, Kind::Value, None),
            // It is the driver that dies, whoever made the module.
            ("bool_through_two_loops", &plain, Kind::Hang, Some("bool_through_two_loops")),
        ] {
            let minimal = Case { variant: variant.clone(), ..case(name) };
            let signature = Signature::new(kind, Detail::Text(String::new()));
            let found = known.by_case(&device, &signature, &minimal).map(|bug| bug.name.as_str());
            assert_eq!(found, bug, "{name} {variant} {}", kind.name());
        }
    }

    /// A bug has the shapes of `case` and `also`; where they have a `precise` variable, a program without one is another bug.
    #[test]
    fn a_bug_can_have_several_shapes_and_need_a_precise_variable() {
        let regressions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/regressions");
        let path = |name: &str| regressions.join(format!("glslang_precise_member_of_{name}.json"));
        let case = |name: &str| {
            Case::from_json(&fs::read_to_string(path(name)).expect("it is there")).expect("a case of the corpus")
        };
        let one = format!("[[bug]]\nname = 'a'\ncase = '{}'\neffect = 'dies'\n", path("struct").display());
        let two = format!("{one}also = ['{}']\n", path("array").display());
        let imprecise = |mut case: Case| {
            let locals = case.program.functions.iter_mut().flat_map(|function| &mut function.locals);
            locals.for_each(|local| local.precise = false);
            case
        };
        let device = DeviceId { name: "mine".into(), driver: String::new() };
        let signature = Signature::new(Kind::Crash, Detail::Text(String::new()));
        for (known, minimal, is_known) in [
            (&one, case("struct"), true),
            (&one, case("array"), false),
            (&two, case("struct"), true),
            (&two, case("array"), true),
            (&two, imprecise(case("struct")), false),
            (&two, imprecise(case("array")), false),
        ] {
            let known = read(known).expect("it is good");
            assert_eq!(known.by_case(&device, &signature, &minimal).is_some(), is_known, "{:?}", minimal.about);
        }
    }

    #[test]
    fn wrong_values_of_a_stage_are_its_own() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
        let path = |name: &str| corpus.join(format!("{name}.json"));
        let case = |name: &str| {
            Case::from_json(&fs::read_to_string(path(name)).expect("it is there")).expect("a case of the corpus")
        };
        let (fragment, compute) = ("fragments/loop_of_helpers", "regressions/negated_int8");
        let entry_points = [fragment, compute].map(|name| case(name).entry_point);
        let device = DeviceId { name: "mine".into(), driver: String::new() };
        for (name, also, effect, kind, seen) in [
            (fragment, None, "wrong", Kind::Value, [true, false]),
            (fragment, None, "dies", Kind::Crash, [true, true]),
            (compute, None, "wrong", Kind::Value, [true, true]),
            // Of a program of another stage only that says what it shows.
            (fragment, Some(compute), "wrong", Kind::Value, [true, false]),
            (compute, Some(fragment), "wrong", Kind::Value, [true, true]),
        ] {
            let mut entry = format!("[[bug]]\nname = 'bug'\ncase = '{}'\neffect = '{effect}'\n", path(name).display());
            entry.extend(also.map(|other| format!("also = ['{}']\n", path(other).display())));
            let known = read(&entry).expect("it is good");
            let is_known = |minimal: &Case| {
                known.by_case(&device, &Signature::new(kind, Detail::Text(String::new())), minimal).is_some()
            };
            let found = entry_points.clone().map(|entry_point| is_known(&Case { entry_point, ..case(name) }));
            assert_eq!(found, seen, "{name} {effect}");
            assert!(also.is_none_or(|other| is_known(&case(other))), "{name} and {also:?}");
        }
    }

    /// Several passes break one rule.
    #[test]
    fn bugs_of_passes_are_told_apart_by_the_pass() {
        let bug = |pass: &str| format!("[[bug]]\nname = '{pass}'\nsignature = 'not decorated'\npass = '{pass}'\n");
        let known = read(&(bug("loop-unroll") + &bug("loop-invariant-code-motion"))).expect("it is good");
        let device = DeviceId { name: "mine".into(), driver: String::new() };
        let signature = Signature::new(Kind::Toolchain, Detail::Text("not decorated NonUniform".into()));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/regressions/negated_int8.json");
        let case = Case::from_json(&fs::read_to_string(path).expect("it is there")).expect("a case");
        for (variant, bug) in [
            (Variant::Passes(vec!["ccp", "loop-invariant-code-motion"]), Some("loop-invariant-code-motion")),
            (Variant::Passes(vec!["loop-unroll"]), Some("loop-unroll")),
            // `-O` has it.
            (Variant::Performance, Some("loop-unroll")),
            (Variant::Passes(vec!["loop-unroll", "ccp"]), None),
            (Variant::Unoptimised, None),
        ] {
            let minimal = Case { variant: variant.clone(), ..case.clone() };
            let found = known.by_case(&device, &signature, &minimal).map(|bug| bug.name.as_str());
            assert_eq!(found, bug, "{variant}");
        }
        // Nothing is said of a program that is not minimal.
        assert!(known.by_signature(&device, &signature).is_none());
    }

    /// A switch with an operation in it is the shape of many bugs.
    #[test]
    fn a_case_is_recognised_with_operations_of_its_kind_only() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/regressions/cluster_in_switch_segment.json");
        let known = read(&format!("[[bug]]\nname = 'a'\ncase = '{}'\n", path.display())).expect("it is good");
        let minimal = Case::from_json(&fs::read_to_string(path).expect("it is there")).expect("a case");
        let mut other = minimal.clone();
        for function in &mut other.program.functions {
            elect_everywhere(&mut function.body);
        }
        assert_eq!(skeleton(&minimal), skeleton(&other));
        let device = DeviceId { name: "mine".into(), driver: String::new() };
        let signature = Signature::new(Kind::Value, Detail::Text(String::new()));
        assert!(known.by_case(&device, &signature, &minimal).is_some());
        assert!(known.by_case(&device, &signature, &other).is_none());
    }

    /// A log of a number is the shape of all bugs of numbers.
    #[test]
    fn a_case_without_operations_is_recognised_by_its_operators() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/regressions");
        let path = |name: &str| folder.join(name).with_extension("json");
        let bug = |name: &str| format!("[[bug]]\nname = '{name}'\ncase = '{}'\n", path(name).display());
        let known = read(&(bug("bytes_swapped_then_int16") + &bug("negated_int8"))).expect("it is good");
        let text = fs::read_to_string(path("negated_shift_of_int8")).expect("it is there");
        let minimal = Case::from_json(&text).expect("a case");
        let mut other = minimal.clone();
        for function in &mut other.program.functions {
            for stmt in &mut function.body {
                if let Stmt::Log { values, .. } = stmt {
                    let [x, y] = [(); 2].map(|()| Expr::Cast(Scalar::Int8, Box::new(Expr::Builtin(Builtin::Lane))));
                    *values = vec![Expr::Binary(BinaryOp::BitXor, Box::new(x), Box::new(y))];
                }
            }
        }
        assert_eq!(skeleton(&minimal), skeleton(&other));
        let device = DeviceId { name: "mine".into(), driver: String::new() };
        let signature = Signature::new(Kind::Value, Detail::Text(String::new()));
        let found = |case| known.by_case(&device, &signature, case).map(|bug| bug.name.as_str());
        assert_eq!((found(&minimal), found(&other)), (Some("negated_int8"), None));
    }

    /// Puts another operation in the place of all that are logged.
    fn elect_everywhere(block: &mut [Stmt]) {
        use tangle_program::subgroup::SubgroupOp;
        for stmt in block {
            match stmt {
                Stmt::Log { values, .. } => *values = vec![Expr::subgroup(SubgroupOp::Elect, [])],
                Stmt::Assign { value, .. } if categories_of(value) => *value = Expr::subgroup(SubgroupOp::Elect, []),
                Stmt::Switch { arms, .. } => arms.iter_mut().for_each(|arm| elect_everywhere(&mut arm.body)),
                Stmt::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|arm| elect_everywhere(arm)),
                Stmt::Loop(l) => elect_everywhere(&mut l.body),
                _ => {}
            }
        }
    }

    fn categories_of(expr: &Expr) -> bool {
        let mut found = false;
        expr.walk(&mut |expr| found |= matches!(expr, Expr::Subgroup(_)));
        found
    }

    #[test]
    fn the_files_of_the_checkout_are_good() {
        let known = Known::read(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("../../known")]).expect("they are good");
        assert!(known.bugs().len() >= 4, "{known:?}");
        assert!(known.bugs().iter().all(|bug| bug.page.is_some()), "each is a page of the book");
    }

    #[test]
    fn a_bad_file_is_named_with_its_bug() {
        let table = [
            ("[[bug]]\nname = 'a'\n", "bug 'a': it needs a signature"),
            ("[[bug]]\nname = 'a'\npasses_without = ['subgroupAdd in a loop']\n", "'subgroupAdd in a loop'"),
            (
                "[[bug]]\nname = 'a'\npasses_without = ['spirv-opt']\n",
                "bug 'a': programs of many bugs pass without that",
            ),
            ("[[bug]]\nname = 'a'\nsignature = '('\n", "bug 'a': no regular expression"),
            ("[[bug]]\nname = 'a'\nsignature = 'x'\navoid = ['subgroupNothing']\n", "'subgroupNothing'"),
            ("[[bug]]\nname = 'a'\ncase = 'gone.json'\n", "gone.json"),
            ("[[bug]]\nname = 'a'\nsignature = 'x'\n[[bug]]\nname = 'a'\nsignature = 'x'\n", "two bugs 'a'"),
            ("[[bug]]\nname = 'a'\nfixed = '1'\n", "fixed"),
        ];
        for (text, part) in table {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains("some.toml") && error.contains(part), "{error}");
        }
    }
}
