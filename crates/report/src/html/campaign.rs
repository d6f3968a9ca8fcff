//! The page of a campaign: bugs, then devices, then how it went; the rest is folded.

use std::collections::BTreeSet;

use tangle_generator::stats::Construct;
use tangle_identity::Status;
use tangle_oracle::coverage::Coverage;
use tangle_program::subgroup::TABLE;
use tangle_program::text::spaced;

use super::curves::{self, Curve};
use super::{Html, coverage, page};
use crate::campaign::{Campaign, Group, Sample, minimized};
use crate::statistics::{BugEntry, DeviceEntry, SignatureEntry, StageTimes};
use crate::text::thousands;

/// Links shown for one signature; more are counted.
const LINKS: usize = 2;

/// Signatures that are shown with the report of one of their findings.
const REPORTS: usize = 40;

/// Longest report or program that is shown, in bytes: the page stays small.
const LONGEST: usize = 2_000;

/// The most points of a curve.
const POINTS: usize = 120;

/// The page of a campaign: bugs, devices, findings, and how it went.
pub fn campaign(campaign: &Campaign) -> String {
    let mut html = Html::default();
    header(&mut html, campaign);
    bugs(&mut html, campaign);
    devices(&mut html, campaign);
    findings(&mut html, campaign);
    flakes(&mut html, campaign);
    known(&mut html, campaign);
    curves::section(&mut html, &figures(&campaign.samples));
    html.section("More");
    folded(&mut html, "Where time went", |html| times(html, campaign));
    folded(&mut html, "Subgroup operations", |html| operations(html, campaign));
    folded(&mut html, "Operations and where they were checked", |html| covered(html, campaign));
    folded(&mut html, "Constructs in the generated cases", |html| constructs(html, campaign));
    html.raw("</section>\n");
    page(&format!("Campaign on {}", campaign.devices.join(", ")), html)
}

fn folded(html: &mut Html, heading: &str, contents: impl FnOnce(&mut Html)) {
    html.raw("<details>").element("summary", &[], heading).raw("\n");
    contents(html);
    html.raw("</details>\n");
}

fn header(html: &mut Html, campaign: &Campaign) {
    let statistics = &campaign.statistics;
    let found: u64 = statistics.findings.iter().map(|entry| entry.cases).sum();
    html.raw("<header>\n<h1>Campaign</h1>\n<p class=\"chips\">");
    for (name, value) in &campaign.about {
        html.element("span", &[("class", &"chip")], format_args!("{name} {value}"));
    }
    html.raw("</p>\n</header>\n<div class=\"cards\">\n");
    let per_second = statistics.cases() as f64 / statistics.seconds.max(1e-3);
    for (value, name) in [
        (thousands(statistics.bugs.len() as u64), "bugs".to_owned()),
        (thousands(found), format!("cases with findings, {} signatures", statistics.signatures())),
        (thousands(statistics.cases()), "cases run".into()),
        (thousands(statistics.counts().checked), "values checked".into()),
        (duration(statistics.seconds), format!("{per_second:.1} cases a second")),
    ] {
        html.raw("<div class=\"card\">").element("b", &[], value).element("span", &[], name).raw("</div>\n");
    }
    html.raw("</div>\n");
}

fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, _) => format!("{seconds:.1} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{} h {minutes:02} min", thousands(hours)),
    }
}

/// The address of a finding's folder, or of its page where the folder is elsewhere.
pub(super) fn link(campaign: &Campaign, folder: &str) -> Option<String> {
    match &campaign.pages {
        Some(pages) => pages.get(folder).map(|page| super::address(page)),
        None => Some(format!("{}{}/", campaign.address, super::address(folder))),
    }
}

/// A text with a link to a finding, if there is something to link.
pub(super) fn linked(html: &mut Html, campaign: &Campaign, folder: &str, text: impl std::fmt::Display) {
    match link(campaign, folder) {
        Some(address) => html.element("a", &[("href", &address)], text),
        None => html.text(text),
    };
}

