//! A page about somebody else's shader that a device fails on.

use super::{Html, page};

/// What the page says.
#[derive(Clone, Debug, Default)]
pub struct ModulePage {
    /// Its heading.
    pub title: String,
    /// What is wrong, in a line.
    pub what: String,
    /// Names and values.
    pub facts: Vec<(String, String)>,
    /// Words that differ: where, what has to be there, what is.
    pub rows: Vec<[String; 3]>,
    /// The command that shows it.
    pub command: String,
    /// The module.
    pub assembly: String,
}

/// The page.
pub fn module_page(about: &ModulePage) -> String {
    let mut html = Html::default();
    html.raw("<header>\n")
        .element("h1", &[], &about.title)
        .raw("\n")
        .element("p", &[], &about.what)
        .raw("\n</header>\n");
    html.facts(about.facts.iter().cloned());
    if !about.rows.is_empty() {
        html.section("Words that differ");
        html.raw("<p>What must be there is what the rules of SPIR-V and Vulkan determine with the lanes that the device showed.</p>\n");
        html.raw("<div class=\"scroll\"><table>\n<tr><th>where</th><th>expected</th><th>actual</th></tr>\n");
        for [place, expected, found] in &about.rows {
            html.raw("<tr>").element("td", &[], place);
            html.raw("<td>")
                .element("code", &[], expected)
                .raw("</td><td>")
                .element("code", &[], found)
                .raw("</td></tr>\n");
        }
        html.raw("</table></div>\n</section>\n");
    }
    html.section("See it again").raw("<p>In the finding's folder:</p>\n");
    html.element("pre", &[], &about.command).raw("\n</section>\n");
    html.section("The module").element("pre", &[], &about.assembly).raw("\n</section>\n");
    page(&about.title, html)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_what_differs() {
        let row = ["set 0, binding 1, byte 4", "0x1", "<0x2>"].map(str::to_owned);
        let about =
            ModulePage { title: "a & b".into(), rows: vec![row], assembly: "OpNop".into(), ..ModulePage::default() };
        let page = module_page(&about);
        for part in ["a &amp; b", "<code>0x1</code>", "<code>&lt;0x2&gt;</code>", "<pre>OpNop</pre>"] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
