//! Which findings are counted together.

use std::fmt;

use serde::{Deserialize, Serialize};
use tangle_oracle::judge::{Judgement, Kind as Wrong, Mismatch, Verdict};
use tangle_oracle::observed::TangleRule;
use tangle_program::case::Case;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Expr, Function, SiteId, Stmt, VarId, walk_block};
use tangle_program::types::Scalar;

use crate::skeleton::category;

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
    /// What tells bugs of one kind apart: the kind of operation observed, how its result is wrong, the control flow around it and the
    /// tier, and the variant if it is not the front end's module; the broken rule of a lane map; how a crash ended, its stage, and what
    /// the driver said ([`telling_words`]).
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
            Verdict::Mismatch(mismatch) => {
                let mut signature = of_mismatch(case, mismatch);
                if !case.variant.is_unoptimised() {
                    // Another stage may be to blame.
                    signature.detail += &format!(", {}", case.variant.family());
                }
                Some(signature)
            }
            Verdict::LaneMap => {
                let fault = judgement.map_faults.first()?;
                Some(Signature { kind: Kind::LaneMap, detail: fault.rule.text().into() })
            }
            Verdict::Invalid(why) => Some(Signature { kind: Kind::Invalid, detail: why.clone() }),
            Verdict::Pass | Verdict::Vacuous => None,
        }
    }
}

/// The longest words of a dying driver that are kept.
const WORDS: usize = 100;

/// What a dying driver said of the reason, without addresses and numbers, which are others each time: a failed assertion, say.
pub fn telling_words(last_words: &str) -> Option<String> {
    const TELLING: [&str; 6] = ["assert", "error", "fatal", "panic", "terminate", "unreachable"];
    let is_telling = |line: &&str| TELLING.iter().any(|word| line.to_ascii_lowercase().contains(word));
    let line = last_words.lines().find(is_telling)?;
    Some(without_numbers(line.trim()).chars().take(WORDS).collect())
}

/// `at 0x7f03a1: t12 = and` becomes `at #: t# = and`.
fn without_numbers(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if let Some(address) = rest.strip_prefix("0x") {
            rest = address.trim_start_matches(|c: char| c.is_ascii_hexdigit());
            text.push('#');
        } else if c.is_ascii_digit() {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            text.push('#');
        } else {
            rest = &rest[c.len_utf8()..];
            text.push(c);
        }
    }
    text
}

fn of_mismatch(case: &Case, mismatch: &Mismatch) -> Signature {
    let tier = case.tier.name();
    let context = || context(case, mismatch.site);
    match mismatch.kind {
        Wrong::Value => {
            let (what, how) = wrong_value(case, mismatch);
            // Which lanes go wrong is the choice of the device there; the rule is not.
            let how = mismatch.rule.map_or(how, TangleRule::broken);
            Signature { kind: Kind::Value, detail: format!("{what}, {how}, {}, tier {tier}", context()) }
        }
        Wrong::Path => {
            let more = mismatch.lanes.iter().all(|lane| lane.actual.is_empty());
            let how = if more { "lanes end early" } else { "lanes go elsewhere" };
            Signature { kind: Kind::Path, detail: format!("{how}, {}, tier {tier}", context()) }
        }
        Wrong::Extra => Signature { kind: Kind::Path, detail: format!("lanes go on after their end, tier {tier}") },
    }
}

/// Where a site stands: the innermost construct around it, and whether a loop has ended before it there.
fn context(case: &Case, site: SiteId) -> String {
    let functions = &case.program.functions;
    let place = functions.iter().rev().enumerate().find_map(|(depth, function)| {
        let around = if depth == 0 { "in straight code" } else { "in a function" };
        find_site(&function.body, site, around)
    });
    match place {
        None => "nowhere".into(),
        Some((around, false)) => around.into(),
        Some((_, true)) => "after a loop".into(),
    }
}

