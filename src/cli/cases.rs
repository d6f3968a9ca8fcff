//! `tangle cases`

use std::path::PathBuf;

use anyhow::Context as _;
use tangle_campaign::blackbox::case;
use tangle_campaign::replay::find_cases;
use tangle_files::write_atomically;

use super::args::{Found, read_case};
use super::output::{say, say_stderr};

/// The options with underscores are those that ClusterFuzz gives.
#[derive(clap::Args)]
pub struct Args {
    /// Corpus to start from; files that are no cases are left out
    #[arg(long = "input_dir", value_name = "DIR")]
    input: Option<PathBuf>,
    /// Where the cases go, as fuzz-NUMBER.json
    #[arg(long = "output_dir", value_name = "DIR")]
    output: PathBuf,
    /// How many
    #[arg(long = "no_of_files", value_name = "N")]
    count: u64,
    /// Seed; drawn if not given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let mut corpus = Vec::new();
    if let Some(folder) = &args.input {
        for (_, file) in find_cases(folder)? {
            match read_case(&file) {
                Ok(case) => corpus.push(case),
                Err(error) => say_stderr!("warning: left out: {error:#}"),
            }
        }
    }
    std::fs::create_dir_all(&args.output).with_context(|| format!("cannot create {}", args.output.display()))?;
    let seed = args.seed.unwrap_or_else(rand::random);
    for number in 0..args.count {
        let file = args.output.join(format!("fuzz-{number:06}.json"));
        write_atomically(&file, case(seed, number, &corpus).to_json().as_bytes())?;
    }
    say!("{} cases of seed {seed} in {}", args.count, args.output.display())?;
    Ok(Found::Nothing)
}
