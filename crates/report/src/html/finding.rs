//! The page of a finding.

use tangle_oracle::map::MapFault;
use tangle_program::case::{Case, DerivativeGroup, GroupId, Launch, SubgroupSize, Workgroups};
use tangle_program::text::{capital, spaced};

use super::framebuffer::framebuffer;
use super::lanes::picture;
use super::listing::{code, listing};
use super::{Html, page};
use crate::difference::difference;
use crate::export::properties;
use crate::subject::{Analysis, Elsewhere, Subject};
use crate::wrong_step::{LaneResult, LaneRow, WrongStep, is_expected, lane_list, mark};
use tangle_identity::flow;
use tangle_identity::rule::Rule;
use tangle_identity::stage::{Cell, Outcome};

/// Wrong lanes shown; the rest is counted.
const ROWS_SHOWN: usize = 48;

/// The page of a finding.
pub fn finding(finding: &Analysis<'_>) -> String {
    let mut html = Html::default();
    header(&mut html, finding);
    body(&mut html, finding);
    page(&title(finding), html)
}

/// All but its header.
pub(super) fn body(html: &mut Html, finding: &Analysis<'_>) {
    let Analysis { subject, faults, account, wrong_step, .. } = finding;
    if let Some(account) = account {
        let detailed = flow::detailed(account);
        let account = detailed.as_ref().unwrap_or(account);
        let first = account.first();
        let group = first.as_ref().map_or(GroupId::default(), |first| first.group);
        html.section("Lanes against steps");
        // Where nothing is wrong the end of the program is shown.
        let at =
            first.as_ref().map_or(account.steps.iter().rposition(|step| step.number.is_some()), |first| first.step);
        let beside = framebuffer(account, at);
        picture(html, account, group, first.and_then(|first| first.step), beside);
        html.raw("</section>\n");
    }
    first_step(html, wrong_step.as_ref());
    if wrong_step.is_none() && !subject.report.is_empty() {
        html.section("What happened").element("pre", &[], subject.report.trim_end()).raw("\n</section>\n");
    }
    map_faults(html, &subject.case, faults);
    rules(html, &finding.rules);
    reproduce(html, subject);
    variants(html, subject);
    switches(html, subject);
    others(html, subject);
    neighbour(html, subject);
    facts(html, subject);
    html.section("Program");
    let line = wrong_step.as_ref().map_or(0, |wrong_step| wrong_step.line);
    listing(html, account.as_ref(), &subject.shader.source, line);
    html.raw("</section>\n");
    html.raw("<footer>").text(&subject.versions).raw("</footer>\n");
}

fn title(finding: &Analysis<'_>) -> String {
    let what = finding.headline().unwrap_or_else(|| "nothing is wrong".into());
    match &finding.subject.device {
        Some(device) => format!("{}: {what}", device.name),
        None => what,
    }
}

fn header(html: &mut Html, finding: &Analysis<'_>) {
    let subject = finding.subject;
    html.raw("<header>\n<p class=\"chips\">");
    if let Some(device) = &subject.device {
        html.element("span", &[("class", &"chip device")], &device.name);
    }
    match &subject.signature {
        Some(signature) => html.element("span", &[("class", &"chip bad")], spaced(signature.kind.name())),
        None => html.element("span", &[("class", &"chip good")], "pass"),
    };
    html.element("span", &[("class", &"chip")], format_args!("tier {}", subject.case.tier.name()));
    if !subject.case.variant.is_unoptimised() {
        html.element("span", &[("class", &"chip")], &subject.case.variant);
    }
    html.raw("</p>\n");
    let headline = finding.headline().unwrap_or_else(|| "nothing is wrong".into());
    html.element("h1", &[], capital(&headline)).raw("\n");
    if let Some(signature) = &subject.signature {
        html.element("p", &[("class", &"sub")], format_args!("Signature: {signature}")).raw("\n");
    }
    html.raw("</header>\n");
}