fn bugs(html: &mut Html, campaign: &Campaign) {
    let bugs = campaign.bugs();
    if bugs.is_empty() {
        return;
    }
    html.section("Bugs");
    html.raw("<p>Findings that were minimised to the same failure in the same kind of program, with the smallest of each.</p>\n");
    html.raw("<div class=\"scroll\"><table class=\"statistics\">\n<thead><tr><th>device</th><th>bug</th><th class=\"n\">cases</th>");
    html.raw("<th class=\"n\">statements</th></tr></thead>\n<tbody>\n");
    bugs.into_iter().for_each(|bug| bug_row(html, campaign, bug));
    html.raw("</tbody></table></div>\n</section>\n");
}

fn bug_row(html: &mut Html, campaign: &Campaign, bug: &BugEntry) {
    html.raw("<tr>").element("th", &[], &bug.device).raw("<td class=\"what\">");
    linked(html, campaign, &bug.representative, bug.title());
    if let Some(known) = &bug.known {
        html.raw(" ").element("span", &[("class", &"chip")], format_args!("known: {known}"));
    }
    if let Some(rate) = bug.flake {
        html.raw(" ").element("span", &[("class", &"chip")], format_args!("flake: fails {rate}"));
    }
    if let Some(stage) = campaign.other_to_blame(bug) {
        html.raw(" ").element("span", &[("class", &"chip")], format_args!("stage to blame: {stage}"));
    }
    if let Some(saved) = campaign.programs.get(&bug.representative) {
        details(html, "smallest program", &saved.program);
        details(html, "its first wrong step", &saved.report);
    }
    let command = format!("tangle explain {}", campaign.folder.join(&bug.representative).display());
    html.raw("<div>").element("code", &[], command).raw("</div></td>").element(
        "td",
        &[("class", &"n")],
        thousands(campaign.statistics.cases_of(bug)),
    );
    html.element("td", &[("class", &"n")], bug.statements).raw("</tr>\n");
}

/// Folded text; nothing if it is empty.
fn details(html: &mut Html, summary: &str, text: &str) {
    let text = text.trim_end();
    if text.trim().is_empty() {
        return;
    }
    let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= LONGEST).last().unwrap_or(0);
    let text = if text.len() <= LONGEST { text.to_owned() } else { format!("{} …", &text[..end]) };
    html.raw("<details>").element("summary", &[], summary).element("pre", &[], text).raw("</details>");
}

fn known(html: &mut Html, campaign: &Campaign) {
    let known = &campaign.statistics.known;
    if known.is_empty() {
        return;
    }
    html.section("Known bugs");
    html.raw("<div class=\"scroll\"><table class=\"statistics\">\n<thead><tr><th>device</th><th>bug</th><th class=\"n\">cases</th></tr></thead>\n");
    for known in known {
        html.raw("<tr>").element("th", &[], &known.device).element("td", &[], &known.bug);
        html.element("td", &[("class", &"n")], thousands(known.cases)).raw("</tr>\n");
    }
    html.raw("</table></div>\n</section>\n");
}

