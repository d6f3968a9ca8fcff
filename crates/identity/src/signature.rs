//! Which findings are counted together: a signature of typed facts, from which English is made for people.

use std::fmt;

use serde::{Deserialize, Serialize};
use tangle_oracle::judge::{Judgement, Kind as Wrong, Mismatch, Observation, Verdict};
use tangle_oracle::map::{LaneMap, MapRule, SubgroupPromise};
use tangle_oracle::observed::TangleRule;
use tangle_program::api::Api;
use tangle_program::case::{Case, Tier};
use tangle_program::subgroup::{Category, Severity, SubgroupOp};
use tangle_program::tree::{Expr, Function, SiteId, Stmt, VarId, walk_block};
use tangle_program::types::Scalar;
use tangle_program::variant::Variant;

use crate::account::Account;
use crate::failure::{Crash, Doing, DriverError, ToolFault, ToolStep};
use crate::place::CrashPlace;
use crate::trace::after_loop;

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A lane logged a wrong value at the right place.
    Value,
    /// A lane took a wrong path.
    Path,
    /// The lane map breaks a rule.
    LaneMap,
    /// The worker process died.
    Crash,
    /// The worker did not answer in time.
    Hang,
    /// `VK_ERROR_DEVICE_LOST`
    DeviceLost,
    /// Another error code that a Vulkan function returned.
    VulkanError,
    /// An error of OpenGL or EGL.
    #[serde(rename = "opengl_error")]
    OpenGlError,
    /// An error of WebGPU.
    #[serde(rename = "webgpu_error")]
    WebGpuError,
    /// There was no memory, and again none with nothing beside it.
    OutOfMemory,
    /// What came back cannot be what was asked for: other counts or sizes.
    Implausible,
    /// The GLSL compiler rejected the program, or its SPIR-V does not validate. No driver saw it.
    Toolchain,
    /// The oracle calls the case not well-defined: a bug of tangle.
    Invalid,
}

impl Kind {
    /// Every kind, in the order of declaration.
    pub const ALL: [Kind; 13] = [
        Kind::Value,
        Kind::Path,
        Kind::LaneMap,
        Kind::Crash,
        Kind::Hang,
        Kind::DeviceLost,
        Kind::VulkanError,
        Kind::OpenGlError,
        Kind::WebGpuError,
        Kind::OutOfMemory,
        Kind::Implausible,
        Kind::Toolchain,
        Kind::Invalid,
    ];

    /// The name in JSON, on screen and in folder names.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Value => "value",
            Kind::Path => "path",
            Kind::LaneMap => "lane_map",
            Kind::Crash => "crash",
            Kind::Hang => "hang",
            Kind::DeviceLost => "device_lost",
            Kind::VulkanError => "vulkan_error",
            Kind::OpenGlError => "opengl_error",
            Kind::WebGpuError => "webgpu_error",
            Kind::OutOfMemory => "out_of_memory",
            Kind::Implausible => "implausible",
            Kind::Toolchain => "toolchain",
            Kind::Invalid => "invalid",
        }
    }

    /// True if the driver gives no result at all.
    pub const fn has_no_result(self) -> bool {
        match self {
            Kind::Value | Kind::Path | Kind::LaneMap | Kind::Toolchain | Kind::Invalid => false,
            Kind::Crash
            | Kind::Hang
            | Kind::DeviceLost
            | Kind::VulkanError
            | Kind::OpenGlError
            | Kind::WebGpuError
            | Kind::OutOfMemory
            | Kind::Implausible => true,
        }
    }

    /// True if every failure of the kind costs a worker, or the whole time limit.
    pub const fn costs_a_worker(self) -> bool {
        matches!(self, Kind::Crash | Kind::Hang | Kind::DeviceLost | Kind::OutOfMemory | Kind::Implausible)
    }
}

/// Findings with one signature look like one bug.
///
/// In JSON it is `kind`, `detail` (in English, for people) and `facts`, which is what is read back. Findings of older formats have no `facts`:
/// their `detail` is kept as it stands ([`Detail::Text`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Wire", into = "Wire")]
pub struct Signature {
    /// What went wrong; `detail` is of the variant that belongs to it.
    pub kind: Kind,
    /// What distinguishes bugs of one kind.
    pub detail: Detail,
    /// True if the device runs its driver with settings that nobody has but who debugs it.
    pub debug_settings: bool,
}