fn first_step(html: &mut Html, wrong_step: Option<&WrongStep>) {
    let Some(wrong_step) = wrong_step else { return };
    html.section("The first wrong step");
    if let Some(trace) = &wrong_step.trace {
        html.element("p", &[], format_args!("{}.", capital(trace))).raw("\n");
    }
    let headline =
        format_args!("{} ({}); first at {}.", capital(&wrong_step.headline), wrong_step.extent, wrong_step.place);
    html.element("p", &[], headline).raw("\n");
    html.raw("<div class=\"scroll\"><table class=\"listing excerpt\">\n");
    for (number, line) in &wrong_step.excerpt {
        html.open("tr", &[("class", &if *number == wrong_step.line { "wrong" } else { "" })]);
        html.raw("<td class=\"number\">")
            .open("a", &[("href", &format_args!("#L{number}"))])
            .text(number)
            .raw("</a></td>");
        html.raw("<td class=\"code\"><code>");
        code(html, line);
        html.raw("</code></td></tr>\n");
    }
    html.raw("</table></div>\n");
    strips(html, wrong_step);
    lane_table(html, wrong_step);
    html.raw("<p>The step before:</p>\n<ul>\n");
    for origin in &wrong_step.origins {
        html.raw("<li>");
        match &origin.from {
            Some((step, source)) => html.text(format_args!("step {}, ", step + 1)).element("code", &[], source),
            None => html.raw("the start of the program"),
        };
        html.raw("<br>").text(lane_list(&origin.lanes)).raw("</li>\n");
    }
    html.raw("</ul>\n</section>\n");
}

fn strips(html: &mut Html, wrong_step: &WrongStep) {
    if wrong_step.strips.is_empty() {
        return;
    }
    html.raw("<div class=\"scroll\"><table class=\"strips\">\n");
    let (shown, left_out) = wrong_step.shown_strips();
    for strip in shown {
        // One above the other, so that a lane stands below itself.
        html.raw("<tr>").element("th", &[("rowspan", &2)], format_args!("subgroup {}", strip.subgroup));
        html.raw("<th>expected</th><td>");
        for (lane, state) in strip.lanes.iter().enumerate() {
            let class = state.map_or("none", |state| if is_expected(state) { "right" } else { "absent" });
            html.open("i", &[("class", &class), ("title", &format_args!("lane {lane}"))]).raw("</i>");
        }
        html.raw("</td></tr>\n<tr><th>actual</th><td>");
        for (lane, state) in strip.lanes.iter().enumerate() {
            let Some(state) = state else {
                html.raw("<i class=\"none\"></i>");
                continue;
            };
            let shown = match mark(*state) {
                '#' | '.' => ' ',
                mark => mark,
            };
            html.open("i", &[("class", &class_of(*state)), ("title", &format_args!("lane {lane}"))])
                .text(shown)
                .raw("</i>");
        }
        html.raw("</td></tr>\n");
    }
    if left_out > 0 {
        html.raw("<tr><td colspan=\"3\">").text(format_args!("and {left_out} more subgroups")).raw("</td></tr>\n");
    }
    html.raw("</table></div>\n");
}

const fn class_of(state: tangle_identity::account::State) -> &'static str {
    use tangle_identity::account::State;
    match state {
        State::Absent => "absent",
        State::Right | State::Open | State::Unseen => "right",
        State::WrongValue => "value",
        State::Missing => "missing",
        State::Intruder => "intruder",
        State::NotJudged => "unjudged",
    }
}

fn lane_table(html: &mut Html, wrong_step: &WrongStep) {
    if let Some(what) = wrong_step.all_left() {
        html.element("p", &[], format_args!("Instead, each of these lanes {what}.")).raw("\n");
        return;
    }
    html.raw("<div class=\"scroll\"><table class=\"values\">\n<tr><th>subgroup</th><th>lane</th><th>invocation</th>");
    for column in &wrong_step.columns {
        html.raw("<th colspan=\"2\">").element("code", &[], column).raw("<br><small>expected, actual</small></th>");
    }
    if wrong_step.columns.is_empty() {
        html.raw("<th class=\"words\">instead</th>");
    }
    html.raw("</tr>\n");
    for LaneRow { subgroup, lane, index, result } in wrong_step.rows.iter().take(ROWS_SHOWN) {
        html.raw("<tr>").element("td", &[], subgroup).element("td", &[], lane).element("td", &[], index);
        match result {
            LaneResult::Left(what) => {
                html.element("td", &[("class", &"words")], what);
            }
            LaneResult::Logged(cells) => cells.iter().for_each(|cell| value_cells(html, cell)),
        }
        html.raw("</tr>\n");
    }
    html.raw("</table></div>\n");
    if wrong_step.rows.len() > ROWS_SHOWN {
        html.element("p", &[], format_args!("And {} more lanes.", wrong_step.rows.len() - ROWS_SHOWN));
    }
    if wrong_step.left_out > 0 {
        let more = format_args!(
            "{} more values are logged here; in all of these lanes they are right or open.",
            wrong_step.left_out
        );
        html.element("p", &[], more).raw("\n");
    }
}

fn value_cells(html: &mut Html, (expected, found): &(Option<String>, String)) {
    let class = match expected {
        None => "is-open",
        Some(expected) if expected == found => "is-right",
        Some(_) => "is-wrong",
    };
    html.element("td", &[("class", &"expected")], expected.as_deref().unwrap_or("open"));
    html.element("td", &[("class", &class)], found);
}