fn findings(html: &mut Html, campaign: &Campaign) {
    html.section("Findings by signature");
    let groups = campaign.groups();
    if groups.is_empty() {
        html.raw("<p>Nothing was found.</p>\n</section>\n");
        return;
    }
    html.raw("<div class=\"scroll\"><table class=\"statistics\">\n<thead><tr><th>kind</th><th>signature</th><th class=\"n\">cases</th>");
    html.raw("<th class=\"what\">devices</th><th class=\"what\">saved</th></tr></thead>\n<tbody>\n");
    for (nth, group) in groups.iter().enumerate() {
        html.raw("<tr>").element("td", &[("class", &"bad")], spaced(group.signature.kind.name()));
        html.raw("<td class=\"what\">").text(&group.signature.detail);
        if let Some((_, saved)) = campaign.smallest(&group.seen).filter(|_| nth < REPORTS) {
            details(html, "one of them", &saved.report);
        }
        html.raw("</td>").element("td", &[("class", &"n")], thousands(group.cases()));
        let device = |entry: &&SignatureEntry| match group.seen.len() {
            1 => entry.device.clone(),
            _ => format!("{} {}", entry.device, thousands(entry.cases)),
        };
        html.element("td", &[], group.seen.iter().map(device).collect::<Vec<_>>().join(", ")).raw("<td>");
        links(html, campaign, group);
        html.raw("</td></tr>\n");
    }
    html.raw("</tbody></table></div>\n</section>\n");
}

/// Failures that occurred once.
fn flakes(html: &mut Html, campaign: &Campaign) {
    let flakes = &campaign.statistics.flakes;
    if flakes.is_empty() {
        return;
    }
    html.section("Flakes");
    html.raw("<p>Failures that occurred once, and not when the case ran again with nothing beside it.</p>\n");
    html.raw("<div class=\"scroll\"><table class=\"statistics\">\n<thead><tr><th>device</th><th>signature</th>");
    html.raw("<th class=\"n\">cases</th><th class=\"what\">saved</th></tr></thead>\n<tbody>\n");
    for entry in flakes {
        html.raw("<tr>").element("th", &[], &entry.device).element("td", &[("class", &"what")], &entry.signature);
        html.element("td", &[("class", &"n")], thousands(entry.cases)).raw("<td>");
        if let Some(folder) = entry.folders.first() {
            let name = folder.rsplit('/').next().unwrap_or(folder);
            linked(html, campaign, folder, name);
        }
        html.raw("</td></tr>\n");
    }
    html.raw("</tbody></table></div>\n</section>\n");
}

/// The folders of findings; where a finding was minimised, that of the small program.
fn links(html: &mut Html, campaign: &Campaign, group: &Group<'_>) {
    let folders: Vec<&String> = group.seen.iter().flat_map(|entry| &entry.folders).collect();
    for folder in folders.iter().take(LINKS) {
        let small = minimized(folder);
        let name = folder.rsplit('/').next().unwrap_or(folder);
        match campaign.programs.contains_key(&small) {
            true => linked(html, campaign, &small, format_args!("{name} (minimised)")),
            false => linked(html, campaign, folder, name),
        }
        html.raw("<br>");
    }
    if folders.len() > LINKS {
        html.text(format_args!("and {} more", folders.len() - LINKS));
    }
}

/// What only compiled is folded: it checked no value.
fn devices(html: &mut Html, campaign: &Campaign) {
    let nothing = DeviceEntry::default();
    let all = campaign.devices.iter();
    let all = all.map(|name| (name.as_str(), campaign.statistics.devices.get(name).unwrap_or(&nothing)));
    let (compiled, ran): (Vec<_>, Vec<_>) = all.partition(|(_, device)| device.compiled_only());
    html.section("Devices");
    if !ran.is_empty() {
        device_table(html, &ran);
    }
    if !compiled.is_empty() {
        let heading = format!("{} devices that only compile", compiled.len());
        folded(html, &heading, |html| device_table(html, &compiled));
    }
    if !campaign.sections.is_empty() {
        html.raw("<ul>\n");
        for change in &campaign.sections {
            html.element("li", &[], change).raw("\n");
        }
        html.raw("</ul>\n");
    }
    html.raw("</section>\n");
}