/// What distinguishes bugs of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Of [`Kind::Value`]: a lane logged a wrong value at the right place.
    Value {
        /// What the first wrong word of the site shows.
        what: Shown,
        /// How it is wrong.
        how: How,
        /// Where and under which rules.
        at: Circumstances,
    },
    /// Of [`Kind::Path`]: a lane took a wrong path.
    Path {
        /// How it is wrong.
        how: Strayed,
        /// Where and under which rules.
        at: Circumstances,
    },
    /// A broken rule of the lane map.
    LaneMap(MapRule),
    /// Of [`Kind::Crash`]: how the process ended, while doing what, and where.
    Crash(Crash),
    /// Of [`Kind::Hang`]: what the worker was doing when its time was over.
    Hang(Doing),
    /// Of [`Kind::DeviceLost`]: the step that returned the error.
    DeviceLost(Doing),
    /// Another error of the driver.
    Driver(DriverError),
    /// An allocation that failed in the driver's process.
    OutOfMemory(Doing),
    /// An answer that cannot be.
    Implausible(Doing),
    /// A failure of the toolchain.
    Toolchain(ToolFault),
    /// Why a case is not well-defined, or what else was wrong with it; or the signature of a finding of an older format: in English.
    Text(String),
}

/// What has a wrong value, as far as it can be said without tracing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// The result of a subgroup operation.
    Operation(Category),
    /// A variable that a lane has left a loop with ([`crate::trace`]).
    Variable,
    /// Anything else that is computed.
    Computed,
}

/// How a value is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It is another value, of which nothing more is known.
    Other,
    /// A ballot lacks lanes.
    MissingLanes,
    /// A ballot has lanes too many.
    ExtraLanes,
    /// A ballot lacks lanes and has others.
    OtherLanes,
    /// What an exclusive scan gives to its first lane.
    Identity,
    /// It is what lanes computed that went on in the loop.
    AfterLoop,
    /// No legal division of the lanes gives it: this rule is broken.
    Tangle(TangleRule),
}

/// How a path is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strayed {
    /// Every lane that is missing logged nothing more.
    Early,
    /// Some lane that is missing logged another site in its place.
    Elsewhere,
    /// Lanes go on after their end.
    GoOn,
}

/// Where a value or path is wrong, and under which rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Circumstances {
    /// The control flow around the log site; `None` after the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Surroundings>,
    /// The tier of the case: which reconvergence the shader asks for.
    pub tier: Tier,
    /// Who made the module: another stage may be to blame.
    #[serde(default, skip_serializing_if = "Made::is_front_end")]
    pub made: Made,
    /// What the mismatch rests on.
    #[serde(default, skip_serializing_if = "is_hard")]
    pub severity: Severity,
}

fn is_hard(severity: &Severity) -> bool {
    *severity == Severity::Hard
}

/// The innermost construct around a log site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surroundings {
    /// No construct: at the top of `main`.
    StraightCode,
    /// None, in a function that is called.
    Function,
    /// The first arm of an `if`.
    Then,
    /// The second arm of an `if`.
    Else,
    /// The body of a loop.
    Loop,
    /// An arm of a switch.
    Switch,
    /// Any, with a loop before the site in the same block.
    AfterLoop,
    /// The program has no such site.
    Nowhere,
}

/// Who made a module, as far as stages are distinguished by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    /// The front end, without an optimiser behind it.
    #[default]
    FrontEnd,
    /// The front end, where the device has another one.
    Module,
    /// The front end, in a pipeline with `VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT`.
    DriverUnoptimised,
    /// `spirv-opt -O`, behind the front end.
    Performance,
    /// `spirv-opt -Os`, behind the front end.
    Size,
    /// Some passes of `spirv-opt`.
    Passes,
    /// The printer of SPIR-V.
    Printer,
    /// Another front end than glslang with GLSL.
    Compiler,
}

