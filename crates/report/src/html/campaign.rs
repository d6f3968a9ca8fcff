//! The page of a campaign.

use std::collections::BTreeMap;

use tangle_oracle::coverage::Coverage;
use tangle_oracle::judge::Counts;
use tangle_oracle::predict::OpUse;
use tangle_program::subgroup::TABLE;

use super::curves::{self, Curve};
use super::{Html, coverage, page};
use crate::saved::Rate;
use crate::text::thousands;
use tangle_identity::signature::{Kind, Signature};

/// Links shown for one signature; more are folded.
const LINKS: usize = 2;

/// The books of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// What it is: seed, profile, version.
    pub about: Vec<(String, String)>,
    /// How long it ran, in seconds.
    pub seconds: f64,
    /// How it went.
    pub curves: Vec<Curve>,
    /// Its devices.
    pub devices: Vec<Device>,
    /// What it found, one entry for each signature.
    pub findings: Vec<Group>,
    /// What was minimised, one entry for each bug and device.
    pub bugs: Vec<Bug>,
    /// Known bugs that showed: device, name, number of cases.
    pub known: Vec<(String, String, u64)>,
    /// Use of each subgroup operation, by GLSL name.
    pub operations: BTreeMap<String, OpUse>,
    /// What was covered, by device.
    pub coverage: BTreeMap<String, Coverage>,
    /// How many cases have each construct.
    pub constructs: Vec<(String, u64)>,
}

/// What happened on one device.
#[derive(Clone, Debug, Default)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Cases that ran.
    pub cases: u64,
    /// Cases that it cannot run.
    pub unsupported: u64,
    /// Cases by verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// What was compared.
    pub counts: Counts,
    /// Where time went: stage and seconds.
    pub times: Vec<(&'static str, f64)>,
    /// Workers that had to be replaced.
    pub restarts: u64,
}

/// Minimised findings that show the same.
#[derive(Clone, Debug)]
pub struct Bug {
    /// The device.
    pub device: String,
    /// What they have in common.
    pub name: String,
    /// The known bug that it is, if any.
    pub known: Option<String>,
    /// How many findings were minimised to this.
    pub witnesses: u64,
    /// Statements of the smallest.
    pub statements: usize,
    /// How often that fails, if not every time.
    pub flake: Option<Rate>,
    /// Address of the smallest.
    pub link: String,
    /// The smallest program, without what every shader begins with.
    pub program: String,
    /// Its story.
    pub story: String,
}

/// Findings with one signature.
#[derive(Clone, Debug)]
pub struct Group {
    /// What they have in common.
    pub signature: Signature,
    /// Where it was seen.
    pub seen: Vec<Seen>,
}

/// Findings with one signature on one device.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The device.
    pub device: String,
    /// How many cases showed it.
    pub cases: u64,
    /// Number of the first such case.
    pub first_case: u64,
    /// Those that were saved: address and name.
    pub links: Vec<(String, String)>,
    /// The story of one of them.
    pub story: String,
}

/// The page.
pub fn campaign(campaign: &Campaign) -> String {
    let mut html = Html::default();
    header(&mut html, campaign);
    curves::section(&mut html, &campaign.curves);
    bugs(&mut html, &campaign.bugs);
    findings(&mut html, campaign);
    known(&mut html, &campaign.known);
    devices(&mut html, campaign);
    times(&mut html, campaign);
    operations(&mut html, campaign);
    for (device, covered) in &campaign.coverage {
        coverage::section(&mut html, device, covered);
    }
    constructs(&mut html, campaign);
    let names: Vec<&str> = campaign.devices.iter().map(|device| device.name.as_str()).collect();
    page(&format!("Campaign on {}", names.join(", ")), html)
}

