//! Runs a case as every variant on every device, to find the stage to blame ([`tangle_identity::stage`]).

use std::borrow::Cow;
use std::path::Path;

use tangle_analysis::validate::validate;
use tangle_files::write_atomically;
use tangle_identity::stage::{Cell, Column, Made, Outcome, Proof, Stage, Table, VARIANTS, VariantRow};
use tangle_identity::{Kind, Known};
use tangle_minimizer::access::each_block_mut;
use tangle_minimizer::{hide_constants, uniforms_in_variables};
use tangle_oracle::judge::Verdict;
use tangle_program::case::Case;
use tangle_program::tree::Stmt;
use tangle_program::variant::Variant;

use crate::prepare::{Prepared, ToolchainFault, prepare};
use crate::proof::prove;
use crate::target::{Conclusion, Finish, Target};

/// True if a table says more of a failure than its kind does. Where a driver dies, every cell costs a worker or the whole time limit, and
/// only a driver can do that.
pub const fn are_telling(kind: Kind) -> bool {
    !kind.costs_a_worker()
}

/// Runs the case itself, then all other variants of it.
pub fn table<'a>(targets: impl IntoIterator<Item = &'a Target>, case: &Case) -> Table {
    let mut targets: Vec<&Target> = targets.into_iter().collect();
    if targets.iter().any(|target| target.runs_modules()) {
        // What sees no module says nothing about who made it wrong.
        targets.retain(|target| target.runs_modules());
    }
    let mut variants = vec![case.variant.clone()];
    let fits = |variant: &Variant| *variant != case.variant && variant.fits(&case.entry_point);
    let is_opengl = |target: &&Target| target.capabilities.dialect.is_opengl();
    let modules = targets.iter().any(is_opengl).then_some(Variant::Module);
    variants.extend(Variant::FIXED.into_iter().chain(modules).filter(fits));
    let mut rows: Vec<VariantRow> = Vec::new();
    let mut proofs = Vec::new();
    for variant in variants {
        let case = Case { variant: variant.clone(), ..case.clone() };
        let prepared = prepare(case.clone());
        let conclusions = conclude(&targets, &prepared);
        if let (Ok(prepared), true) = (&prepared, rows.is_empty()) {
            proofs.extend(targets.iter().zip(&conclusions).filter_map(|(target, own)| prove(target, prepared, own)));
        }
        rows.push(row(Made::Variant(variant), &case, &conclusions));
    }
    if let Some((site, sparse)) = wrong_site(&rows[0]).and_then(|site| Some((site, with_one_site(case, site)?))) {
        rows.push(row(Made::OneSite(site), &sparse, &conclude(&targets, &prepare(sparse.clone()))));
    }
    let unoptimised = Case { variant: Variant::Unoptimised, ..case.clone() };
    if let Some(hidden) = hide_constants(&unoptimised) {
        let variables = uniforms_in_variables(&hidden, case.data.uniforms.len());
        for (made, case) in [(Made::ConstantsInVariables, variables), (Made::ConstantsHidden, hidden)] {
            rows.push(row(made, &case, &conclude(&targets, &prepare(case.clone()))));
        }
    }
    let column = |target: &&Target| Column {
        device: target.name.clone(),
        driver: driver(target),
        has_front_end: target.has_front_end(),
        is_runtime: target.is_runtime(),
    };
    Table { columns: targets.iter().map(column).collect(), rows, proofs }
}

/// Where the first device that fails is wrong.
fn wrong_site(row: &VariantRow) -> Option<u32> {
    row.cells.iter().find_map(|cell| match cell.outcome {
        Outcome::Fails { site, .. } => site,
        Outcome::Passes | Outcome::NotRun => None,
    })
}

/// The case with no other site logged; `None` if it has no other, or would not be valid.
fn with_one_site(case: &Case, site: u32) -> Option<Case> {
    let mut sparse = case.clone();
    each_block_mut(&mut sparse.program, &mut |_, block| {
        block.retain(|stmt| !matches!(stmt, Stmt::Log { site: other, .. } if *other != site));
    });
    (sparse != *case && validate(&sparse).is_ok()).then_some(sparse)
}

/// The name of a device's driver, or of the one beneath its runtime, the same for all its versions.
fn driver(target: &Target) -> String {
    let beneath = target.info["webgpu"]["driver"].as_str().map(str::to_owned);
    let named = beneath.unwrap_or_else(|| target.driver_id().name);
    if named.is_empty() { target.name.clone() } else { named }
}

/// What becomes of a case on every device.
fn conclude(targets: &[&Target], prepared: &Result<Prepared, ToolchainFault>) -> Vec<Conclusion> {
    let one = |target: &&Target| match prepared {
        Ok(prepared) => target.run(prepared),
        Err(fault) => Conclusion::from(fault),
    };
    targets.iter().map(one).collect()
}

