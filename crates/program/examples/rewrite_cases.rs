//! Rewrites saved cases in the format of today: `cargo run -p tangle-program --example rewrite_cases -- corpus/*/*.json`.
//!
//! A case whose text in the format of today does not mean the same is left as it is, with an error.

use std::process::ExitCode;

use tangle_program::case::Case;

fn main() -> ExitCode {
    let failed =
        std::env::args().skip(1).filter(|path| rewrite(path).inspect_err(|why| eprintln!("{path}: {why}")).is_err());
    if failed.count() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn rewrite(path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let case = Case::from_json(&std::fs::read_to_string(path)?)?;
    let text = case.to_json();
    if Case::from_json(&text)? != case {
        return Err("it does not read back".into());
    }
    Ok(std::fs::write(path, text)?)
}
