//! `tangle report FINDING|CAMPAIGN`

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use tangle_campaign::campaign;
use tangle_files::write_atomically;
use tangle_report::html::address;
use tangle_report::reporter::{self, ReportError, Reporter, names};

use super::args::Found;
use super::exhibit::{RunArgs, load};
use super::foreign;
use super::output::{say, say_stderr};

#[derive(clap::Args)]
pub struct Args {
    /// The folder of a finding or of a campaign; or a case (JSON), with the device to run it on
    what: PathBuf,
    #[command(flatten)]
    run: RunArgs,
    /// The report; nothing beside it is needed. Its extension says the format, if --format does not
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[arg(long, value_name = "FORMAT", help = format!("The format: {}", names()))]
    format: Option<String>,
}

/// Reports of what a command shows.
#[derive(clap::Args)]
pub(super) struct ReportArgs {
    #[arg(long, value_name = "FILE", help = format!("Write a report, too; its extension says the format: {}", names()))]
    report: Option<PathBuf>,
    /// The same as --report with an HTML page, whatever the file is called
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Files, each with its format.
pub(super) struct Reports<'a>(Vec<(&'a Path, &'static dyn Reporter)>);

impl ReportArgs {
    /// The files that are asked for. An unknown format is an error before anything runs.
    pub(super) fn open(&self) -> Result<Reports<'_>, ReportError> {
        let named =
            self.report.iter().map(|file| (file, None)).chain(self.html.iter().map(|file| (file, Some("html"))));
        let open = named.map(|(file, format)| Ok((file.as_path(), reporter::for_file(file, format)?)));
        open.collect::<Result<_, _>>().map(Reports)
    }
}

impl Reports<'_> {
    /// Writes them. `make` has a format show what there is.
    pub(super) fn write(
        &self,
        make: impl Fn(&dyn Reporter) -> Result<Option<String>, ReportError>,
    ) -> anyhow::Result<()> {
        for (file, format) in &self.0 {
            let report =
                make(*format)?.with_context(|| format!("{}: this format has no form for that", file.display()))?;
            write_atomically(file, report.as_bytes())?;
            say_stderr!("{} ({} bytes)", file.display(), report.len());
        }
        Ok(())
    }
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    if let Some(finding) = foreign::read(&args.what)? {
        return foreign::report(&finding, &args.out, args.format.as_deref());
    }
    let reporter = reporter::for_file(&args.out, args.format.as_deref())?;
    let report = match campaign::read(&args.what)? {
        Some(mut campaign) => {
            campaign.address = relative_address(&args.what, &args.out);
            reporter.campaign(&campaign)?
        }
        None => {
            let subject = load(&args.what, &args.run)?;
            subject.device.as_ref().context("name the --device to run the case on")?;
            reporter.finding(&subject.analyse()?)?
        }
    };
    let report = report.context("this format has no form for that")?;
    write_atomically(&args.out, report.as_bytes())?;
    say!("{} ({} bytes)", args.out.display(), report.len())?;
    Ok(Found::Nothing)
}

/// The address of a folder for a page: relative to the page where they have a folder in common.
fn relative_address(folder: &Path, page: &Path) -> String {
    let whole =
        |path: &Path| fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.into());
    let to = whole(folder);
    let from = whole(page.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")));
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(to.components().skip(common)).collect();
    let address = address(&path.to_string_lossy());
    if address.is_empty() { address } else { address + "/" }
}