impl Made {
    /// That of a variant.
    pub const fn of(variant: &Variant) -> Made {
        match variant {
            Variant::Unoptimised => Made::FrontEnd,
            Variant::Module => Made::Module,
            Variant::DriverUnoptimised => Made::DriverUnoptimised,
            Variant::Performance => Made::Performance,
            Variant::Size => Made::Size,
            Variant::Passes(_) => Made::Passes,
            Variant::Printed(_) => Made::Printer,
            Variant::Compiled(_) => Made::Compiler,
        }
    }

    const fn is_front_end(&self) -> bool {
        matches!(self, Made::FrontEnd)
    }

    const fn name(self) -> &'static str {
        match self {
            Made::FrontEnd => "unoptimised",
            Made::Module => "module",
            Made::DriverUnoptimised => "driver-unoptimised",
            Made::Performance => "spirv-opt-O",
            Made::Size => "spirv-opt-Os",
            Made::Passes => "spirv-opt passes",
            Made::Printer => "printed",
            Made::Compiler => "another front end",
        }
    }
}

/// A signature in JSON.
#[derive(Clone, Serialize, Deserialize)]
struct Wire {
    kind: Kind,
    detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    facts: Option<Detail>,
    #[serde(default, skip_serializing_if = "is_false")]
    debug_settings: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl From<Wire> for Signature {
    fn from(Wire { kind, detail, facts, debug_settings }: Wire) -> Signature {
        let detail = facts.unwrap_or_else(|| Detail::Text(Doing::with_current_steps(detail)));
        // Older formats call errors of OpenGL so, too: the function says of which interface it is.
        let is_opengl = |error: &DriverError| error.call.starts_with("gl") || error.call.starts_with("egl");
        let kind = match (&detail, kind) {
            (Detail::Driver(error), Kind::VulkanError) if is_opengl(error) => Kind::OpenGlError,
            _ => kind,
        };
        Signature { kind, detail, debug_settings }
    }
}

impl From<Signature> for Wire {
    fn from(Signature { kind, detail, debug_settings }: Signature) -> Wire {
        let text = detail.to_string();
        let facts = Some(detail).filter(|detail| !matches!(detail, Detail::Text(_)));
        Wire { kind, detail: text, facts, debug_settings }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = if self.debug_settings { ", with debug settings" } else { "" };
        write!(f, "{}: {}{with}", self.kind.name(), self.detail)
    }
}

impl Detail {
    /// Where a driver died, if that is what happened and its stack is known.
    pub fn crash_place(&self) -> Option<&CrashPlace> {
        let Detail::Crash(Crash { place, .. }) = self else { return None };
        place.as_ref()
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detail::Value { what, how, at } => write!(f, "{what}, {how}{at}"),
            Detail::Path { how, at } => write!(f, "{how}{at}"),
            Detail::LaneMap(rule) => f.write_str(rule.text()),
            Detail::Crash(crash) => crash.fmt(f),
            Detail::OutOfMemory(doing) => write!(f, "an allocation failed while {doing}"),
            Detail::Hang(doing) | Detail::DeviceLost(doing) | Detail::Implausible(doing) => write!(f, "while {doing}"),
            Detail::Driver(error) => error.fmt(f),
            Detail::Toolchain(fault) => fault.fmt(f),
            Detail::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Shown::Operation(category) => category.title(),
            Shown::Variable => "variable",
            Shown::Computed => "computed value",
        })
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            How::Other => "wrong value",
            How::MissingLanes => "missing lanes",
            How::ExtraLanes => "extra lanes",
            How::OtherLanes => "other lanes",
            How::Identity => "wrong identity",
            How::AfterLoop => "changed after its lane had left the loop",
            How::Tangle(rule) => rule.broken(),
        })
    }
}

impl fmt::Display for Strayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Strayed::Early => "lanes end early",
            Strayed::Elsewhere => "lanes go elsewhere",
            Strayed::GoOn => "lanes go on after their end",
        })
    }
}

