//! The difference of two texts, line by line.

use std::fmt::Write as _;

/// The lines that differ, with a few around them.
pub fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // Length of the longest common subsequence of the rests.
    let mut common = vec![vec![0u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] =
                if old[i] == new[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    around_changes(&lines)
}

fn around_changes(lines: &[(char, &str)]) -> String {
    const AROUND: usize = 3;
    let near = |i: usize| {
        lines[i.saturating_sub(AROUND)..lines.len().min(i + AROUND + 1)].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut text = String::new();
    let mut gap = false;
    for (i, (mark, line)) in lines.iter().enumerate() {
        if near(i) {
            if gap && !text.is_empty() {
                text.push_str("...\n");
            }
            let _ = writeln!(text, "{}", format!("{mark}{line}").trim_end());
        }
        gap = !near(i);
    }
    text.trim_end().to_owned()
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
