//! `tangle explain FINDING`

use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::Context as _;
use tangle_report::Reporter as _;
use tangle_report::reporter::Text;
use tangle_report::reporter::text::Colour;

use super::args::Found;
use super::exhibit::{RunArgs, load};
use super::output::put;

#[derive(clap::Args)]
pub struct Args {
    /// What to explain: the folder of a finding; or a case (JSON), with the device to run it on
    finding: PathBuf,
    #[command(flatten)]
    run: RunArgs,
    /// Colour the text: auto (on a terminal, unless NO_COLOR is set), always, never
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "always", "never"])]
    color: String,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let subject = load(&args.finding, &args.run)?;
    subject.device.as_ref().context("name the --device to run the case on")?;
    let text = Text { colour: colour(&args.color) }.finding(&subject.analyse()?)?;
    put(format_args!("{}", text.unwrap_or_default()))?;
    Ok(if subject.signature.is_some() { Found::Something } else { Found::Nothing })
}

fn colour(when: &str) -> Colour {
    // https://no-color.org: set and not empty.
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let wanted = match when {
        "always" => true,
        "never" => false,
        _ => std::io::stdout().is_terminal() && !refused,
    };
    if wanted { Colour::Ansi } else { Colour::Plain }
}