impl fmt::Display for Circumstances {
    /// `, in a loop, tier plain, spirv-opt-O`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, ", {place}")?;
        }
        write!(f, ", tier {}", self.tier.name())?;
        if !self.made.is_front_end() {
            write!(f, ", {}", self.made.name())?;
        }
        if is_hard(&self.severity) { Ok(()) } else { write!(f, ", {}", self.severity.name()) }
    }
}

impl fmt::Display for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Surroundings::StraightCode => "in straight code",
            Surroundings::Function => "in a function",
            Surroundings::Then => "in an if arm",
            Surroundings::Else => "in an else arm",
            Surroundings::Loop => "in a loop",
            Surroundings::Switch => "in a switch",
            Surroundings::AfterLoop => "after a loop",
            Surroundings::Nowhere => "nowhere",
        })
    }
}

impl Signature {
    /// A failure on a device as its users have it.
    pub const fn new(kind: Kind, detail: Detail) -> Signature {
        Signature { kind, detail, debug_settings: false }
    }

    /// The same on a device whose driver runs with settings for debugging only, or not.
    #[must_use]
    pub fn with_debug_settings(self, debug_settings: bool) -> Signature {
        Signature { debug_settings, ..self }
    }

    /// The signature of a judgement, or `None` if the device did nothing wrong.
    pub fn of(case: &Case, judgement: &Judgement) -> Option<Signature> {
        match &judgement.verdict {
            Verdict::Mismatch(mismatch) => Some(of_mismatch(case, mismatch)),
            Verdict::LaneMap => {
                let fault = judgement.map_faults.first()?;
                Some(Signature::new(Kind::LaneMap, Detail::LaneMap(fault.rule)))
            }
            Verdict::Invalid(why) => Some(Signature::new(Kind::Invalid, Detail::Text(why.clone()))),
            Verdict::Pass | Verdict::Vacuous => None,
        }
    }

    /// The same, with a wrong value traced to where it went wrong, as far as what was read back shows it.
    pub fn traced(case: &Case, judgement: &Judgement, observation: Option<&Observation>) -> Option<Signature> {
        let mut signature = Signature::of(case, judgement)?;
        if let (Detail::Value { what, how, .. }, Some(observation)) = (&mut signature.detail, observation)
            && is_changed_after_loop(case, observation)
        {
            (*what, *how) = (Shown::Variable, How::AfterLoop);
        }
        Some(signature)
    }

    /// A signature as older formats have it in a list: `kind: detail`.
    pub fn from_line(line: &str) -> Option<Signature> {
        let (name, detail) = line.split_once(": ")?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name)?;
        Some(Signature::new(kind, Detail::Text(detail.into())))
    }

    /// True if a smaller case that fails like this shows the same failure as one that fails like `other`: any wrong result for a wrong result, if it
    /// rests on as much; of a failure of the toolchain the step, since the message depends on the program.
    pub fn fails_like(&self, other: &Signature) -> bool {
        let is_wrong_result = |kind| matches!(kind, Kind::Value | Kind::Path);
        match (&self.detail, &other.detail) {
            // What a smaller case shows may not rest on less.
            _ if is_wrong_result(self.kind) && is_wrong_result(other.kind) => self.severity() <= other.severity(),
            _ if self.kind != other.kind => false,
            (Detail::Toolchain(a), Detail::Toolchain(b)) => a.step == b.step,
            (Detail::Crash(crash), Detail::Text(text)) | (Detail::Text(text), Detail::Crash(crash))
                if crash.place.is_some() =>
            {
                text.starts_with(&format!("{} while {}", crash.end, crash.doing))
            }
            // Findings of older formats: those of the first versions are without the driver's message.
            (Detail::Text(a), Detail::Text(b)) => a == b,
            (known, Detail::Text(text)) | (Detail::Text(text), known) => known.to_string().starts_with(text.as_str()),
            (Detail::Crash(a), Detail::Crash(b)) => a.is_like(b),
            (a, b) => a == b,
        }
    }

    /// What of it can be compared with a finding of another build of the driver.
    #[must_use]
    pub fn in_any_build(&self) -> Signature {
        let mut signature = self.clone();
        if let Detail::Crash(crash) = &mut signature.detail {
            crash.place = crash.place.as_ref().map(CrashPlace::in_any_build);
        }
        signature
    }

    /// What the finding rests on: a crash is one whatever anybody expects, but no user of the driver sees what only happens with settings for
    /// debugging.
    pub const fn severity(&self) -> Severity {
        match &self.detail {
            _ if self.debug_settings => Severity::Quality,
            Detail::Value { at, .. } | Detail::Path { at, .. } => at.severity,
            Detail::LaneMap(rule) => rule.severity(),
            _ => Severity::Hard,
        }
    }

    /// True if a step of the toolchain made a module without the promise of reconvergence that its input has.
    pub const fn loses_promise(&self) -> bool {
        let Detail::Toolchain(fault) = &self.detail else { return false };
        matches!(fault.step, ToolStep::Promise | ToolStep::PromiseOptimised)
    }

    /// True if the toolchain's optimiser failed, or what it made is not valid.
    pub const fn is_of_optimiser(&self) -> bool {
        let Detail::Toolchain(fault) = &self.detail else { return false };
        matches!(fault.step, ToolStep::Optimise | ToolStep::ValidateOptimised | ToolStep::PromiseOptimised)
    }
}