fn row(made: Made, case: &Case, conclusions: &[Conclusion]) -> VariantRow {
    VariantRow { made, cells: conclusions.iter().map(|conclusion| cell(case, conclusion)).collect() }
}

fn cell(case: &Case, conclusion: &Conclusion) -> Cell {
    if let Some(signature) = conclusion.signature(case) {
        let site = match &conclusion.finish {
            Finish::Judged(judgement) => match &judgement.verdict {
                Verdict::Mismatch(mismatch) => Some(mismatch.site),
                _ => None,
            },
            _ => None,
        };
        let (kind, text, detail) = (signature.kind, signature.to_string(), signature.detail.to_string());
        return Cell { outcome: Outcome::Fails { kind, site }, text, detail };
    }
    let (outcome, text) = match &conclusion.finish {
        Finish::Judged(judgement) if judgement.verdict == Verdict::Pass => (Outcome::Passes, "pass".into()),
        Finish::Judged(_) => (Outcome::NotRun, "nothing to compare".into()),
        Finish::Compiled => (Outcome::NotRun, "compiled; the device runs nothing".into()),
        Finish::Unsupported { missing } => (Outcome::NotRun, format!("not run: lacks {}", missing.join(", "))),
        Finish::Fatal { how } => (Outcome::NotRun, format!("not run: {how}")),
        Finish::NoWorker { reason } => (Outcome::NotRun, format!("not run: {reason}")),
        Finish::Toolchain { .. } | Finish::Undefined { .. } | Finish::Endless { .. } | Finish::Failed(_) => {
            (Outcome::NotRun, "not run".into())
        }
    };
    Cell { outcome, text, detail: String::new() }
}

/// The table in a finding's folder, if there is one.
pub fn read(folder: &Path) -> Option<Table> {
    serde_json::from_slice(&tangle_files::read(&folder.join(VARIANTS), tangle_files::MOST).ok()?).ok()
}

/// The bugs that a minimised finding in a folder may show: where its table proves that the driver is to blame, not those of the toolchain.
pub fn candidates<'k>(known: &'k Known, folder: &Path, device: &str) -> Cow<'k, Known> {
    let blames_driver = |proof: &Proof| proof.device == device && proof.blame.stage == Stage::Driver;
    match read(folder).is_some_and(|table| table.proofs.iter().any(blames_driver)) {
        true => Cow::Owned(known.of_drivers()),
        false => Cow::Borrowed(known),
    }
}

/// Saves a table in a finding's folder.
///
/// # Errors
/// If it cannot be written.
pub fn save(table: &Table, folder: &Path) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(table)?;
    text.push(b'\n');
    write_atomically(&folder.join(VARIANTS), &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_identity::known::Bug;
    use tangle_identity::stage::Blame;
    use tangle_program::tree::walk_block;

    /// What a driver is proven to do wrong is no bug of who made its module.
    #[test]
    fn a_driver_that_is_to_blame_has_no_bug_of_the_toolchain() {
        let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../known");
        let known = Known::read(&[book]).expect("the bug book");
        let is_of_toolchain = |bug: &Bug| bug.name.starts_with("spirv-opt-");
        assert!(known.bugs().iter().any(is_of_toolchain));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let of = |device| candidates(&known, folder.path(), device).bugs().iter().any(is_of_toolchain);
        assert!(of("a"), "without a table");
        for (stage, named) in [(Stage::Driver, false), (Stage::Optimiser, true)] {
            let proof = Proof { device: "a".into(), blame: Blame::new(stage, "it is shown") };
            let table = Table { columns: Vec::new(), rows: Vec::new(), proofs: vec![proof] };
            save(&table, folder.path()).expect("it is ours");
            assert_eq!((of("a"), of("b")), (named, true), "{stage}");
        }
    }

    #[test]
    fn one_site_stays() {
        let case = Case::from_json(include_str!("../../../corpus/vectors/V01.json")).expect("a case of the corpus");
        for (site, left) in [(1, Some(vec![1])), (3, Some(vec![3]))] {
            let sites = with_one_site(&case, site).map(|case| {
                let mut sites = Vec::new();
                walk_block(&case.program.functions[0].body, &mut |stmt| {
                    if let Stmt::Log { site, .. } = stmt {
                        sites.push(*site);
                    }
                });
                sites
            });
            assert_eq!(sites, left, "site {site}");
        }
        let alone = with_one_site(&case, 1).expect("one site");
        assert_eq!(with_one_site(&alone, 1), None);
    }
}
