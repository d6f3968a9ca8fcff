//! The difference of two texts, line by line.

use similar::TextDiff;

/// Unchanged lines that are shown before and behind those that differ.
const AROUND: usize = 3;

/// The lines that differ, with a few around them; `...` where others are left out.
pub fn difference(old: &str, new: &str) -> String {
    let difference = TextDiff::from_lines(old, new);
    let line =
        |change: similar::Change<&str>| format!("{}{}", change.tag(), change.value()).trim_end().to_owned() + "\n";
    let part = |operations: &Vec<similar::DiffOp>| -> String {
        operations.iter().flat_map(|operation| difference.iter_changes(operation)).map(line).collect()
    };
    let parts: Vec<String> = difference.grouped_ops(AROUND).iter().map(part).collect();
    parts.join("...\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_show_the_lines_around() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n";
        for (new, text) in [
            (old.replace("e\n", ""), " b\n c\n d\n-e\n f\n g\n h"),
            (old.replace("b\n", "x\n").replace("m\n", ""), " a\n-b\n+x\n c\n d\n e\n...\n j\n k\n l\n-m"),
        ] {
            assert_eq!(difference(old, &new), text);
        }
    }
}
