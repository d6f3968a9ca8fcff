//! The tier at which a violation is clearest. What a program breaks at a weak tier may rest on less than a sentence (lanes on one path of divergent
//! control flow, say); at tier maximal there is one for it. Where a device offers that tier, the same program is judged there, too.

use tangle_analysis::validate::validate;
use tangle_identity::{Kind, Signature};
use tangle_oracle::judge::Verdict;
use tangle_program::case::{Case, Tier};
use tangle_program::subgroup::Severity;

use crate::target::{Conclusion, Finish, Target};

/// The result of a case whose mismatch rests on less than a sentence, at tier maximal.
pub enum AtMaximal {
    /// It is wrong there beyond doubt.
    Wrong(Box<(Case, Conclusion)>),
    /// It is right there.
    Right,
    /// Nothing that says more: the mismatch is beyond doubt already, the device does not offer the tier, the program would not be valid
    /// there, or it fails there in another way.
    Unsaid,
}

/// Judges at tier maximal a case that failed, if its tier is weaker and what it breaks rests on less than a sentence. `run` runs a case on the
/// device, up to `runs` times.
///
/// # Errors
/// Those of `run`.
pub fn at_maximal(
    target: &Target,
    case: &Case,
    failure: Option<&Signature>,
    runs: u32,
    mut run: impl FnMut(&Case) -> anyhow::Result<Conclusion>,
) -> anyhow::Result<AtMaximal> {
    let is_doubtful = failure.is_some_and(|signature| signature.severity() == Severity::Strong);
    let Some(case) = raised(target, case).filter(|_| is_doubtful) else { return Ok(AtMaximal::Unsaid) };
    let is_wrong = |signature: &Signature| {
        matches!(signature.kind, Kind::Value | Kind::Path) && signature.severity() == Severity::Hard
    };
    for _ in 0..runs {
        let conclusion = run(&case)?;
        if conclusion.signature(&case).is_some_and(|signature| is_wrong(&signature)) {
            return Ok(AtMaximal::Wrong(Box::new((case, conclusion))));
        }
        if !is_pass(&conclusion) {
            return Ok(AtMaximal::Unsaid);
        }
    }
    Ok(AtMaximal::Right)
}

/// The case at tier maximal, if it is of a weaker one and can run there.
pub fn raised(target: &Target, case: &Case) -> Option<Case> {
    if case.tier == Tier::Maximal {
        return None;
    }
    let case = Case { tier: Tier::Maximal, ..case.clone() };
    (validate(&case).is_ok() && target.missing(&case).is_empty()).then_some(case)
}

/// True if something was compared, and everything was right.
pub(crate) fn is_pass(conclusion: &Conclusion) -> bool {
    matches!(&conclusion.finish, Finish::Judged(judgement) if judgement.verdict == Verdict::Pass)
}