fn map_faults(html: &mut Html, case: &Case, faults: &[MapFault]) {
    if faults.is_empty() {
        return;
    }
    html.section("The lane map");
    html.raw(
        "<p>Before any control flow, the subgroup built-ins contradict each other or the specification:</p>\n<ul>\n",
    );
    for fault in faults {
        html.element("li", &[], fault.describe(&case.entry_point)).raw("\n");
    }
    html.raw("</ul>\n</section>\n");
}

fn rules(html: &mut Html, rules: &[Rule]) {
    if rules.is_empty() {
        return;
    }
    html.section("Why this is wrong");
    html.raw("<dl>\n");
    for rule in rules {
        html.element("dt", &[], rule.heading()).raw("<dd>");
        if !rule.quote.is_empty() {
            html.element("blockquote", &[], &rule.quote);
        }
        html.element("p", &[], &rule.because).raw("</dd>\n");
    }
    html.raw("</dl>\n</section>\n");
}

fn reproduce(html: &mut Html, subject: &Subject) {
    if subject.command.is_empty() {
        return;
    }
    html.section("Reproduce").element("pre", &[], &subject.command);
    if let Some(rate) = subject.rate {
        html.element("p", &[], format_args!("It fails in {} of {} runs.", rate.failed, rate.runs));
    }
    html.raw("\n</section>\n");
}

/// Devices with the same driver and the same cells are one row.
fn variants(html: &mut Html, subject: &Subject) {
    let Some(table) = &subject.variants else { return };
    html.section("Which stage is to blame");
    if let Some(blame) = subject.device.as_ref().and_then(|device| table.blame(&device.name)) {
        html.element("p", &[], format_args!("{blame}.")).raw("\n");
    }
    html.raw("<div class=\"scroll\"><table class=\"statistics\">\n<tr><th>driver</th><th>devices</th>");
    for row in &table.rows {
        html.element("th", &[], &row.made);
    }
    html.raw("</tr>\n");
    let mut groups: Vec<(&str, Vec<&str>, Vec<&Cell>)> = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let cells: Vec<&Cell> = table.rows.iter().filter_map(|row| row.cells.get(at)).collect();
        match groups.iter_mut().find(|(driver, _, others)| *driver == column.driver && *others == cells) {
            Some((_, devices, _)) => devices.push(&column.device),
            None => groups.push((&column.driver, vec![&column.device], cells)),
        }
    }
    groups.sort_by_key(|(driver, ..)| *driver);
    for (driver, devices, cells) in groups {
        html.raw("<tr>").element("th", &[], driver).element("td", &[("class", &"what")], devices.join(", "));
        cells.into_iter().for_each(|cell| variant_cell(html, cell));
        html.raw("</tr>\n");
    }
    html.raw("</table></div>\n</section>\n");
}

fn switches(html: &mut Html, subject: &Subject) {
    let Some(switches) = &subject.switches else { return };
    html.section("What makes it pass");
    html.element("p", &[], switches.sentences()).raw("\n</section>\n");
}

fn variant_cell(html: &mut Html, cell: &Cell) {
    let class = match cell.outcome {
        Outcome::Passes => "chip good",
        Outcome::Fails { .. } => "chip bad",
        Outcome::NotRun => "chip",
    };
    html.raw("<td>");
    match &cell.outcome {
        Outcome::Fails { kind, .. } => {
            html.element("span", &[("class", &class)], spaced(kind.name()));
            let detail = if cell.detail.is_empty() { &cell.text } else { &cell.detail };
            html.raw("<br>").element("small", &[], detail);
        }
        Outcome::Passes | Outcome::NotRun => drop(html.element("span", &[("class", &class)], &cell.text)),
    }
    html.raw("</td>");
}

/// Devices of one driver with the same result are one row.
fn others(html: &mut Html, subject: &Subject) {
    if subject.others.is_empty() {
        return;
    }
    html.section("The same program on other devices");
    html.raw("<div class=\"scroll\"><table class=\"statistics\">\n<tr><th>driver</th><th>versions</th><th>devices</th><th>result</th></tr>\n");
    let mut groups: Vec<(&Elsewhere, Vec<&str>, Vec<&str>)> = Vec::new();
    for other in &subject.others {
        match groups.iter_mut().find(|(first, ..)| first.driver == other.driver && first.result == other.result) {
            Some((_, versions, devices)) => {
                if !versions.contains(&other.version.as_str()) {
                    versions.push(&other.version);
                }
                devices.push(&other.device);
            }
            None => groups.push((other, vec![&other.version], vec![&other.device])),
        }
    }
    groups.sort_by_key(|(first, ..)| (&first.driver, first.is_right));
    for (Elsewhere { driver, result, is_right, .. }, versions, devices) in groups {
        let class = match is_right {
            Some(true) => "good",
            Some(false) => "bad",
            None => "none",
        };
        html.raw("<tr>").element("th", &[], driver).element("td", &[], versions.join("; "));
        html.element("td", &[("class", &"what")], devices.join(", "))
            .element("td", &[("class", &class)], result)
            .raw("</tr>\n");
    }
    html.raw("</table></div>\n</section>\n");
}

