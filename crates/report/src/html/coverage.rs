//! Coverage as a heat map: on a page of its own, and in that of a campaign.

use std::collections::BTreeMap;

use tangle_analysis::context::Context;
use tangle_oracle::coverage::{Cell, Coverage, EXEMPTIONS, Fill, reachable, reachable_in};
use tangle_program::subgroup::{Category, OpInfo, TABLE};
use tangle_program::text::spaced;
use tangle_program::types::Scalar;

use super::{Html, page};
use crate::text::thousands;

/// The page of what was covered, a section for each device.
pub fn coverage(by_device: &BTreeMap<String, Coverage>) -> String {
    let mut html = Html::default();
    html.raw("<header>\n<h1>Coverage</h1>\n</header>\n");
    by_device.iter().for_each(|(device, coverage)| section(&mut html, device, coverage));
    page("Coverage", html)
}

/// What was covered on one device.
pub(super) fn section(html: &mut Html, device: &str, coverage: &Coverage) {
    let (filled, all) = coverage.filled();
    html.section(&format!("Operations and where they were checked: {device}"));
    html.raw("<p>").text(format_args!("{} of {all} cells are filled by {} cases. ", filled, thousands(coverage.cases)));
    html.raw("A cell says how many values of the operation were compared in this context; under the pointer also how often it was ");
    html.raw("generated and by how many lanes reached. ");
    html.raw("<b>!</b>: in no program; <b>gen</b>: no lane reached it; <b>run</b>: nothing was compared. ");
    for exemption in &EXEMPTIONS {
        html.text(format_args!("·: {}. ", exemption.reason));
    }
    html.raw("</p>\n");
    contexts(html, coverage);
    html.raw("<details>").element("summary", &[], "The columns");
    html.facts(Context::ALL.iter().map(|context| (context.short().to_owned(), context.about().to_owned())));
    html.raw("</details>\n<details>").element("summary", &[], "By type: scalars, and vectors of all widths");
    types(html, coverage);
    html.raw("</details>\n<details>").element("summary", &[], "By stage: those that anything stood in");
    stages(html, coverage);
    html.raw("</details>\n</section>\n");
}

fn contexts(html: &mut Html, coverage: &Coverage) {
    html.raw("<div class=\"scroll\"><table class=\"heat\">\n<thead><tr><th></th>");
    for context in Context::ALL {
        html.element("th", &[("title", &context.about())], context.short());
    }
    html.raw("</tr></thead>\n<tbody>\n");
    rows(html, |html, info| {
        let row = coverage.operation(info.op);
        for &context in Context::ALL {
            cell(html, row.cell(context), reachable(info, context).0);
        }
    });
}

fn types(html: &mut Html, coverage: &Coverage) {
    html.raw("<div class=\"scroll\"><table class=\"heat\">\n<thead><tr><th></th>");
    for scalar in Scalar::ALL {
        html.element("th", &[], scalar.name()).element("th", &[], "vec");
    }
    html.raw("</tr></thead>\n<tbody>\n");
    rows(html, |html, info| {
        for scalar in Scalar::ALL {
            if info.scalars.contains(&scalar) {
                let (alone, vector) = coverage.of_scalar(info.op, scalar);
                [alone, vector].into_iter().for_each(|of| cell(html, of, Fill::Checked));
            } else {
                html.raw("<td></td><td></td>");
            }
        }
    });
}

fn stages(html: &mut Html, coverage: &Coverage) {
    let stages = coverage.stages();
    html.raw("<div class=\"scroll\"><table class=\"heat\">\n<thead><tr><th></th>");
    for stage in &stages {
        html.element("th", &[("title", &spaced(stage.name()))], stage.glsl_extension());
    }
    html.raw("</tr></thead>\n<tbody>\n");
    rows(html, |html, info| {
        let row = coverage.operation(info.op);
        stages.iter().for_each(|&stage| cell(html, row.in_stage(stage), reachable_in(info, stage)));
    });
}

fn rows(html: &mut Html, cells: impl Fn(&mut Html, &OpInfo)) {
    for category in Category::ALL {
        html.raw("<tr>").element("th", &[("class", &"category")], spaced(category.name())).raw("</tr>\n");
        for info in TABLE.iter().filter(|info| info.category == category) {
            html.raw("<tr><th>").element("code", &[], info.name).raw("</th>");
            cells(html, info);
            html.raw("</tr>\n");
        }
    }
    html.raw("</tbody></table></div>\n");
}

fn cell(html: &mut Html, cell: Cell, best: Fill) {
    let (class, text) = match cell.fill() {
        Fill::Checked => (HEAT[heat(cell.checked)], thousands(cell.checked)),
        fill if fill >= best => ("none", "·".into()),
        Fill::Empty => ("empty", "!".into()),
        Fill::Generated => ("empty", "gen".into()),
        Fill::Reached => ("empty", "run".into()),
    };
    let title = format!(
        "generated {}, reached {}, checked {}",
        thousands(cell.generated),
        thousands(cell.reached),
        thousands(cell.checked)
    );
    html.element("td", &[("class", &class), ("title", &title)], text);
}

const HEAT: [&str; 6] = ["h1", "h2", "h3", "h4", "h5", "h6"];

/// The shade of a count: one more for each power of ten, from 10 on.
fn heat(count: u64) -> usize {
    (count.max(1).ilog10() as usize).saturating_sub(1).min(HEAT.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_follow_the_power_of_ten() {
        for (count, shade) in [(1, 0), (99, 0), (100, 1), (99_999, 3), (10_000_000, 5), (u64::MAX, 5)] {
            assert_eq!(heat(count), shade, "{count}");
        }
    }

    #[test]
    fn an_empty_cell_stands_out_and_one_that_cannot_be_filled_does_not() {
        let empty = coverage(&BTreeMap::from([("a<b".to_owned(), Coverage::default())]));
        assert!(empty.contains("a&lt;b") && empty.contains("<td class=\"empty\""), "{empty}");
        let cells = TABLE.iter().flat_map(|info| Context::ALL.iter().map(move |&at| reachable(info, at).0));
        let exempt = cells.filter(|&fill| fill == Fill::Empty).count();
        assert!(exempt > 0, "some cells cannot be filled");
        assert_eq!(empty.matches("<td class=\"none\"").count(), exempt);
    }
}
