//! Patterns that people write: of names of devices, drivers and cases.

/// True if a pattern stands for a text; `*` stands for anything without the character `but_not`.
pub fn glob(pattern: &str, text: &str, but_not: Option<char>) -> bool {
    let text: Vec<char> = text.chars().collect();
    // Where in the text the pattern so far may end: whatever the pattern, a step costs no more than the text is long.
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for wanted in pattern.chars() {
        if wanted == '*' {
            for at in 0..text.len() {
                ends[at + 1] |= ends[at] && Some(text[at]) != but_not;
            }
        } else {
            ends.rotate_right(1);
            ends[0] = false;
            for (at, c) in text.iter().enumerate() {
                ends[at + 1] &= *c == wanted;
            }
        }
    }
    ends[text.len()]
}

/// What is wrong with a regular expression, in one line.
pub fn problem(error: &regex::Error) -> String {
    let text = error.to_string();
    format!("no regular expression: {}", text.lines().last().unwrap_or_default().trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything_but_one_character() {
        let table = [
            ("abc", "abc", None, true),
            ("abc", "abd", None, false),
            ("", "", None, true),
            ("*", "", None, true),
            ("a*c", "abbc", None, true),
            ("a*c", "abcd", None, false),
            ("*/b", "x/y/b", Some('/'), false),
            ("*/*/b", "x/y/b", Some('/'), true),
            ("a*b*", "ab", None, true),
        ];
        for (pattern, text, but_not, matches) in table {
            assert_eq!(glob(pattern, text, but_not), matches, "{pattern} {text}");
        }
        // Tried one by one, the ways to divide this text are more than a machine can count.
        assert!(!glob(&("*a".repeat(25) + "b"), &"a".repeat(200), None));
    }
}
