//! Which findings are counted together.

use std::fmt;

use serde::{Deserialize, Serialize};
use tangle_oracle::judge::{Judgement, Kind as Wrong, Mismatch, Verdict};
use tangle_program::case::{Case, Tier};
use tangle_program::tree::{Expr, SiteId, Stmt, VarId, walk_block};

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
    /// Another Vulkan error.
    VulkanError,
    /// The GLSL compiler rejected the program, or its SPIR-V does not validate. No driver saw it.
    Toolchain,
    /// The oracle calls the case not well-defined: a bug of tangle.
    Invalid,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 9] = [
        Kind::Value,
        Kind::Path,
        Kind::LaneMap,
        Kind::Crash,
        Kind::Hang,
        Kind::DeviceLost,
        Kind::VulkanError,
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
            Kind::Toolchain => "toolchain",
            Kind::Invalid => "invalid",
        }
    }
}

/// Findings with one signature look like one bug.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Signature {
    /// What kind.
    pub kind: Kind,
    /// What tells bugs of one kind apart: the operation observed and its lanes, the broken rule, the stage of a crash.
    pub detail: String,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.detail)
    }
}

impl Signature {
    /// The signature of a judgement, or `None` if the device did nothing wrong.
    pub fn of(case: &Case, judgement: &Judgement) -> Option<Signature> {
        match &judgement.verdict {
            Verdict::Mismatch(mismatch) => Some(of_mismatch(case, mismatch)),
            Verdict::LaneMap => {
                let fault = judgement.map_faults.first()?;
                Some(Signature { kind: Kind::LaneMap, detail: fault.rule.text().into() })
            }
            Verdict::Invalid(why) => Some(Signature { kind: Kind::Invalid, detail: why.clone() }),
            Verdict::Pass | Verdict::Vacuous => None,
        }
    }
}

fn of_mismatch(case: &Case, mismatch: &Mismatch) -> Signature {
    let divergence = if is_partial(case, mismatch) { "some lanes active" } else { "all lanes active" };
    let tier = tier_name(case.tier);
    match mismatch.kind {
        Wrong::Value => {
            let what = logged_operation(case, mismatch).unwrap_or_else(|| "computed value".into());
            Signature { kind: Kind::Value, detail: format!("{what}, {divergence}, tier {tier}") }
        }
        Wrong::Path => {
            let more = mismatch.lanes.iter().all(|lane| lane.actual.is_empty());
            let how = if more { "lanes end early" } else { "lanes go elsewhere" };
            Signature { kind: Kind::Path, detail: format!("{how}, {divergence}, tier {tier}") }
        }
        Wrong::Extra => Signature { kind: Kind::Path, detail: format!("lanes go on after their end, tier {tier}") },
    }
}

const fn tier_name(tier: Tier) -> &'static str {
    tier.name()
}

fn is_partial(case: &Case, mismatch: &Mismatch) -> bool {
    let active: u32 = mismatch.expected_active.iter().map(|(_, lanes)| lanes.0.count_ones()).sum();
    active < case.launch.invocations()
}

/// The name of what the first wrong word of a site shows: the subgroup operation last assigned to the logged variable, or in the
/// logged expression.
fn logged_operation(case: &Case, mismatch: &Mismatch) -> Option<String> {
    let lane = mismatch.lanes.first()?;
    let wrong = lane.expected.iter().zip(lane.actual.iter().chain(std::iter::repeat(&0)));
    let word = wrong.skip(1).position(|(expected, actual)| expected.is_some_and(|expected| expected != *actual))?;
    operation_at(case, mismatch.site, word)
}

fn operation_at(case: &Case, site: SiteId, word: usize) -> Option<String> {
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
                        Expr::Var(var) => function.var_type(*var).map_or(1, |ty| usize::from(ty.width)),
                        _ => 1,
                    };
                    if word < first + width && found.is_none() {
                        let expr = match value {
                            Expr::Var(var) => last_assigned.get(var).copied().unwrap_or(value),
                            other => other,
                        };
                        found = Some(operation_in(expr));
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

fn operation_in(expr: &Expr) -> Option<String> {
    let mut name = None;
    expr.walk(&mut |expr| {
        if let Expr::Subgroup(call) = expr {
            name.get_or_insert(call.op.info().name);
        }
    });
    name.map(str::to_owned)
}
