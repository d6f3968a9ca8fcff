//! Mutation testing of the oracle: README.md says how.

mod find;
mod report;
mod run;
mod schema;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

const USAGE: &str = "\
tangle-mutants build [--root DIR] [--out DIR]     writes the schema, builds its tests, and records what they reach
tangle-mutants run [--out DIR] [--jobs N] [--time SECONDS] [--results FILE] [--only ID,ID…]
tangle-mutants report [--out DIR] [--results FILE] [--explained FILE]

--root is the repository (.), --out where everything is (ROOT/target/mutants), --results is OUT/results.tsv.";

/// A long test that is also run for less long, before others of its length.
const ALSO: [&str; 1] = ["suite::generated::correct_devices_pass@TANGLE_SEEDS=0..100"];

fn main() -> ExitCode {
    match command() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn command() -> Result<ExitCode> {
    let mut args = std::env::args().skip(1);
    let Some(command) = args.next() else { bail!("{USAGE}") };
    let rest: Vec<String> = args.collect();
    let option = |name: &str| {
        let at = rest.iter().position(|arg| arg == name)?;
        rest.get(at + 1).cloned()
    };
    let number = |name: &str, usual: u64| -> Result<u64> {
        option(name).map_or(Ok(usual), |text| text.parse().with_context(|| format!("{name} is a number")))
    };
    let root = option("--root").map_or(PathBuf::from("."), PathBuf::from);
    let root = std::fs::canonicalize(&root).with_context(|| root.display().to_string())?;
    let out = option("--out").map_or(root.join("target/mutants"), PathBuf::from);
    let results = option("--results").map_or(out.join("results.tsv"), PathBuf::from);
    let program = std::path::absolute(out.join(schema::PROGRAM))?;
    // The tests look for the corpus from here.
    // SAFETY: no other thread runs.
    unsafe { std::env::set_var("TANGLE_ORACLE", root.join("oracle")) };
    match command.as_str() {
        "build" => {
            let before = names(&out).unwrap_or_default();
            schema::build(&root, &out)?;
            let now = names(&out)?;
            let is_same =
                before.iter().map(|(id, [name, _])| (id, name)).eq(now.iter().map(|(id, [name, _])| (id, name)));
            if !is_same {
                // What the tests reach has other numbers.
                let _ = std::fs::remove_file(out.join("tests.tsv"));
            }
            let by_id = before.into_iter().map(|(id, [name, _])| (id, name)).collect();
            run::carry(&results, &by_id, &now.into_iter().map(|(id, [name, _])| (name, id)).collect())?;
            run::record(&program, &ALSO.map(str::to_owned), &out.join("tests.tsv"))?;
        }
        "record" => run::record(&program, &ALSO.map(str::to_owned), &out.join("tests.tsv"))?,
        "run" => {
            let ids: Vec<u32> = names(&out)?.into_iter().map(|(id, _)| id).collect();
            let only = option("--only").unwrap_or_default();
            let only = only.split(',').filter(|id| !id.is_empty()).map(str::parse).collect::<Result<_, _>>()?;
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            let options = run::Options {
                program,
                jobs: number("--jobs", processors as u64)? as usize,
                time: number("--time", 1 << 30)?,
                results,
                only,
            };
            run::run_all(&ids, &run::tests(&out.join("tests.tsv"))?, &options)?;
        }
        "report" => {
            let explained = option("--explained").map_or(root.join("bench/mutants/explained.txt"), PathBuf::from);
            let report = report::Report::of(
                &names(&out)?,
                &run::tests(&out.join("tests.tsv"))?,
                &run::results(&results),
                &explained,
            )?;
            print!("{}", report.text());
            return Ok(ExitCode::from(u8::from(!report.is_clean())));
        }
        _ => bail!("{USAGE}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Every mutant with its name and place.
fn names(out: &Path) -> Result<Vec<(u32, [String; 2])>> {
    let path = out.join("mutants.tsv");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let row = |line: &str| {
        let [id, place, name] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        Some((id.parse().ok()?, [name.to_owned(), place.to_owned()]))
    };
    text.lines().map(row).collect::<Option<_>>().with_context(|| format!("{} is not a list of mutants", path.display()))
}
