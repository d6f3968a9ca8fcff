//! Numbers and words as every report writes them.

/// A number with commas: `1234567` as `1,234,567`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A block of code. The fence is longer than any in the code.
pub fn fenced(code: &str, language: &str) -> String {
    let mut fence = "```".to_owned();
    while code.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{code}\n{fence}")
}

/// A word for the shell, in quotes where it needs them.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=+,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A text in one line of at most so many characters, without control characters: a terminal would obey them.
pub fn shortened(text: &str, most: usize) -> String {
    let mut text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.pop();
        text.push('…');
    }
    text
}

/// A text without the folders of the machine that it was written on: of every absolute path the last part is left.
pub fn without_folders(text: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || "\"'`()<>,;=:".contains(c);
    text.split_inclusive(is_end).map(without_folder).collect()
}

/// A word with what ends it.
fn without_folder(word: &str) -> String {
    match word.trim_end_matches('/').rsplit_once('/') {
        Some((folders, last)) if folders.len() > 1 && folders.starts_with('/') && !last.trim().is_empty() => {
            format!("…/{last}")
        }
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(shell_word("it's (LLVM)"), r"'it'\''s (LLVM)'");
        assert_eq!((shell_word("/a/b-c.json").as_str(), shell_word("").as_str()), ("/a/b-c.json", "''"));
    }

    #[test]
    fn a_fence_is_longer_than_those_inside() {
        assert_eq!(fenced("a\n```\nb", "c"), "````c\na\n```\nb\n````");
    }

    #[test]
    fn paths_lose_their_folders() {
        for (text, left) in [
            ("/root/.cache/x/lvp.json", "…/lvp.json"),
            ("A=/a/b/c.so ./repro\n", "A=…/c.so ./repro\n"),
            ("(/build/src/x.c:301) 1/2 and/or /tmp", "(…/x.c:301) 1/2 and/or /tmp"),
            ("a // b / c", "a // b / c"),
            ("--library-path '/a/b c'", "--library-path '…/b c'"),
        ] {
            assert_eq!(without_folders(text), left);
        }
    }

    #[test]
    fn thousands_have_commas() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(n), text);
        }
    }
}
