//! Whether the system has killed processes for want of memory.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How many processes the system has killed for want of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OomKills {
    /// On the machine, since it started: `oom_kill` in `/proc/vmstat`, proc(5).
    pub machine: u64,
    /// In the control group of this process: its file, and `oom_kill` in that (Linux, `Documentation/admin-guide/cgroup-v2.rst`,
    /// `memory.events`; `cgroup-v1/memory.rst`, `memory.oom_control`).
    pub group: Option<(PathBuf, u64)>,
}

impl OomKills {
    /// The counts of this moment.
    pub fn now() -> OomKills {
        let machine = oom_kills(Path::new("/proc/vmstat")).unwrap_or(0);
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let group = groups.lines().filter_map(events).find_map(|file| oom_kills(&file).map(|count| (file, count)));
        OomKills { machine, group }
    }

    /// True if something was killed between these counts and `now`: in the control group that it was, if that can still be said.
    pub fn any_until(&self, now: &OomKills) -> bool {
        let in_group = self.group.as_ref().and_then(|(file, before)| Some(oom_kills(file)? > *before));
        in_group.unwrap_or(now.machine > self.machine)
    }
}

/// The file that counts in a control group, by its line of `/proc/self/cgroup` (cgroups(7)): version 2, or the memory controller of version 1.
fn events(line: &str) -> Option<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, parts.next()?.trim_start_matches('/'));
    let (root, file) = match controllers {
        "" => ("/sys/fs/cgroup", "memory.events"),
        _ if controllers.split(',').any(|name| name == "memory") => ("/sys/fs/cgroup/memory", "memory.oom_control"),
        _ => return None,
    };
    Some(Path::new(root).join(group).join(file))
}

fn oom_kills(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_groups_are_those_of_both_versions() {
        for (line, expected) in [
            ("0::/user.slice/x", Some("/sys/fs/cgroup/user.slice/x/memory.events")),
            ("4:memory:/a/b", Some("/sys/fs/cgroup/memory/a/b/memory.oom_control")),
            ("5:cpu,memory:/", Some("/sys/fs/cgroup/memory/memory.oom_control")),
            ("5:cpu,cpuacct:/a", None),
            ("", None),
        ] {
            assert_eq!(events(line), expected.map(PathBuf::from), "{line}");
        }
    }

    #[test]
    fn what_is_killed_elsewhere_on_the_machine_is_not_counted() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let events = place.path().join("memory.events");
        fs::write(&events, "low 0\noom 4\noom_kill 2\n").expect("it is ours");
        let on_machine = |machine| OomKills { machine, group: None };
        let in_group = |machine, count| OomKills { machine, group: Some((events.clone(), count)) };
        let gone = OomKills { machine: 3, group: Some((place.path().join("gone"), 2)) };
        for (before, now, expected) in [
            (on_machine(3), on_machine(3), false),
            (on_machine(3), on_machine(4), true),
            // Something else on the machine was killed.
            (in_group(3, 2), in_group(9, 2), false),
            (in_group(3, 1), in_group(9, 2), true),
            // The group does not exist any more.
            (gone.clone(), in_group(3, 2), false),
            (gone, in_group(4, 2), true),
        ] {
            assert_eq!(before.any_until(&now), expected, "{before:?} {now:?}");
        }
    }
}
