//! A bug book as pages: what is open, and a page for each bug.

use std::collections::BTreeMap;

use tangle_identity::book::{Record, Seen, State};

use super::campaign::linked;
use super::{Html, address, finding, page};
use crate::campaign::Campaign;
use crate::subject::Analysis;
use crate::text::thousands;
use tangle_program::text::{capital, spaced};

/// The file of a bug's page.
pub fn file_name(id: &str) -> String {
    format!("{id}.html")
}

/// The words for a state.
fn words(state: State) -> String {
    spaced(state.name())
}

fn class(state: State) -> &'static str {
    match state {
        State::Fixed => "chip good",
        state if state.is_open() => "chip bad",
        _ => "chip",
    }
}

/// The first page: what is open by driver, what is not, and what campaigns found lately, with the addresses of their reports.
pub fn index(title: &str, records: &[Record], campaigns: &[(String, Campaign)]) -> String {
    let mut html = Html::default();
    let open: Vec<&Record> = records.iter().filter(|record| record.state.is_open()).collect();
    html.raw("<header>\n").element("h1", &[], title).raw("\n<div class=\"cards\">\n");
    let fixed = records.iter().filter(|record| record.state == State::Fixed).count();
    let others = records.len() - open.len() - fixed;
    let counts = [(open.len(), "open"), (fixed, "fixed"), (others, "invalid, duplicates, questions")];
    for (count, what) in counts.into_iter().filter(|(count, what)| *count > 0 || *what == "open") {
        html.raw("<div class=\"card\">").element("b", &[], count).element("span", &[], what).raw("</div>\n");
    }
    html.raw("</div>\n");
    let mut drivers: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in &open {
        for driver in &record.drivers {
            drivers.entry(driver).or_default().push(record);
        }
        if record.drivers.is_empty() {
            drivers.entry("every driver").or_default().push(record);
        }
    }
    let closed: Vec<&Record> = records.iter().filter(|record| !record.state.is_open()).collect();
    let mut places: Vec<(String, String)> = Vec::new();
    for (number, (driver, records)) in drivers.iter().enumerate() {
        places.push((format!("driver-{}", number + 1), format!("{driver}: {}", records.len())));
    }
    if !closed.is_empty() {
        places.push(("closed".into(), format!("closed: {}", closed.len())));
    }
    for (number, (_, campaign)) in campaigns.iter().enumerate() {
        places.push((campaign_id(number), format!("campaign {}", campaign.folder.display())));
    }
    html.raw("<p class=\"chips contents\">");
    for (id, text) in places {
        html.element("a", &[("class", &"chip"), ("href", &format_args!("#{id}"))], text);
    }
    html.raw("</p>\n</header>\n");
    for (number, (driver, records)) in drivers.iter().enumerate() {
        html.section_at(&format!("driver-{}", number + 1), &format!("Open: {driver}"));
        table(&mut html, records);
        html.raw("</section>\n");
    }
    if !closed.is_empty() {
        html.section_at("closed", "Closed");
        table(&mut html, &closed);
        html.raw("</section>\n");
    }
    for (number, (place, campaign)) in campaigns.iter().enumerate() {
        lately(&mut html, &campaign_id(number), place, campaign);
    }
    page(title, html)
}

