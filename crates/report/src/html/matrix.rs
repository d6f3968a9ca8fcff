//! The page of a matrix: bugs or cases against devices.

use super::{Html, page};
use crate::matrix::{Matrix, Meaning};

/// The page of devices against bugs.
pub fn matrix(matrix: &Matrix) -> String {
    let mut html = Html::default();
    html.raw("<header>\n<h1>Devices against bugs</h1>\n</header>\n<section>\n");
    html.raw("<div class=\"scroll\"><table class=\"statistics matrix\">\n<thead><tr><th>case</th>");
    for device in &matrix.devices {
        html.raw("<th>").element("span", &[("title", &device.driver)], &device.name).raw("</th>");
    }
    html.raw("</tr></thead>\n<tbody>\n");
    for row in &matrix.rows {
        html.raw("<tr>").element("th", &[("title", &row.about)], &row.name);
        for cell in &row.cells {
            let class = match cell.meaning {
                Meaning::Bad => "bad",
                Meaning::Good => "good",
                Meaning::Open => "none",
            };
            html.element("td", &[("class", &class)], cell.status.title());
        }
        html.raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n</section>\n");
    html.section("Versions").facts(matrix.rows.iter().filter(|row| !row.history.is_empty()).map(|row| {
        let about = if row.about.is_empty() { String::new() } else { format!(" (known: {})", row.about) };
        (row.name.clone(), format!("{}{about}", row.history.join("; ")))
    }));
    html.raw("</section>\n");
    html.section("Devices").facts(matrix.devices.iter().map(|device| (device.name.clone(), device.driver.clone())));
    html.raw("</section>\n");
    page("Devices against bugs", html)
}

#[cfg(test)]
mod tests {
    use tangle_identity::{Kind, Status};

    use super::*;
    use crate::matrix::{MatrixCell, MatrixDevice, MatrixRow};

    #[test]
    fn a_row_has_a_cell_for_each_device() {
        let cell = |status, meaning| MatrixCell { status, meaning };
        let page = matrix(&Matrix {
            devices: ["a", "b"].map(|name| MatrixDevice { name: name.into(), driver: "x <1>".into() }).into(),
            rows: vec![MatrixRow {
                name: "bug".into(),
                about: "first bad 1".into(),
                cells: vec![cell(Status::Finding(Kind::Value), Meaning::Bad), cell(Status::Pass, Meaning::Good)],
                history: vec!["x: bad in 1".into()],
            }],
        });
        for part in
            ["<td class=\"bad\">value</td><td class=\"good\">pass</td>", "x &lt;1&gt;", "bad in 1 (known: first bad 1)"]
        {
            assert!(page.contains(part), "{part}");
        }
    }
}
