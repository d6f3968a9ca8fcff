//! Notices that no case has been entered for a while, and says what the workers do meanwhile: that a program hangs, and that others wait for the GPU that it
//! keeps, is seen while it happens. It is shown to people only; nothing depends on the clock.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tangle_runner::Stage;

/// How long no case has been entered before that is reported.
const LONG: Duration = Duration::from_secs(15);

/// When the last case was entered.
pub(super) struct Standstill {
    entered: u64,
    since: Instant,
}

impl Standstill {
    pub(super) fn new(now: Instant) -> Standstill {
        Standstill { entered: 0, since: now }
    }

    /// For how long no case has been entered, if that is long. `entered`: how many have, in all.
    pub(super) fn look(&mut self, entered: u64, now: Instant) -> Option<Duration> {
        if self.entered != entered {
            (self.entered, self.since) = (entered, now);
        }
        Some(now.saturating_duration_since(self.since)).filter(|time| *time >= LONG)
    }
}

/// `; no case has been entered for 41 s: nvidia: 13 waiting for the GPU, which another worker uses, 38 s, 1 waiting for the dispatch 38 s`, the most
/// workers first, each with the longest time of one of them; devices with `;` between them.
pub(super) fn described<'a>(
    time: Duration,
    devices: impl Iterator<Item = (&'a str, Vec<(Stage, Duration)>)>,
) -> String {
    let mut described = Vec::new();
    for (name, workers) in devices {
        let mut by_doing = BTreeMap::<&str, (usize, Duration)>::new();
        for (stage, time) in workers {
            let (count, longest) = by_doing.entry(stage.doing()).or_default();
            (*count, *longest) = (*count + 1, time.max(*longest));
        }
        let mut all: Vec<_> = by_doing.into_iter().collect();
        all.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let each = all.iter().map(|(doing, (count, time))| format!("{count} {doing} {} s", time.as_secs()));
        let each = each.collect::<Vec<_>>().join(", ");
        described.push(format!("{name}: {}", if each.is_empty() { "no worker has begun a case" } else { &each }));
    }
    format!("; no case has been entered for {} s: {}", time.as_secs(), described.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standstill_is_reported() {
        let begin = Instant::now();
        let mut standstill = Standstill::new(begin);
        let seconds = Duration::from_secs;
        for (after, entered, reported) in
            [(1, 0, None), (15, 0, Some(15)), (16, 8, None), (30, 8, None), (31, 8, Some(15)), (32, 9, None)]
        {
            assert_eq!(standstill.look(entered, begin + seconds(after)), reported.map(seconds), "{after}");
        }
        let waiting = |launch| (Stage::Lock { launch }, seconds(38));
        let workers = vec![(Stage::Wait { launch: 0 }, seconds(39)), waiting(0), waiting(3)];
        assert_eq!(
            described(seconds(41), [("nvidia", workers), ("lvp", Vec::new())].into_iter()),
            "; no case has been entered for 41 s: nvidia: 2 waiting for the GPU, which another worker uses, 38 s, \
             1 waiting for the dispatch 39 s; lvp: no worker has begun a case"
        );
    }
}
