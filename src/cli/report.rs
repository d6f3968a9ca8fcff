//! `tangle report FINDING|CAMPAIGN`

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;
use tangle_campaign::campaign::{Sample, read_coverage, read_samples};
use tangle_campaign::ledger::{BugBook, DeviceBook, FindingBook, Ledger};
use tangle_emit::glsl::glsl;
use tangle_files::write_atomically;
use tangle_generator::stats::Construct;
use tangle_report::export::{DeviceNote, Subject};
use tangle_report::html;
use tangle_report::html::campaign::{Bug, Campaign, Device, Group, Seen};
use tangle_report::html::curves::Curve;
use tangle_report::tell::functions;
use tangle_runner::toolchain;

use super::exhibit::{Exhibit, RunArgs};
use super::{Found, read_case, say};

#[derive(clap::Args)]
pub struct Args {
    /// The folder of a finding or of a campaign; or a case (JSON), with the device to run it on
    what: PathBuf,
    #[command(flatten)]
    run: RunArgs,
    /// The page; nothing beside it is needed
    #[arg(long, value_name = "FILE.html")]
    out: PathBuf,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let campaign = args.what.join("campaign.json");
    let page = if campaign.is_file() {
        html::campaign::campaign(&books(&args.what, &campaign, &args.out)?)
    } else {
        finding(args)?
    };
    write_atomically(&args.out, page.as_bytes())?;
    say!("{} ({} bytes)", args.out.display(), page.len())?;
    Ok(Found::Nothing)
}

fn finding(args: &Args) -> anyhow::Result<String> {
    let exhibit = Exhibit::load(&args.what, &args.run)?;
    let (name, info) = exhibit.device.as_ref().context("name the --device to run the case on")?;
    let versions = format!("tangle {}, {}", env!("CARGO_PKG_VERSION"), toolchain::version());
    let subject = Subject {
        case: &exhibit.case,
        glsl: &exhibit.shader.glsl,
        spirv: &exhibit.shader.spirv,
        disassembly: &exhibit.shader.disassembly,
        basis: exhibit.basis(),
        signature: exhibit.signature.as_ref(),
        report: &exhibit.report,
        device: Some(DeviceNote { name, info, start: "" }),
        others: Vec::new(),
        rate: exhibit.rate,
        neighbour: exhibit.neighbour.as_ref(),
        variants: exhibit.variants.as_ref(),
        versions: &versions,
    };
    Ok(html::finding::finding(&subject)?)
}

/// What is needed of a `campaign.json`.
#[derive(Deserialize)]
struct State {
    version: String,
    seed: u64,
    #[serde(default)]
    profile: Option<String>,
    #[serde(default)]
    tier: Option<String>,
    devices: Vec<String>,
    ledger: Ledger,
}

fn books(folder: &Path, file: &Path, out: &Path) -> anyhow::Result<Campaign> {
    let text =
        tangle_files::read(file, tangle_files::MOST).with_context(|| format!("cannot read {}", file.display()))?;
    let State { version, seed, profile, tier, devices, ledger } =
        serde_json::from_slice(&text).with_context(|| format!("cannot read {}", file.display()))?;
    let about = [
        Some(("seed", seed.to_string())),
        profile.map(|profile| ("profile", profile)),
        tier.map(|tier| ("tier", tier)),
        Some(("tangle", version)),
    ];
    let books = devices.iter().map(|name| {
        let book = ledger.devices.get(name).cloned().unwrap_or_default();
        device(name, book)
    });
    Ok(Campaign {
        about: about.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)).collect(),
        seconds: ledger.seconds,
        curves: curves(&read_samples(folder)?),
        devices: books.collect(),
        findings: groups(&ledger.findings, folder, out),
        bugs: ledger.bugs.iter().map(|book| bug(book, folder, out)).collect(),
        known: ledger.known.iter().map(|book| (book.device.clone(), book.bug.clone(), book.cases)).collect(),
        constructs: Construct::ALL
            .iter()
            .map(|&construct| (construct.about().to_owned(), ledger.generated.construct(construct)))
            .collect(),
        operations: ledger.operations,
        coverage: read_coverage(folder)?.unwrap_or_default(),
    })
}

/// The most points of a curve.
const POINTS: usize = 120;