fn is_changed_after_loop(case: &Case, observation: &Observation) -> bool {
    // What the device promises of subgroups was judged; here, any size and order of quads that it shows will do.
    let size = observation.map.get(1).copied().unwrap_or(0);
    let any = SubgroupPromise { api: Api::OpenGl, ..SubgroupPromise::vulkan(size, size, size) };
    let (map, _) = LaneMap::check(case, &observation.map, any);
    let account = map.and_then(|map| Account::new(case, map, Some(observation)).ok());
    account.is_some_and(|account| account.first().is_some_and(|first| after_loop(&account, &first).is_some()))
}

fn of_mismatch(case: &Case, mismatch: &Mismatch) -> Signature {
    let severity = mismatch.severity;
    let at = |place| Circumstances { place, tier: case.tier, made: Made::of(&case.variant), severity };
    let here = || at(Some(place(case, mismatch.site)));
    match mismatch.kind {
        Wrong::Value => {
            let (what, how) = wrong_value(case, mismatch);
            // Which lanes go wrong is the choice of the device there; the rule is not.
            let how = mismatch.rule.map_or(how, How::Tangle);
            Signature::new(Kind::Value, Detail::Value { what, how, at: here() })
        }
        Wrong::Path => {
            let ends = mismatch.lanes.iter().all(|lane| lane.actual.is_empty());
            let how = if ends { Strayed::Early } else { Strayed::Elsewhere };
            Signature::new(Kind::Path, Detail::Path { how, at: here() })
        }
        Wrong::Extra => Signature::new(Kind::Path, Detail::Path { how: Strayed::GoOn, at: at(None) }),
    }
}

/// Where a site stands: the innermost construct around it, and whether a loop has ended before it there.
fn place(case: &Case, site: SiteId) -> Surroundings {
    let functions = &case.program.functions;
    let found = functions.iter().rev().enumerate().find_map(|(depth, function)| {
        let around = if depth == 0 { Surroundings::StraightCode } else { Surroundings::Function };
        find_site(&function.body, site, around)
    });
    found.unwrap_or(Surroundings::Nowhere)
}

/// The construct around a site, if it is in a block in `around`.
fn find_site(block: &[Stmt], site: SiteId, around: Surroundings) -> Option<Surroundings> {
    let within = |stmt: &Stmt, around| stmt.nested_blocks().find_map(|inner| find_site(inner, site, around));
    let mut is_after_loop = false;
    for stmt in block {
        let found = match stmt {
            Stmt::Log { site: here, .. } if *here == site => {
                Some(if is_after_loop { Surroundings::AfterLoop } else { around })
            }
            Stmt::If { then, otherwise, .. } => {
                find_site(then, site, Surroundings::Then).or_else(|| find_site(otherwise, site, Surroundings::Else))
            }
            Stmt::Switch { .. } => within(stmt, Surroundings::Switch),
            Stmt::Loop(_) => within(stmt, Surroundings::Loop),
            // What is no construct of control flow puts nothing around it.
            _ => within(stmt, around),
        };
        if found.is_some() {
            return found;
        }
        is_after_loop |= matches!(stmt, Stmt::Loop(_));
    }
    None
}

