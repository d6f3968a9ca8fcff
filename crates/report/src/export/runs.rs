//! The expected logs as runs of words, for formats that compare a range of a buffer at a time.

use tangle_analysis::cost::log_stride;
use tangle_identity::account::Account;

/// Words of the log buffer that are expected one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Index of the first word in the buffer.
    pub at: usize,
    /// The expected words, from `at` on.
    pub words: Vec<u32>,
    /// What they are; empty after the first run of an entry.
    pub note: String,
    /// Said before the first run of an invocation.
    pub heading: Option<String>,
}

/// All runs, invocation by invocation. An entry makes one run, or several where words of it are open.
pub(super) fn runs_of(account: &Account<'_>) -> Vec<Run> {
    let stride = log_stride(account.case) as usize;
    let mut runs = Vec::new();
    for lane in account.by_ordinal().into_iter().flatten() {
        let first = account.case.entry_point.ordinal(lane.invocation) * stride;
        let from = runs.len();
        for entry in &lane.entries {
            let line = account.site(entry.step).map_or(0, |site| site.line);
            let mut note = format!("step {}, line {line}", entry.step + 1);
            split(&entry.words, first + entry.at, |at, words| {
                runs.push(Run { at, words, note: std::mem::take(&mut note), heading: None });
            });
        }
        if !lane.open_end && lane.expected_words() < stride {
            // An entry more would begin with its site, which is never 0.
            let at = first + lane.expected_words();
            runs.push(Run { at, words: vec![0], note: "nothing more".into(), heading: None });
        }
        if let Some(run) = runs.get_mut(from) {
            run.heading = Some(format!(
                "{}: subgroup {}, lane {}",
                account.case.entry_point.describe(lane.invocation),
                lane.subgroup,
                lane.lane
            ));
        }
    }
    runs
}

/// Calls `run` for each longest sequence of known words; `at` is the index of the first.
fn split(words: &[Option<u32>], first: usize, mut run: impl FnMut(usize, Vec<u32>)) {
    let mut known: Vec<u32> = Vec::new();
    for (at, word) in (first..).zip(words.iter().chain([&None])) {
        match word {
            Some(word) => known.push(*word),
            None if known.is_empty() => {}
            None => run(at - known.len(), std::mem::take(&mut known)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_at_open_words() {
        for (words, expected) in [
            (vec![], vec![]),
            (vec![Some(1), Some(2)], vec![(10, vec![1, 2])]),
            (vec![Some(1), None, Some(3), Some(4), None], vec![(10, vec![1]), (12, vec![3, 4])]),
            (vec![None, None, Some(7)], vec![(12, vec![7])]),
        ] {
            let mut runs = Vec::new();
            split(&words, 10, |at, words| runs.push((at, words)));
            assert_eq!(runs, expected);
        }
    }
}