fn table(html: &mut Html, records: &[&Record]) {
    html.raw("<div class=\"scroll\"><table class=\"statistics\">\n<thead><tr><th>bug</th><th>state</th><th>severity</th></tr></thead>\n<tbody>\n");
    for record in records {
        html.raw("<tr><td class=\"what\">");
        html.element("a", &[("href", &address(&file_name(&record.id)))], capital(&record.title));
        html.raw("<br>").element("span", &[("class", &"sub")], &record.id);
        for range in record.ranges() {
            // Below the name: a column of its own is too wide for a phone.
            html.raw("<br>").text(range);
        }
        html.raw("</td>").element("td", &[], words(record.state)).element("td", &[], record.severity.name());
        html.raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

fn campaign_id(number: usize) -> String {
    format!("campaign-{}", number + 1)
}

fn lately(html: &mut Html, id: &str, place: &str, campaign: &Campaign) {
    let statistics = &campaign.statistics;
    html.section_at(id, &format!("Campaign {}", campaign.folder.display()));
    let counts = statistics.counts();
    let new = statistics.bugs.iter().filter(|bug| bug.known.is_none()).count();
    let covered = campaign.coverage.iter().map(|(device, coverage)| {
        let (filled, all) = coverage.filled();
        (format!("covered on {device}"), format!("{} of {} cells", thousands(filled as u64), thousands(all as u64)))
    });
    let facts = [
        ("cases".to_owned(), thousands(statistics.cases())),
        ("values compared".to_owned(), thousands(counts.checked)),
        ("minimised to".to_owned(), format!("{} bugs, {new} of them not known", statistics.bugs.len())),
    ];
    html.facts(facts.into_iter().chain(covered));
    let bugs = campaign.bugs();
    if !bugs.is_empty() {
        html.raw("<div class=\"scroll\"><table class=\"statistics\">\n<thead><tr><th>found</th><th>cases</th></tr></thead>\n<tbody>\n");
        for bug in bugs.iter().take(BUGS_SHOWN) {
            html.raw("<tr><td class=\"what\">");
            linked(html, campaign, &bug.representative, capital(&bug.title()));
            html.raw("<br><span class=\"sub\">").text(&bug.device);
            if let Some(known) = &bug.known {
                html.raw(", known: ").text(known);
            }
            html.raw("</span></td>").element("td", &[], thousands(statistics.cases_of(bug))).raw("</tr>\n");
        }
        html.raw("</tbody></table></div>\n");
        if let Some(left @ 1..) = bugs.len().checked_sub(BUGS_SHOWN) {
            html.element("p", &[], format_args!("and {left} more")).raw("\n");
        }
    }
    html.raw("<p>")
        .element("a", &[("href", &address(place))], "Its report, with the coverage of operations")
        .raw("</p>\n");
    html.raw("</section>\n");
}

/// Bugs of a campaign on the first page.
const BUGS_SHOWN: usize = 12;

/// The page of a bug. `shown` is the finding, or what the case has to do, if either is known.
pub fn bug(record: &Record, shown: Option<&Analysis<'_>>) -> String {
    let mut html = Html::default();
    html.raw("<header>\n<p><a href=\"index.html\">all bugs</a></p>\n<p class=\"chips\">");
    html.element("span", &[("class", &class(record.state))], words(record.state));
    html.element("span", &[("class", &"chip")], format_args!("severity {}", record.severity.name()));
    for driver in &record.drivers {
        html.element("span", &[("class", &"chip device")], driver);
    }
    html.raw("</p>\n").element("h1", &[], capital(&record.title)).raw("\n");
    html.element("p", &[("class", &"sub")], &record.id).raw("\n");
    if !record.note.is_empty() {
        html.element("p", &[], record.note.trim()).raw("\n");
    }
    if record.tracker.starts_with("http") {
        html.raw("<p>").element("a", &[("href", &record.tracker)], &record.tracker).raw("</p>\n");
    }
    if !record.duplicate_of.is_empty() {
        let other = file_name(&record.duplicate_of);
        html.raw("<p>The same as ").element("a", &[("href", &address(&other))], &record.duplicate_of).raw("</p>\n");
    }
    html.raw("</header>\n<div class=\"columns\">\n");
    versions(&mut html, record);
    history(&mut html, record);
    html.raw("</div>\n");
    if !record.switches.is_empty() {
        html.section("What makes it pass");
        for switches in &record.switches {
            let on = format!("{} {}", switches.driver, switches.version);
            html.element("p", &[], format_args!("{}: {}", on.trim(), switches.sentences())).raw("\n");
        }
        html.raw("</section>\n");
    }
    if let Some(shown) = shown {
        finding::body(&mut html, shown);
    }
    page(&record.title, html)
}

fn versions(html: &mut Html, record: &Record) {
    html.section("Versions");
    for range in record.ranges() {
        html.element("p", &[], range).raw("\n");
    }
    if record.versions.is_empty() {
        html.raw("<p>No version was tried.</p>\n");
    } else {
        html.raw("<div class=\"scroll\"><table class=\"statistics\">\n");
        for seen in &record.versions {
            html.raw("<tr>").element("td", &[], format_args!("{} {}", seen.driver, seen.version));
            match seen.result {
                Seen::Bad => html.raw("<td class=\"bad\">bad</td></tr>\n"),
                Seen::Good => html.raw("<td class=\"good\">good</td></tr>\n"),
            };
        }
        html.raw("</table></div>\n");
    }
    html.raw("</section>\n");
}

fn history(html: &mut Html, record: &Record) {
    html.section("History");
    html.facts(record.history.iter().rev().map(|event| (event.date.clone(), capital(&event.what))));
    html.raw("</section>\n");
}

#[cfg(test)]
mod tests {
    use tangle_identity::BugId;
    use tangle_identity::book::Event;
    use tangle_identity::switches::Switches;

    use super::*;
    use crate::statistics::BugEntry;

    fn record(id: &str, state: State) -> Record {
        Record {
            id: id.into(),
            title: "wrong <result>".into(),
            state,
            drivers: vec!["llvmpipe".into()],
            tracker: "https://tracker.example/7".into(),
            switches: vec![Switches { passes: vec!["A=<1>".to_owned().into()], ..Switches::default() }],
            history: vec![Event { date: "2026-01-02".into(), what: "added & seen".into() }],
            ..Record::default()
        }
    }

    #[test]
    fn what_a_campaign_found_stands_on_the_first_page() {
        let mut campaign = Campaign::default();
        for number in 0..BUGS_SHOWN + 2 {
            campaign.statistics.enter_bug(BugEntry {
                device: "dev<ice>".into(),
                bug: BugId::Text(format!("shape {number}")),
                operators: Default::default(),
                passes_without: Default::default(),
                recognised: Default::default(),
                known: (number > 0).then(|| format!("known <{number}>")),
                signatures: Default::default(),
                witnesses: 1,
                representative: if number == 0 { "findings/a/b".into() } else { format!("findings/a/{number}") },
                statements: 1,
                severity: Default::default(),
                flake: None,
            });
        }
        campaign.pages = Some([("findings/a/b".to_owned(), "campaign-1-a-b.html".to_owned())].into());
        let index = index("Bugs", &[], &[("campaign-1.html".into(), campaign)]);
        for part in [
            "Shape 0",
            "dev&lt;ice&gt;",
            "known: known &lt;1&gt;",
            "and 2 more",
            "href=\"campaign-1.html\"",
            "href=\"#campaign-1\"",
            "id=\"campaign-1\"",
            "href=\"campaign-1-a-b.html\"",
        ] {
            assert!(index.contains(part), "{part}: {index}");
        }
        // The folders of the others are not there.
        assert_eq!(index.matches("href=\"campaign-1-a-b.html\"").count(), 1, "{index}");
        assert!(!index.contains("href=\"findings"), "{index}");
    }

    #[test]
    fn every_bug_is_linked_and_nothing_is_loaded() {
        let records = [record("a", State::New), record("b", State::Fixed), record("c", State::Invalid)];
        let index = index("Bugs", &records, &[]);
        for part in ["href=\"a.html\"", "href=\"b.html\"", "Open: llvmpipe", "Closed", "Wrong &lt;result&gt;"] {
            assert!(index.contains(part), "{part}");
        }
        for (id, text) in [("driver-1", "llvmpipe: 1"), ("closed", "closed: 2")] {
            assert!(index.contains(&format!("<section id=\"{id}\">")), "{id}");
            assert!(index.contains(&format!("href=\"#{id}\">{text}</a>")), "{id}");
        }
        let page = bug(&records[0], None);
        for part in ["href=\"index.html\"", "added &amp; seen", "https://tracker.example/7", "chip bad", "a=&lt;1&gt;"]
        {
            assert!(page.to_lowercase().contains(part), "{part}");
        }
        for text in [&index, &page] {
            for loading in ["<script", "<link", "src=", "@import", "url("] {
                assert!(!text.contains(loading), "{loading}");
            }
        }
    }
}