/// What the first wrong word of a site shows, and how it is wrong.
fn wrong_value(case: &Case, mismatch: &Mismatch) -> (Shown, How) {
    const COMPUTED: (Shown, How) = (Shown::Computed, How::Other);
    let Some(lane) = mismatch.lanes.first() else { return COMPUTED };
    let mut words = lane.expected.iter().zip(lane.actual.iter().chain(std::iter::repeat(&0))).skip(1).enumerate();
    let wrong = words.find_map(|(word, (expected, actual))| {
        expected.filter(|expected| expected != actual).map(|expected| (word, expected, *actual))
    });
    let Some((word, expected, actual)) = wrong else { return COMPUTED };
    let Some(logged) = logged_at(case, mismatch.site, word) else { return COMPUTED };
    (Shown::Operation(logged.op.info().category), logged.how(expected, actual))
}

/// A subgroup operation whose result is logged.
#[derive(Clone, Copy)]
struct Logged {
    op: SubgroupOp,
    scalar: Scalar,
}

impl Logged {
    const fn how(self, expected: u32, actual: u32) -> How {
        match self.op {
            SubgroupOp::Ballot if actual & !expected == 0 => How::MissingLanes,
            SubgroupOp::Ballot if expected & !actual == 0 => How::ExtraLanes,
            SubgroupOp::Ballot => How::OtherLanes,
            SubgroupOp::Exclusive(fold) if expected == fold.identity(self.scalar) as u32 => How::Identity,
            _ => How::Other,
        }
    }
}

/// The subgroup operation that is logged as a word of a site: the one last assigned to the logged variable, or in the logged
/// expression.
fn logged_at(case: &Case, site: SiteId, word: usize) -> Option<Logged> {
    for function in &case.program.functions {
        let mut last_assigned = std::collections::BTreeMap::<VarId, &Expr>::new();
        let mut found = None;
        walk_block(&function.body, &mut |stmt| match stmt {
            Stmt::Assign { var, value } => {
                last_assigned.insert(*var, value);
            }
            Stmt::Log { site: s, values } if *s == site => {
                let mut first = 0;
                for value in values {
                    let width = match value {
                        Expr::Var(var) => function.var_type(*var).map_or(1, |ty| ty.components()),
                        _ => 1,
                    };
                    if word < first + width && found.is_none() {
                        let expr = match value {
                            Expr::Var(var) => last_assigned.get(var).copied().unwrap_or(value),
                            other => other,
                        };
                        found = Some(logged_in(function, expr));
                    }
                    first += width;
                }
            }
            _ => {}
        });
        if let Some(found) = found {
            return found;
        }
    }
    None
}