fn header(html: &mut Html, campaign: &Campaign) {
    let cases: u64 = campaign.devices.iter().map(|device| device.cases).sum();
    let checked: u64 = campaign.devices.iter().map(|device| device.counts.checked).sum();
    let found: u64 = campaign.findings.iter().flat_map(|group| &group.seen).map(|seen| seen.cases).sum();
    html.raw("<header>\n<h1>Campaign</h1>\n<p class=\"chips\">");
    for (name, value) in &campaign.about {
        html.element("span", &[("class", &"chip")], format_args!("{name} {value}"));
    }
    html.raw("</p>\n</header>\n<div class=\"cards\">\n");
    let per_second = cases as f64 / campaign.seconds.max(1e-3);
    for (value, name) in [
        (thousands(cases), "cases run".to_owned()),
        (thousands(checked), "values checked".into()),
        (thousands(found), format!("cases with findings, {} signatures", campaign.findings.len())),
        (thousands(campaign.bugs.len() as u64), "minimised bugs".into()),
        (duration(campaign.seconds), format!("{per_second:.1} cases a second")),
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

fn bugs(html: &mut Html, bugs: &[Bug]) {
    if bugs.is_empty() {
        return;
    }
    html.section("Bugs");
    html.raw("<p>Findings that were minimised to the same failure in the same kind of program, with the smallest of each.</p>\n");
    html.raw("<div class=\"scroll\"><table class=\"books\">\n<thead><tr><th>device</th><th>bug</th><th class=\"n\">findings</th>");
    html.raw("<th class=\"n\">statements</th></tr></thead>\n<tbody>\n");
    for bug in bugs {
        html.raw("<tr>").element("th", &[], &bug.device).raw("<td class=\"what\">");
        html.element("a", &[("href", &bug.link)], &bug.name);
        if let Some(known) = &bug.known {
            html.raw(" ").element("span", &[("class", &"chip")], format_args!("known: {known}"));
        }
        if let Some(rate) = bug.flake {
            html.raw(" ").element("span", &[("class", &"chip")], format_args!("flake: fails {rate}"));
        }
        for (summary, text) in [("smallest program", &bug.program), ("its first wrong step", &bug.story)] {
            if !text.trim().is_empty() {
                html.raw("<details>")
                    .element("summary", &[], summary)
                    .element("pre", &[], text.trim_end())
                    .raw("</details>");
            }
        }
        html.raw("</td>").element("td", &[("class", &"n")], thousands(bug.witnesses));
        html.element("td", &[("class", &"n")], bug.statements).raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n</section>\n");
}

fn known(html: &mut Html, known: &[(String, String, u64)]) {
    if known.is_empty() {
        return;
    }
    html.section("Known bugs that showed");
    html.raw("<div class=\"scroll\"><table class=\"books\">\n<thead><tr><th>device</th><th>bug</th><th class=\"n\">cases</th></tr></thead>\n");
    for (device, bug, cases) in known {
        html.raw("<tr>").element("th", &[], device).element("td", &[], bug);
        html.element("td", &[("class", &"n")], thousands(*cases)).raw("</tr>\n");
    }
    html.raw("</table></div>\n</section>\n");
}

fn findings(html: &mut Html, campaign: &Campaign) {
    html.section("Findings by signature and device");
    if campaign.findings.is_empty() {
        html.raw("<p>Nothing was found.</p>\n</section>\n");
        return;
    }
    html.raw("<div class=\"scroll\"><table class=\"books\">\n<thead><tr><th>kind</th><th>signature</th>");
    for device in &campaign.devices {
        html.element("th", &[("class", &"n")], &device.name);
    }
    html.raw("<th class=\"what\">saved</th></tr></thead>\n<tbody>\n");
    for group in &campaign.findings {
        html.raw("<tr>").element("td", &[("class", &"bad")], group.signature.kind.name().replace('_', " "));
        html.raw("<td class=\"what\">").text(group.signature.detail.to_string());
        if let Some(story) = group.seen.iter().map(|seen| seen.story.trim()).find(|story| !story.is_empty()) {
            html.raw("<details><summary>one of them</summary>").element("pre", &[], story).raw("</details>");
        }
        html.raw("</td>");
        for device in &campaign.devices {
            match group.seen.iter().find(|seen| seen.device == device.name) {
                None => html.raw("<td class=\"n none\">–</td>"),
                Some(seen) => {
                    let title = format!("first in case {}", seen.first_case);
                    html.element("td", &[("class", &"n"), ("title", &title)], thousands(seen.cases))
                }
            };
        }
        html.raw("<td>");
        let links: Vec<&(String, String)> = group.seen.iter().flat_map(|seen| &seen.links).collect();
        if links.len() > LINKS {
            html.raw("<details>").element("summary", &[], format_args!("{} folders", links.len()));
        }
        for (address, name) in &links {
            html.element("a", &[("href", address)], name).raw("<br>");
        }
        if links.len() > LINKS {
            html.raw("</details>");
        }
        html.raw("</td></tr>\n");
    }
    html.raw("</tbody></table></div>\n</section>\n");
}

fn devices(html: &mut Html, campaign: &Campaign) {
    let mut verdicts: Vec<&str> = Vec::new();
    for verdict in campaign.devices.iter().flat_map(|device| device.verdicts.keys()) {
        if !verdicts.contains(&verdict.as_str()) {
            verdicts.push(verdict);
        }
    }
    // What is well first, then what is wrong, in the order of the kinds.
    let order = |verdict: &str| Kind::ALL.iter().position(|kind| kind.name() == verdict).map_or(0, |at| at + 1);
    verdicts.sort_by_key(|verdict| (order(verdict), *verdict != "pass", *verdict));
    html.section("Devices and verdicts");
    html.raw("<div class=\"scroll\"><table class=\"books\">\n<thead><tr><th>device</th><th class=\"n\">cases</th>");
    for verdict in &verdicts {
        html.element("th", &[("class", &"n")], verdict.replace('_', " "));
    }
    html.raw("<th class=\"n\">not supported</th><th class=\"n\">values checked</th><th class=\"n\">left open</th>");
    html.raw("<th class=\"n\">skipped</th><th class=\"n\">sites reached</th><th class=\"n\">restarts</th></tr></thead>\n<tbody>\n");
    for device in &campaign.devices {
        html.raw("<tr>").element("th", &[], &device.name).element("td", &[("class", &"n")], thousands(device.cases));
        for verdict in &verdicts {
            let count = device.verdicts.get(*verdict).copied().unwrap_or(0);
            let class = match (count, order(verdict)) {
                (0, _) => "n none",
                (_, 0) => "n",
                _ => "n bad",
            };
            html.element("td", &[("class", &class)], thousands(count));
        }
        let counts = device.counts;
        let logged = (counts.checked + counts.tainted + counts.skipped).max(1) as f64;
        let share = |n: u64| format!("{} ({:.0} %)", thousands(n), 100.0 * n as f64 / logged);
        html.element("td", &[("class", &"n")], thousands(device.unsupported));
        html.element("td", &[("class", &"n")], share(counts.checked));
        html.element("td", &[("class", &"n")], share(counts.tainted));
        html.element("td", &[("class", &"n")], share(counts.skipped));
        let reached = 100.0 * counts.sites_reached as f64 / counts.sites.max(1) as f64;
        html.element("td", &[("class", &"n")], format_args!("{reached:.0} %"));
        html.element("td", &[("class", &"n")], thousands(device.restarts)).raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n</section>\n");
}

/// Colours of the bars, by number.
const COLOURS: [&str; 7] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6"];

fn times(html: &mut Html, campaign: &Campaign) {
    let stages: Vec<&str> = campaign.devices.iter().flat_map(|device| &device.times).map(|(stage, _)| *stage).fold(
        Vec::new(),
        |mut stages, stage| {
            if !stages.contains(&stage) {
                stages.push(stage);
            }
            stages
        },
    );
    html.section("Where time went").raw("<p>");
    for (stage, colour) in stages.iter().zip(COLOURS) {
        html.open("span", &[("class", &format_args!("key {colour}"))]).raw("</span>").text(stage).raw(" &nbsp; ");
    }
    html.raw("</p>\n<div class=\"scroll\"><table class=\"books\">\n<thead><tr><th>device</th>");
    for stage in &stages {
        html.element("th", &[("class", &"n")], stage);
    }
    html.raw("<th></th></tr></thead>\n<tbody>\n");
    for device in &campaign.devices {
        let total: f64 = device.times.iter().map(|(_, seconds)| seconds).sum();
        html.raw("<tr>").element("th", &[], &device.name);
        for stage in &stages {
            let seconds = device.times.iter().find(|(name, _)| name == stage).map_or(0.0, |(_, seconds)| *seconds);
            html.element("td", &[("class", &"n")], format_args!("{seconds:.1} s"));
        }
        html.raw("<td><span class=\"bar\">");
        for ((stage, seconds), colour) in device.times.iter().zip(COLOURS) {
            let width = format!("width:{:.2}%", 100.0 * seconds / total.max(1e-9));
            html.open(
                "i",
                &[("class", &colour), ("style", &width), ("title", &format_args!("{stage} {seconds:.1} s"))],
            )
            .raw("</i>");
        }
        html.raw("</span></td></tr>\n");
    }
    html.raw("</tbody></table></div>\n</section>\n");
}

fn operations(html: &mut Html, campaign: &Campaign) {
    html.section("Subgroup operations");
    html.raw("<p>How many lanes executed each operation, and how many compared values depended on it: with the whole subgroup active, ");
    html.raw("and with a part of it. The bars compare the checked values, on a logarithmic scale.</p>\n");
    html.raw(
        "<div class=\"scroll\"><table class=\"books\">\n<thead><tr><th>operation</th><th class=\"n\">lanes, all</th>",
    );
    html.raw("<th class=\"n\">lanes, some</th><th class=\"n\">checked, all</th><th class=\"n\">checked, some</th><th></th></tr></thead>\n<tbody>\n");
    let uses = |name: &str| campaign.operations.get(name).copied().unwrap_or_default();
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
    html.raw("</tbody></table></div>\n</section>\n");
}

fn constructs(html: &mut Html, campaign: &Campaign) {
    if campaign.constructs.is_empty() {
        return;
    }
    html.section("Constructs in the generated cases");
    html.raw("<div class=\"scroll\"><table class=\"books\">\n<tbody>\n");
    for (name, count) in &campaign.constructs {
        let class = if *count == 0 { "n zero" } else { "n" };
        html.raw("<tr>").element("td", &[], name).element("td", &[("class", &class)], thousands(*count)).raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n</section>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_in_the_unit_that_fits() {
        for (seconds, text) in [(0.34, "0.3 s"), (61.0, "1 min 01 s"), (7_384.0, "2 h 03 min")] {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn names_of_devices_and_signatures_are_escaped() {
        let group = Group {
            signature: Signature { kind: Kind::Crash, detail: tangle_identity::Detail::Text("<b>".into()) },
            seen: vec![Seen {
                device: "a<i>".into(),
                cases: 2,
                first_case: 1,
                links: vec![("x\"y".into(), "<u>".into())],
                story: "<s>".into(),
            }],
        };
        let books = Campaign {
            devices: vec![Device { name: "a<i>".into(), ..Device::default() }],
            bugs: vec![Bug {
                device: "a<i>".into(),
                name: "<b>".into(),
                known: Some("<u>".into()),
                witnesses: 1,
                statements: 2,
                flake: Some(Rate { failed: 3, runs: 10 }),
                link: "x\"y".into(),
                program: "<s>".into(),
                story: "<s>".into(),
            }],
            findings: vec![group],
            known: vec![("a<i>".into(), "<b>".into(), 3)],
            ..Campaign::default()
        };
        let page = campaign(&books);
        for raw in ["<b></", "a<i>", "<u>", "<s>", "x\"y"] {
            assert!(!page.contains(raw), "{raw}");
        }
        assert!(page.contains("a&lt;i&gt;") && page.contains("flake: fails in 3 of 10 runs"));
    }
}
