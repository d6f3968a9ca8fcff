//! How a campaign goes, in figures: a line of JSON every few seconds in `stats.jsonl`, for plots and for whoever watches.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use rustix::fs::OFlags;
use tangle_oracle::coverage::Coverage;
use tangle_report::campaign::{DeviceSample, Sample};
use tangle_report::statistics::{DeviceEntry, Statistics};

/// The file of samples in a campaign's folder.
pub const STATS: &str = "stats.jsonl";

/// The figures now; `waiting` findings are still to be minimised.
pub(super) fn take(statistics: &Statistics, coverage: &BTreeMap<String, Coverage>, waiting: usize) -> Sample {
    let device = |(name, entry): (&String, &DeviceEntry)| {
        let sample = DeviceSample {
            cases: entry.cases,
            unsupported: entry.unsupported,
            checked: entry.counts.checked,
            verdicts: entry.verdicts.clone(),
            restarts: entry.restarts,
            coverage: coverage.get(name).map(Coverage::filled).unwrap_or_default(),
        };
        (name.clone(), sample)
    };
    Sample {
        time: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        seconds: statistics.seconds,
        devices: statistics.devices.iter().map(device).collect(),
        signatures: statistics.signatures() as u64,
        findings: statistics.findings.iter().map(|entry| entry.cases).sum(),
        known: statistics.known.iter().map(|entry| entry.cases).sum(),
        bugs: statistics.bugs.len() as u64,
        waiting: waiting as u64,
        memory: memory().unwrap_or(0),
    }
}

/// Memory of this process in bytes.
pub fn memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The samples of a campaign, from its folder; none if there is no such file. A line that is not whole is left out: the campaign may have
/// been killed while it wrote.
///
/// # Errors
/// If the file cannot be read.
pub fn read_samples(folder: &Path) -> anyhow::Result<Vec<Sample>> {
    let path = folder.join(STATS);
    match tangle_files::read_text(&path) {
        Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Least time between two samples in the file, in seconds: less than between two that are offered.
const SPACE: f64 = 4.0;

/// Least share of the campaign's age between two of them: the file of a campaign of months stays small, and a plot shows as much.
const SPACE_BY_AGE: f64 = 1.0 / 2_000.0;

/// The file of samples, open at its end: what an earlier run wrote stays.
pub(super) struct Log {
    file: File,
    /// The age of the campaign at the last sample.
    last: f64,
}

impl Log {
    pub(super) fn open(folder: &Path) -> anyhow::Result<Log> {
        let path = folder.join(STATS);
        let cannot = || format!("cannot write {}", path.display());
        // Opening a pipe would wait for whoever reads it.
        let flags = OFlags::NONBLOCK.bits() as i32;
        let file = File::options().read(true).append(true).create(true).custom_flags(flags).open(&path);
        let mut file = file.with_context(cannot)?;
        anyhow::ensure!(file.metadata()?.is_file(), "{}: it is no regular file", cannot());
        // The last line of a run that was killed may have no end.
        let mut last = [b'\n'];
        if file.seek(SeekFrom::End(-1)).is_ok() {
            file.read_exact(&mut last).with_context(cannot)?;
        }
        if last != *b"\n" {
            file.write_all(b"\n").with_context(cannot)?;
        }
        Ok(Log { file, last: 0.0 })
    }

    /// Writes a sample if it is time for one.
    pub(super) fn offer(&mut self, sample: &Sample) -> anyhow::Result<()> {
        let space = SPACE.max(sample.seconds * SPACE_BY_AGE);
        if sample.seconds - self.last >= space { self.write(sample) } else { Ok(()) }
    }

    pub(super) fn write(&mut self, sample: &Sample) -> anyhow::Result<()> {
        self.last = sample.seconds;
        let mut line = serde_json::to_vec(sample)?;
        line.push(b'\n');
        self.file.write_all(&line).with_context(|| format!("cannot write {STATS}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_appends_and_half_a_line_is_left_out() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path();
        assert_eq!(read_samples(path).expect("none is no error"), []);
        let sample = |seconds| Sample { seconds, ..Sample::default() };
        Log::open(path).and_then(|mut log| log.write(&sample(1.0))).expect("it writes");
        fs::write(path.join(STATS), fs::read_to_string(path.join(STATS)).expect("it reads") + "{\"time\":")
            .expect("it writes");
        Log::open(path).and_then(|mut log| log.write(&sample(2.0))).expect("it writes");
        assert_eq!(read_samples(path).expect("it reads"), [sample(1.0), sample(2.0)]);
    }

    #[test]
    fn samples_get_rarer_as_a_campaign_gets_older() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut log = Log::open(folder.path()).expect("it opens");
        for day in [0, 30] {
            for second in (0..3_600).step_by(6) {
                let seconds = f64::from(day * 86_400 + second);
                log.offer(&Sample { seconds, ..Sample::default() }).expect("it writes");
            }
        }
        let samples = read_samples(folder.path()).expect("it reads");
        let (young, old): (Vec<_>, Vec<_>) = samples.iter().partition(|sample| sample.seconds < 86_400.0);
        assert_eq!((young.len(), old.len()), (599, 3));
    }

    #[test]
    fn memory_is_known_on_linux() {
        assert!(memory().is_some_and(|bytes| bytes > 1 << 20));
    }
}