/// Rates, findings and memory over the time that the campaign ran.
fn curves(samples: &[Sample]) -> Vec<Curve> {
    let step = samples.len().div_ceil(POINTS).max(1);
    let last = samples.len().saturating_sub(1);
    let samples: Vec<&Sample> =
        samples.iter().enumerate().filter(|(n, _)| n % step == 0 || *n == last).map(|(_, sample)| sample).collect();
    let curve = |name: &str, figure: &dyn Fn(&Sample) -> f64| Curve {
        name: name.to_owned(),
        points: samples.iter().map(|sample| (sample.seconds, figure(sample))).collect(),
    };
    let rate = |name: String, count: &dyn Fn(&Sample) -> u64| {
        let passed = samples.windows(2).filter(|pair| pair[1].seconds > pair[0].seconds);
        let point = |pair: &[&Sample]| {
            let more = count(pair[1]).saturating_sub(count(pair[0]));
            (pair[1].seconds, more as f64 / (pair[1].seconds - pair[0].seconds))
        };
        Curve { name, points: passed.map(point).collect() }
    };
    let mut curves = vec![
        rate("cases a second".into(), &Sample::cases),
        rate("values checked a second".into(), &Sample::checked),
        curve("signatures, by device", &|sample| sample.signatures as f64),
        curve("minimised bugs", &|sample| sample.bugs as f64),
        curve("memory of tangle, MB", &|sample| sample.memory as f64 / 1e6),
    ];
    for device in samples.last().iter().flat_map(|sample| sample.devices.keys()) {
        let cases = |sample: &Sample| sample.devices.get(device).map_or(0, |figures| figures.cases);
        curves.push(rate(format!("{device}, cases a second"), &cases));
    }
    curves
}

fn device(name: &str, book: DeviceBook) -> Device {
    let times = book.times;
    Device {
        name: name.to_owned(),
        cases: book.cases,
        unsupported: book.unsupported,
        verdicts: book.verdicts,
        counts: book.counts,
        times: vec![
            ("driver", times.driver),
            ("worker, else", (times.worker - times.driver).max(0.0)),
            ("compile", times.compile),
            ("judge", times.judge),
            ("generate", times.generate),
            ("save", times.save),
        ],
        restarts: book.restarts,
    }
}

/// Findings by signature, those that most cases show first.
fn groups(findings: &[FindingBook], folder: &Path, out: &Path) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for book in findings {
        let seen = seen(book, folder, out);
        match groups.iter_mut().find(|group| group.signature == book.signature) {
            Some(group) => group.seen.push(seen),
            None => groups.push(Group { signature: book.signature.clone(), seen: vec![seen] }),
        }
    }
    let cases = |group: &Group| group.seen.iter().map(|seen| seen.cases).sum::<u64>();
    groups.sort_by_key(|group| (group.signature.kind, std::cmp::Reverse(cases(group)), group.signature.detail.clone()));
    groups
}

fn bug(book: &BugBook, folder: &Path, out: &Path) -> Bug {
    let smallest = folder.join(&book.representative);
    Bug {
        device: book.device.clone(),
        name: book.bug.to_string(),
        known: book.known.clone(),
        witnesses: book.witnesses,
        statements: book.statements,
        flake: book.flake,
        link: address(&smallest, out),
        program: read_case(&smallest).map(|case| functions(&glsl(&case))).unwrap_or_default(),
        story: tangle_files::read_text(&smallest.join("report.txt")).unwrap_or_default(),
    }
}

fn seen(book: &FindingBook, folder: &Path, out: &Path) -> Seen {
    let mut links = Vec::new();
    let mut programs: Vec<(usize, PathBuf)> = Vec::new();
    for place in &book.folders {
        let saved = folder.join(place);
        let minimized = saved.join("minimized");
        for (path, suffix) in [(&saved, ""), (&minimized, " (minimised)")] {
            // Old or deleted ones have no size; they are still listed.
            let size = read_case(path).map(|case| tangle_minimizer::statements(&case.program)).ok();
            if suffix.is_empty() || size.is_some() {
                let name = path_name(&saved);
                links.push((address(path, out), format!("{name}{suffix}")));
            }
            programs.extend(size.map(|size| (size, path.clone())));
        }
    }
    let smallest = programs.iter().min_by_key(|(size, _)| *size);
    let story = smallest.and_then(|(_, path)| tangle_files::read_text(&path.join("report.txt")).ok());
    Seen {
        device: book.device.clone(),
        cases: book.cases,
        first_case: book.first_case,
        links,
        story: story.unwrap_or_default(),
    }
}

fn path_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The address of a folder for a page: relative to the page where they have a folder in common.
fn address(folder: &Path, page: &Path) -> String {
    let whole =
        |path: &Path| fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.into());
    let to = whole(folder);
    let from = whole(page.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")));
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(to.components().skip(common)).collect();
    let mut address = String::new();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => address.push(byte.into()),
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address + "/"
}