fn device_table(html: &mut Html, devices: &[(&str, &DeviceEntry)]) {
    let verdicts: BTreeSet<Status> = devices.iter().flat_map(|(_, device)| device.verdicts.keys().copied()).collect();
    let compiled_only = devices.iter().all(|(_, device)| device.compiled_only());
    html.raw(
        "<div class=\"scroll\"><table class=\"statistics\">\n<thead><tr><th>device</th><th class=\"n\">cases</th>",
    );
    for verdict in &verdicts {
        html.element("th", &[("class", &"n")], verdict.title());
    }
    html.raw("<th class=\"n\">not supported</th><th class=\"n\">restarts</th>");
    if !compiled_only {
        html.raw("<th class=\"n\">values checked</th><th class=\"n\">left open</th>");
        html.raw("<th class=\"n\">skipped</th><th class=\"n\">sites reached</th>");
    }
    html.raw("</tr></thead>\n<tbody>\n");
    for (name, device) in devices {
        html.raw("<tr>").element("th", &[], name).element("td", &[("class", &"n")], thousands(device.cases));
        for verdict in &verdicts {
            let count = device.verdicts.get(verdict).copied().unwrap_or(0);
            let class = match (count, verdict) {
                (0, _) => "n none",
                (_, Status::Finding(_)) => "n bad",
                _ => "n",
            };
            html.element("td", &[("class", &class)], thousands(count));
        }
        let lacking: Vec<String> = device
            .most_lacking()
            .iter()
            .take(8)
            .map(|(what, count)| format!("{what}: {}", thousands(*count)))
            .collect();
        html.element("td", &[("class", &"n"), ("title", &lacking.join("\n"))], thousands(device.unsupported));
        html.element("td", &[("class", &"n")], thousands(device.restarts));
        if !compiled_only {
            let counts = device.counts;
            let logged = (counts.checked + counts.tainted + counts.skipped).max(1) as f64;
            let share = |n: u64| format!("{} ({:.0} %)", thousands(n), 100.0 * n as f64 / logged);
            html.element("td", &[("class", &"n")], share(counts.checked));
            html.element("td", &[("class", &"n")], share(counts.tainted));
            html.element("td", &[("class", &"n")], share(counts.skipped));
            let reached = 100.0 * counts.sites_reached as f64 / counts.sites.max(1) as f64;
            html.element("td", &[("class", &"n")], format_args!("{reached:.0} %"));
        }
        html.raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

/// The curves that say whether it is worth going on: speed, and what is new.
fn figures(samples: &[Sample]) -> Vec<Curve> {
    let step = samples.len().div_ceil(POINTS).max(1);
    let last = samples.len().saturating_sub(1);
    let samples: Vec<&Sample> =
        samples.iter().enumerate().filter(|(n, _)| n % step == 0 || *n == last).map(|(_, sample)| sample).collect();
    let curve = |name: &str, figure: &dyn Fn(&Sample) -> u64| Curve {
        name: name.to_owned(),
        points: samples.iter().map(|sample| (sample.seconds, figure(sample) as f64)).collect(),
    };
    let passed = samples.windows(2).filter(|pair| pair[1].seconds > pair[0].seconds);
    let speed = passed.map(|pair| {
        let more = pair[1].cases().saturating_sub(pair[0].cases());
        (pair[1].seconds, more as f64 / (pair[1].seconds - pair[0].seconds))
    });
    vec![
        Curve { name: "cases a second".into(), points: speed.collect() },
        curve("signatures", &|sample| sample.signatures),
        curve("bugs", &|sample| sample.bugs),
    ]
}

fn covered(html: &mut Html, campaign: &Campaign) {
    let mut all = Coverage::default();
    campaign.coverage.values().for_each(|coverage| all.merge(coverage));
    coverage::section(html, "all devices", &all);
}

/// Colours of the bars, by number.
const COLOURS: [&str; 7] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6"];

fn times(html: &mut Html, campaign: &Campaign) {
    let stages = stages(StageTimes::default()).map(|(stage, _)| stage);
    html.raw("<p>");
    for (stage, colour) in stages.iter().zip(COLOURS) {
        html.open("span", &[("class", &format_args!("key {colour}"))]).raw("</span>").text(stage).raw(" &nbsp; ");
    }
    html.raw("</p>\n<div class=\"scroll\"><table class=\"statistics\">\n<thead><tr><th>device</th>");
    for stage in &stages {
        html.element("th", &[("class", &"n")], stage);
    }
    html.raw("<th></th></tr></thead>\n<tbody>\n");
    for name in &campaign.devices {
        let times = self::stages(campaign.statistics.devices.get(name).map(|device| device.times).unwrap_or_default());
        let total: f64 = times.iter().map(|(_, seconds)| seconds).sum();
        html.raw("<tr>").element("th", &[], name);
        for (_, seconds) in times {
            html.element("td", &[("class", &"n")], format_args!("{seconds:.1} s"));
        }
        html.raw("<td><span class=\"bar\">");
        for ((stage, seconds), colour) in times.iter().zip(COLOURS) {
            let width = format!("width:{:.2}%", 100.0 * seconds / total.max(1e-9));
            html.open(
                "i",
                &[("class", &colour), ("style", &width), ("title", &format_args!("{stage} {seconds:.1} s"))],
            )
            .raw("</i>");
        }
        html.raw("</span></td></tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

/// Seconds by stage, with the stages' names.
fn stages(times: StageTimes) -> [(&'static str, f64); 6] {
    [
        ("driver", times.driver),
        ("worker, else", (times.worker - times.driver).max(0.0)),
        ("compile", times.compile),
        ("judge", times.judge),
        ("generate", times.generate),
        ("save", times.save),
    ]
}

fn operations(html: &mut Html, campaign: &Campaign) {
    html.raw("<p>How many lanes executed each operation, and how many compared values depended on it: with the whole subgroup active, ");
    html.raw("and with a part of it. The bars compare the checked values, on a logarithmic scale.</p>\n");
    html.raw(
        "<div class=\"scroll\"><table class=\"statistics\">\n<thead><tr><th>operation</th><th class=\"n\">lanes, all</th>",
    );
    html.raw("<th class=\"n\">lanes, some</th><th class=\"n\">checked, all</th><th class=\"n\">checked, some</th><th></th></tr></thead>\n<tbody>\n");
    let uses = |name: &str| campaign.statistics.operations.get(name).copied().unwrap_or_default();
    let most = TABLE.iter().map(|info| uses(info.name)).map(|used| used.checked_full + used.checked_partial).max();
    let scale = ((most.unwrap_or(0) + 1) as f64).ln().max(1e-9);
    for info in &TABLE {
        let used = uses(info.name);
        html.raw("<tr><td>").element("code", &[], info.name).raw("</td>");
        let has_result = info.gives != tangle_program::subgroup::Gives::Nothing;
        for (count, is_checked) in [
            (used.executed_full, false),
            (used.executed_partial, false),
            (used.checked_full, true),
            (used.checked_partial, true),
        ] {
            let class = match count {
                0 if !is_checked || has_result => "n zero",
                0 => "n none",
                _ => "n",
            };
            html.element("td", &[("class", &class)], thousands(count));
        }
        let all = used.checked_full + used.checked_partial;
        let width = 100.0 * ((all + 1) as f64).ln() / scale;
        let partial = if all == 0 { 0.0 } else { width * used.checked_partial as f64 / all as f64 };
        html.raw("<td><span class=\"bar\">");
        for (colour, width) in [("c0", width - partial), ("c1", partial)] {
            html.open("i", &[("class", &colour), ("style", &format_args!("width:{width:.2}%"))]).raw("</i>");
        }
        html.raw("</span></td></tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

fn constructs(html: &mut Html, campaign: &Campaign) {
    html.raw("<div class=\"scroll\"><table class=\"statistics\">\n<tbody>\n");
    for &construct in Construct::ALL {
        let count = campaign.statistics.generated.construct(construct);
        let class = if count == 0 { "n zero" } else { "n" };
        html.raw("<tr>").element("td", &[], construct.about()).element("td", &[("class", &class)], thousands(count));
        html.raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

#[cfg(test)]
mod tests {
    use tangle_identity::stage::Stage;
    use tangle_identity::{BugId, Detail, Kind, Signature};
    use tangle_program::subgroup::Severity;

    use super::*;
    use crate::campaign::SavedProgram;
    use crate::saved::Rate;

    #[test]
    fn durations_have_the_unit_that_fits() {
        for (seconds, text) in [(0.34, "0.3 s"), (61.0, "1 min 01 s"), (7_384.0, "2 h 03 min")] {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn names_of_devices_and_signatures_are_escaped() {
        let signature = Signature::new(Kind::Crash, Detail::Text("<b>".into()));
        let mut shown = Campaign { devices: vec!["a<i>".into()], address: "x\"y/".into(), ..Campaign::default() };
        let statistics = &mut shown.statistics;
        statistics.finding("a<i>", &signature, 1).folders.push("<u>".into());
        statistics.enter("a<i>", 1, Status::Pass, tangle_oracle::judge::Counts::default());
        statistics.enter_known("a<i>", "<b>");
        statistics.enter_bug(BugEntry {
            device: "a<i>".into(),
            bug: BugId::Text("<b>".into()),
            passes_without: Default::default(),
            recognised: Default::default(),
            operators: BTreeSet::from(["<".into()]),
            known: Some("<u>".into()),
            signatures: BTreeSet::from([signature]),
            witnesses: 1,
            representative: "<u>".into(),
            statements: 2,
            severity: Severity::Hard,
            flake: Some(Rate { failed: 3, runs: 10 }),
        });
        let program = SavedProgram {
            statements: 2,
            program: "<s>".into(),
            report: "<s>".repeat(LONGEST),
            others_to_blame: [("a<i>".to_owned(), Stage::FrontEnd)].into(),
        };
        shown.programs.insert("<u>".into(), program);
        let page = campaign(&shown);
        for raw in ["<b></", "a<i>", "<u>", "<s>", "x\"y"] {
            assert!(!page.contains(raw), "{raw}");
        }
        assert!(page.contains("a&lt;i&gt;") && page.contains("flake: fails in 3 of 10 runs"));
        assert!(page.contains("stage to blame: front end (glslang)"));
    }

    /// The page of a day's campaign stays below 500 kB.
    #[test]
    fn a_long_campaign_makes_a_small_page() {
        let mut shown = Campaign { devices: (0..40).map(|n| format!("device-{n}")).collect(), ..Campaign::default() };
        for (n, device) in shown.devices.iter().enumerate() {
            let verdict = if n < 4 { Status::Pass } else { Status::Compiled };
            shown.statistics.enter(device, 0, verdict, tangle_oracle::judge::Counts::default());
            shown.coverage.insert(device.clone(), Coverage::default());
        }
        for n in 0..400_u64 {
            let signature = Signature::new(Kind::Value, Detail::Text(format!("signature {n}")));
            for device in 0..4 {
                let entry = shown.statistics.finding(&format!("device-{device}"), &signature, n);
                entry.folders = (0..3).map(|k| format!("findings/device-{device}/value-{n:08}-{k}")).collect();
                let report = "a line of the report\n".repeat(200);
                for folder in &entry.folders {
                    let saved = SavedProgram {
                        statements: 9,
                        program: report.clone(),
                        report: report.clone(),
                        ..SavedProgram::default()
                    };
                    shown.programs.insert(folder.clone(), saved);
                }
            }
        }
        let day = (0..4_000).map(|n| Sample { seconds: f64::from(n) * 21.6, ..Sample::default() });
        shown.samples = day.collect();
        let page = campaign(&shown);
        assert!(page.len() < 500_000, "{} bytes", page.len());
        assert!(page.contains("36 devices that only compile") && page.contains("400 signatures"));
    }
}