/// The construct around a site, and true if a loop stands before it in the same block.
fn find_site(block: &[Stmt], site: SiteId, around: &'static str) -> Option<(&'static str, bool)> {
    let mut is_after_loop = false;
    for stmt in block {
        match stmt {
            Stmt::Log { site: here, .. } if *here == site => return Some((around, is_after_loop)),
            Stmt::If { then, otherwise, .. } => {
                let arms =
                    find_site(then, site, "in an if arm").or_else(|| find_site(otherwise, site, "in an else arm"));
                if arms.is_some() {
                    return arms;
                }
            }
            _ => {
                let inside = if matches!(stmt, Stmt::Switch { .. }) { "in a switch" } else { "in a loop" };
                if let Some(place) = stmt.nested_blocks().find_map(|inner| find_site(inner, site, inside)) {
                    return Some(place);
                }
            }
        }
        is_after_loop |= matches!(stmt, Stmt::Loop(_));
    }
    None
}

/// What the first wrong word of a site shows, and how it is wrong.
fn wrong_value(case: &Case, mismatch: &Mismatch) -> (&'static str, &'static str) {
    const COMPUTED: (&str, &str) = ("computed value", "wrong value");
    let Some(lane) = mismatch.lanes.first() else { return COMPUTED };
    let mut words = lane.expected.iter().zip(lane.actual.iter().chain(std::iter::repeat(&0))).skip(1).enumerate();
    let wrong = words.find_map(|(word, (expected, actual))| {
        expected.filter(|expected| expected != actual).map(|expected| (word, expected, *actual))
    });
    let Some((word, expected, actual)) = wrong else { return COMPUTED };
    let Some(logged) = logged_at(case, mismatch.site, word) else { return COMPUTED };
    (category(logged.op.info().category), logged.how(expected, actual))
}

/// A subgroup operation whose result is logged.
#[derive(Clone, Copy)]
struct Logged {
    op: SubgroupOp,
    scalar: Scalar,
}

impl Logged {
    const fn how(self, expected: u32, actual: u32) -> &'static str {
        match self.op {
            SubgroupOp::Ballot if actual & !expected == 0 => "missing lanes",
            SubgroupOp::Ballot if expected & !actual == 0 => "extra lanes",
            SubgroupOp::Ballot => "other lanes",
            // What an exclusive scan gives to the first lane.
            SubgroupOp::Exclusive(fold) if expected == fold.identity(self.scalar) as u32 => "wrong identity",
            _ => "wrong value",
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

    #[test]
    fn words_of_a_crash_have_no_numbers_and_no_addresses() {
        for (words, want) in [
            ("", None),
            ("MESA: info: 12 queues", None),
            ("a line\nCannot select (fatal): 0x7f03a1: t12 = and\nmore", Some("Cannot select (fatal): #: t# = and")),
            ("x.c:301: assert(n < 16)", Some("x.c:#: assert(n < #)")),
            ("error: größe 0xfz", Some("error: größe #z")),
        ] {
            assert_eq!(telling_words(words).as_deref(), want, "{words}");
        }
    }

    #[test]
    fn masks_tell_how_they_are_wrong() {
        use tangle_program::subgroup::Fold;
        let table = [
            (SubgroupOp::Ballot, 0b1100, 0b0100, "missing lanes"),
            (SubgroupOp::Ballot, 0b1100, 0b1110, "extra lanes"),
            (SubgroupOp::Ballot, 0b1100, 0b0110, "other lanes"),
            (SubgroupOp::Exclusive(Fold::Min), u32::MAX, 0, "wrong identity"),
            (SubgroupOp::Exclusive(Fold::Min), 3, 4, "wrong value"),
            (SubgroupOp::Elect, 1, 0, "wrong value"),
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
            (1, ("in straight code", false)),
            (2, ("in an if arm", false)),
            (3, ("in an else arm", false)),
            (4, ("in a loop", false)),
            (5, ("in an if arm", false)),
            (6, ("in straight code", true)),
        ];
        for (site, place) in table {
            assert_eq!(find_site(&body, site, "in straight code"), Some(place), "site {site}");
        }
    }
}
