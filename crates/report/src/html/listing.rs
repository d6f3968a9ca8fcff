//! The shader with line numbers.

use std::collections::BTreeMap;

use super::Html;
use tangle_identity::account::Account;

/// Writes the shader; `wrong` is the line to mark.
pub(super) fn listing(html: &mut Html, account: Option<&Account<'_>>, source: &str, wrong: usize) {
    let reached = account.map(times_reached);
    html.raw("<div class=\"scroll\"><table class=\"listing\">\n");
    for (number, line) in (1..).zip(source.lines()) {
        html.open("tr", &[("id", &format_args!("L{number}")), ("class", &if number == wrong { "wrong" } else { "" })]);
        html.element("td", &[("class", &"number")], number);
        html.raw("<td class=\"code\"><code>");
        code(html, line);
        html.raw("</code></td>");
        match reached.as_ref().and_then(|reached| reached.get(&number)) {
            None => html.raw("<td></td>"),
            Some(0) => html.raw("<td class=\"note\">never reached</td>"),
            Some(1) => html.raw("<td class=\"note\">1 step</td>"),
            Some(times) => html.element("td", &[("class", &"note")], format_args!("{times} steps")),
        };
        html.raw("</tr>\n");
    }
    html.raw("</table></div>\n");
}

/// How many steps each line with a log site makes.
fn times_reached(account: &Account<'_>) -> BTreeMap<usize, usize> {
    let mut times: BTreeMap<usize, usize> = account.sites.values().map(|site| (site.line, 0)).collect();
    for step in &account.steps {
        if let Some(count) = account.sites.get(&step.site).and_then(|site| times.get_mut(&site.line)) {
            *count += 1;
        }
    }
    times
}

/// A line of GLSL with the words that matter here set off.
pub(super) fn code(html: &mut Html, line: &str) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let in_word = is_word(first);
        let end = rest.find(|c| is_word(c) != in_word).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        match class_of(part) {
            Some(class) => html.element("span", &[("class", &class)], part),
            None => html.text(part),
        };
        rest = after;
    }
}

fn class_of(word: &str) -> Option<&'static str> {
    const FLOW: [&str; 11] =
        ["if", "else", "for", "while", "do", "switch", "case", "default", "break", "continue", "return"];
    if word.starts_with("subgroup") && word != "subgroup_size" {
        Some("op")
    } else if FLOW.contains(&word) {
        Some("flow")
    } else if word.strip_prefix("LOG").is_some_and(|n| n.parse::<u8>().is_ok()) {
        Some("log")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_set_off_and_escaped() {
        let mut html = Html::default();
        code(&mut html, "if (a < b) LOG1(2, subgroupAdd(x));");
        assert_eq!(
            html.0,
            "<span class=\"flow\">if</span> (a &lt; b) <span class=\"log\">LOG1</span>(2, <span class=\"op\">subgroupAdd</span>(x));"
        );
    }
}
