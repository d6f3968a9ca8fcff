//! What the worker runs on: bug trackers ask for it.

use std::fs;

/// Operating system and kernel in words: `Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-amd64`. What cannot be found out is left out.
pub(super) fn description() -> String {
    let release = fs::read_to_string("/etc/os-release").ok();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    describe(std::env::consts::OS, release.as_deref(), kernel.as_deref())
}

/// From the name that Rust has for the system, os-release(5), and the release of the kernel.
fn describe(os: &str, release: Option<&str>, kernel: Option<&str>) -> String {
    let name = release.and_then(|text| text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")));
    let name = name.map(|name| name.trim_matches(['"', '\'']).to_owned());
    let kernel = kernel.map(|release| format!("Linux {}", release.trim()));
    let known: Vec<String> = name.into_iter().chain(kernel).collect();
    if known.is_empty() { os.to_owned() } else { known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_said() {
        let release = "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        for (release, kernel, wanted) in [
            (Some(release), Some("6.1.0-18-amd64\n"), "Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-amd64"),
            (None, Some("5.10.0"), "Linux 5.10.0"),
            (Some("ID=x"), None, "android"),
        ] {
            assert_eq!(describe("android", release, kernel), wanted);
        }
    }
}
