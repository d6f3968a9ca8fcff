//! A page about somebody else's shader that a device fails on.

use super::{Html, page};
use crate::module::{ModuleReport, WHAT_MUST_BE};

/// The page of a module that was judged.
pub fn module_page(about: &ModuleReport) -> String {
    let mut html = Html::default();
    html.raw("<header>\n")
        .element("h1", &[], &about.title)
        .raw("\n")
        .element("p", &[], about.verdict())
        .raw("\n</header>\n");
    html.facts(about.all_facts());
    if !about.rows.is_empty() {
        html.section("Words that differ");
        html.element("p", &[], WHAT_MUST_BE).raw("\n");
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
    html.element("pre", &[], &about.command).raw("\n");
    html.element("p", &[], &about.without_tangle).raw("\n</section>\n");
    html.section("The module").element("pre", &[], &about.assembly).raw("\n</section>\n");
    page(&about.title, html)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::example;

    #[test]
    fn a_page_has_what_differs() {
        let page = module_page(&example());
        for part in [
            "a &amp; b",
            "<code>0x1</code>",
            "<code>&lt;0x2&gt;</code>",
            "<pre>OpNop ; ```</pre>",
            "llvmpipe Mesa 26.2.6",
            "(fill in)",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