fn logged_in(function: &Function, expr: &Expr) -> Option<Logged> {
    let mut logged = None;
    expr.walk(&mut |expr| {
        if let Expr::Subgroup(call) = expr {
            let scalar = call.args.first().and_then(|value| value.ty(function)).map_or(Scalar::Uint, |ty| ty.scalar);
            logged.get_or_insert(Logged { op: call.op, scalar });
        }
    });
    logged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::End;
    use crate::place::Frame;

    #[test]
    fn a_wrong_mask_lacks_lanes_or_has_too_many() {
        use tangle_program::subgroup::Fold;
        let table = [
            (SubgroupOp::Ballot, 0b1100, 0b0100, How::MissingLanes),
            (SubgroupOp::Ballot, 0b1100, 0b1110, How::ExtraLanes),
            (SubgroupOp::Ballot, 0b1100, 0b0110, How::OtherLanes),
            (SubgroupOp::Exclusive(Fold::Min), u32::MAX, 0, How::Identity),
            (SubgroupOp::Exclusive(Fold::Min), 3, 4, How::Other),
            (SubgroupOp::Elect, 1, 0, How::Other),
        ];
        for (op, expected, actual, how) in table {
            assert_eq!(
                Logged { op, scalar: Scalar::Uint }.how(expected, actual),
                how,
                "{op:?} {expected:b} {actual:b}"
            );
        }
    }

    #[test]
    fn the_context_is_the_innermost_construct() {
        let log = |site| Stmt::Log { site, values: Vec::new() };
        let when = |then, otherwise| Stmt::If { cond: Expr::Bool(true), then, otherwise, control: Default::default() };
        let repeat = |body| {
            use tangle_program::tree::{Loop, LoopKind};
            Stmt::Loop(Box::new(Loop {
                kind: LoopKind::Forever,
                counter: 0,
                bound: Expr::Uint(1),
                test: None,
                body,
                control: Default::default(),
            }))
        };
        let body =
            vec![log(1), when(vec![log(2)], vec![log(3)]), repeat(vec![log(4), when(vec![log(5)], vec![])]), log(6)];
        let table = [
            (1, Surroundings::StraightCode),
            (2, Surroundings::Then),
            (3, Surroundings::Else),
            (4, Surroundings::Loop),
            (5, Surroundings::Then),
            (6, Surroundings::AfterLoop),
        ];
        for (site, place) in table {
            assert_eq!(find_site(&body, site, Surroundings::StraightCode), Some(place), "site {site}");
        }
    }

    /// One of each, as it is written to disk, and what people read.
    #[test]
    fn signatures_are_read_back_as_they_were_written() {
        let at = Circumstances {
            place: Some(Surroundings::AfterLoop),
            tier: Tier::Plain,
            made: Made::Performance,
            severity: Severity::Strong,
        };
        let said = Some("assert(n < #)".into());
        let crash = Crash { end: End::Signal(11), doing: Doing::Pipeline, place: None, message: said };
        let library = Frame::Library { path: "libx.so.1", symbol: Some("_ZN1a1bEi"), function: None };
        let place = CrashPlace::of([library, Frame::Generated]);
        let placed = Crash { place, message: None, ..crash.clone() };
        let error = DriverError { call: "vkX".into(), result: "VK_ERROR_UNKNOWN".into(), doing: Doing::Pipeline };
        let table = [
            (
                Kind::Value,
                Detail::Value { what: Shown::Operation(Category::Vote), how: How::Other, at },
                "value: vote, wrong value, after a loop, tier plain, spirv-opt-O, strong",
            ),
            (
                Kind::Path,
                Detail::Path {
                    how: Strayed::GoOn,
                    at: Circumstances { place: None, made: Made::FrontEnd, severity: Severity::Hard, ..at },
                },
                "path: lanes go on after their end, tier plain",
            ),
            (Kind::LaneMap, Detail::LaneMap(MapRule::NumSubgroups), "lane_map: gl_NumSubgroups is one number"),
            (Kind::Crash, Detail::Crash(crash), "crash: killed by SIGSEGV while creating the pipeline: assert(n < #)"),
            (
                Kind::Crash,
                Detail::Crash(placed),
                "crash: killed by SIGSEGV while creating the pipeline, in a::b of libx, generated code",
            ),
            (Kind::Hang, Detail::Hang(Doing::Run), "hang: while running the dispatch"),
            (Kind::DeviceLost, Detail::DeviceLost(Doing::Run), "device_lost: while running the dispatch"),
            (
                Kind::VulkanError,
                Detail::Driver(error),
                "vulkan_error: vkX returned VK_ERROR_UNKNOWN while creating the pipeline",
            ),
            (
                Kind::Toolchain,
                Detail::Toolchain(ToolFault::new(ToolStep::Optimise, "killed by SIGABRT")),
                "toolchain: spirv-opt killed by SIGABRT",
            ),
            (Kind::Invalid, Detail::Text("why".into()), "invalid: why"),
        ];
        for (kind, detail, text) in table {
            let signature = Signature::new(kind, detail);
            assert!(signature.to_string().starts_with(text), "{signature}");
            let json = serde_json::to_string(&signature).expect("plain data");
            assert_eq!(serde_json::from_str::<Signature>(&json).expect("it was just written"), signature, "{json}");
            assert!(json.contains(&format!("\"detail\":\"{}\"", signature.detail)), "people read it: {json}");
        }
    }

    #[test]
    fn debug_settings_are_part_of_a_signature() {
        let crash = Crash { end: End::Signal(6), doing: Doing::Run, place: None, message: None };
        let crash = Signature::new(Kind::Crash, Detail::Crash(crash));
        let debug = crash.clone().with_debug_settings(true);
        assert_eq!((crash.severity(), debug.severity()), (Severity::Hard, Severity::Quality));
        assert_eq!(debug.to_string(), format!("{crash}, with debug settings"));
        for signature in [crash, debug] {
            let json = serde_json::to_string(&signature).expect("plain data");
            assert_eq!(
                json.contains("debug_settings"),
                signature.debug_settings,
                "older formats are read as users have it"
            );
            assert_eq!(serde_json::from_str::<Signature>(&json).expect("it was just written"), signature);
        }
    }

    /// A driver's threads may fail before the submission has returned or after it: that is one signature, in all formats.
    #[test]
    fn submission_and_wait_are_one_step() {
        let crash = Crash { end: End::Signal(6), doing: Doing::Run, place: None, message: None };
        let run = Signature::new(Kind::Crash, Detail::Crash(crash));
        for (step, words) in [("submit", "submitting"), ("wait", "waiting for"), ("run", "running")] {
            let detail = format!("killed by SIGABRT while {words} the dispatch");
            let text = format!(r#"{{"kind":"crash","detail":"{detail}"}}"#);
            let old: Signature = serde_json::from_str(&text).expect("a signature");
            assert!(run.fails_like(&old), "{old}");
            let facts = format!(r#"{{"crash":{{"end":{{"signal":6}},"doing":"{step}"}}}}"#);
            let text = format!(r#"{{"kind":"crash","detail":"{detail}","facts":{facts}}}"#);
            assert_eq!(serde_json::from_str::<Signature>(&text).expect("a signature"), run);
        }
    }

    #[test]
    fn signatures_of_older_formats_are_kept_as_they_stand() {
        let old = r#"{"kind":"crash","detail":"killed by SIGSEGV while creating the pipeline"}"#;
        let old: Signature = serde_json::from_str(old).expect("a signature");
        assert_eq!(old.to_string(), "crash: killed by SIGSEGV while creating the pipeline");
        let crash = |doing, message: Option<&str>| {
            let crash = Crash { end: End::Signal(11), doing, place: None, message: message.map(Into::into) };
            Signature::new(Kind::Crash, Detail::Crash(crash))
        };
        let wrong = |severity| {
            let at = Circumstances { place: None, tier: Tier::Plain, made: Made::FrontEnd, severity };
            Signature::new(Kind::Path, Detail::Path { how: Strayed::Early, at })
        };
        assert!(wrong(Severity::Hard).fails_like(&wrong(Severity::Strong)));
        assert!(!wrong(Severity::Quality).fails_like(&wrong(Severity::Strong)));
        assert!(crash(Doing::Pipeline, Some("assert")).fails_like(&old));
        assert!(!crash(Doing::Run, None).fails_like(&old));
        assert!(!crash(Doing::Pipeline, None).fails_like(&crash(Doing::Pipeline, Some("assert"))));
        let place = CrashPlace::of([Frame::Generated]);
        let placed = Crash { end: End::Signal(11), doing: Doing::Pipeline, place, message: None };
        let placed = Signature::new(Kind::Crash, Detail::Crash(placed));
        for before in [&old, &crash(Doing::Pipeline, None), &crash(Doing::Pipeline, Some("assert"))] {
            assert!(placed.fails_like(before) && before.fails_like(&placed), "{before}");
        }
        assert!(!placed.fails_like(&crash(Doing::Run, None)));
        let facts = r#"{"driver":{"call":"glLinkProgram","result":"x","doing":"module"}}"#;
        let gl = format!(r#"{{"kind":"vulkan_error","detail":"x","facts":{facts}}}"#);
        assert_eq!(serde_json::from_str::<Signature>(&gl).expect("a signature").kind, Kind::OpenGlError);
    }
}