fn neighbour(html: &mut Html, subject: &Subject) {
    let Some(neighbour) = &subject.neighbour else { return };
    html.section("The nearest program that passes").raw("<pre class=\"diff\">");
    for line in difference(&subject.shader.source, &tangle_emit::source(neighbour)).lines() {
        let class = match line.as_bytes().first() {
            Some(b'-') => "less",
            Some(b'+') => "more",
            _ => "",
        };
        html.element("span", &[("class", &class)], line).raw("\n");
    }
    html.raw("</pre>\n");
    if neighbour.entry_point != subject.case.entry_point || neighbour.data != subject.case.data {
        html.raw("<p>Its data or its launch differ, too.</p>\n");
    }
    html.raw("</section>\n");
}

fn facts(html: &mut Html, subject: &Subject) {
    html.raw("<div class=\"columns\">\n").section("Environment");
    let rows = properties(subject.device.as_ref()).into_iter().filter(|(_, value)| !value.is_empty());
    html.facts(rows.map(|(name, value)| (name.to_owned(), value))).raw("</section>\n");
    html.section("Case").facts(case_facts(subject)).raw("</section>\n</div>\n");
}

fn case_facts(subject: &Subject) -> Vec<(String, String)> {
    let case = &subject.case;
    let by = |sides: [u32; 3]| sides.map(|side| side.to_string()).join(" × ");
    let spirv = serde_json::to_value(case.entry_point.spirv).ok().and_then(|value| value.as_str().map(str::to_owned));
    let size = match case.entry_point.subgroup_size {
        SubgroupSize::Default => "the device's default".to_owned(),
        SubgroupSize::Varying => "may vary".into(),
        SubgroupSize::Required(size) => format!("{size}, required"),
    };
    let mut rows = vec![("Stage".to_owned(), spaced(case.entry_point.stage.name()))];
    let [item, of_item] = case.entry_point.stage.item_names().unwrap_or_default();
    rows.extend(match &case.entry_point.launch {
        Launch::Workgroups(Workgroups { size, count, derivative_group, meshes, by_task, .. }) => {
            let rows = [
                ("Workgroup".to_owned(), by(*size)),
                ("Workgroups".into(), by(*count)),
                ("Quads".into(), derivative_group.map_or("by lanes", DerivativeGroup::name).into()),
            ];
            let emitted = (*meshes > 0).then(|| ("Mesh workgroups of each".to_owned(), meshes.to_string()));
            let emits = by_task.then(|| ("Emitted by".to_owned(), "a task shader".to_owned()));
            rows.into_iter().chain(emitted).chain(emits).collect()
        }
        Launch::Draw(draw) => vec![
            ("Framebuffer".to_owned(), format!("{} × {}", draw.width, draw.height)),
            ("Triangles".into(), draw.triangles.len().to_string()),
            ("Layers".into(), draw.layers.to_string()),
            ("Samples of a pixel".into(), draw.samples.to_string()),
        ],
        Launch::Items(items) => vec![
            ("Items".to_owned(), format!("{} ({item})", items.count)),
            ("Invocations of each".into(), format!("{} ({of_item})", items.size)),
        ],
    });
    rows.extend([
        ("Subgroup size".to_owned(), size),
        ("Full subgroups".into(), if case.entry_point.full_subgroups { "required" } else { "not required" }.into()),
        ("SPIR-V".into(), spirv.unwrap_or_default()),
        ("Convergence tier".into(), spaced(case.tier.name())),
    ]);
    let origin = [
        ("Seed", case.origin.seed.map(|seed| seed.to_string())),
        ("Other data, number", case.origin.data.map(|number| number.to_string())),
        ("Profile", case.origin.profile.clone()),
        ("Generator", case.origin.generator.clone()),
        ("Minimised from", case.origin.minimized_from.clone()),
        ("Fails", subject.rate.map(|rate| format!("{} of {} runs", rate.failed, rate.runs))),
        ("About", Some(case.about.clone()).filter(|about| !about.is_empty())),
    ];
    rows.extend(origin.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    rows
}
