//! `tangle run CASE`

use std::path::PathBuf;

use tangle::campaign::{Prep, describe, finding};
use tangle::prepare::prepare;
use tangle::target::{Conclusion, Finish};

use super::{DeviceArgs, Found, Jobs, read_case, say, tell};

#[derive(clap::Args)]
pub struct Args {
    /// The case: a JSON file, or the folder of a finding
    case: PathBuf,
    #[command(flatten)]
    devices: DeviceArgs,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
    /// Save findings in this folder
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let case = read_case(&args.case)?;
    let targets = args.devices.open(Jobs::One)?;
    let prep = match prepare(case.clone()) {
        Ok(prepared) => Prep::Ready(prepared),
        Err(fault) => Prep::Faulty(case, fault),
    };
    let mut found = Found::Nothing;
    let mut without_worker = None;
    let mut supported = false;
    let mut rows = Vec::new();
    for target in &targets {
        let conclusion = match &prep {
            Prep::Ready(prepared) => target.run(prepared),
            Prep::Faulty(_, fault) => Conclusion::from(fault),
        };
        let signature = conclusion.signature(prep.case());
        if args.json {
            rows.push(serde_json::json!({
                "device": target.name,
                "signature": signature,
                "result": conclusion.finish,
            }));
        } else {
            say!("{}: {}", target.name, describe(prep.case(), &conclusion.finish))?;
        }
        if let Finish::NoWorker { reason } = &conclusion.finish {
            without_worker.get_or_insert_with(|| format!("device {}: {reason}", target.name));
        }
        supported |= !matches!(conclusion.finish, Finish::Unsupported { .. });
        if let Some(signature) = signature {
            found = Found::Something;
            if let Some(folder) = &args.save {
                let saved = finding(target, &prep, &conclusion, signature).save(folder)?;
                tell!("saved {}", saved.display());
            }
        }
    }
    if args.json {
        say!("{}", serde_json::to_string_pretty(&rows)?)?;
    }
    if let Some(reason) = without_worker {
        anyhow::bail!(reason);
    }
    anyhow::ensure!(supported, "no device can run the case");
    Ok(found)
}
