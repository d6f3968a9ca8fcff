//! What became of a case on a device, in a word.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use tangle_program::text::spaced;

use crate::signature::Kind;

/// What became of a case on a device. In order: what is well, what says nothing, what is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "Cow<'_, str>")]
pub enum Status {
    /// Every value that was compared is right.
    Pass,
    /// It ran, and nothing could be compared.
    Vacuous,
    /// The driver compiled it, and nothing ran: there is no hardware.
    Compiled,
    /// The device cannot run it.
    NotRun,
    /// There was no worker to run it.
    NoWorker,
    /// There was no memory to run it.
    ShortOfMemory,
    /// It is a finding.
    Finding(Kind),
}

impl Status {
    /// Those that are no finding.
    const PLAIN: [Status; 6] =
        [Status::Pass, Status::Vacuous, Status::Compiled, Status::NotRun, Status::NoWorker, Status::ShortOfMemory];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Vacuous => "vacuous",
            Status::Compiled => "compiled",
            Status::NotRun => "not_run",
            Status::NoWorker => "no_worker",
            Status::ShortOfMemory => "short_of_memory",
            Status::Finding(kind) => kind.name(),
        }
    }

    /// The name in words.
    pub fn title(self) -> String {
        spaced(self.name())
    }

    /// The character that stands for it in a table of many.
    pub const fn mark(self) -> char {
        match self {
            Status::Pass => '.',
            Status::Vacuous => 'o',
            Status::Compiled => 'c',
            Status::NotRun => '-',
            Status::NoWorker | Status::ShortOfMemory => '?',
            Status::Finding(kind) => match kind {
                Kind::Value => 'V',
                Kind::Path => 'P',
                Kind::LaneMap => 'M',
                Kind::Crash => 'C',
                Kind::Hang => 'H',
                Kind::DeviceLost => 'L',
                Kind::VulkanError | Kind::OpenGlError | Kind::WebGpuError => 'E',
                Kind::OutOfMemory => 'N',
                Kind::Implausible => 'I',
                Kind::Toolchain => 'T',
                Kind::Invalid => '!',
            },
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl From<Status> for &'static str {
    fn from(status: Status) -> &'static str {
        status.name()
    }
}

impl TryFrom<Cow<'_, str>> for Status {
    type Error = String;

    fn try_from(name: Cow<'_, str>) -> Result<Status, String> {
        let mut all = Status::PLAIN.into_iter().chain(Kind::ALL.into_iter().map(Status::Finding));
        all.find(|status| status.name() == name).ok_or_else(|| format!("'{name}' is no result of a case"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// As campaigns of every version saved them.
    #[test]
    fn saved_counts_by_result_are_read_back() {
        let text = r#"{"pass":1,"vacuous":2,"compiled":3,"no_worker":4,"short_of_memory":5,"value":6,"opengl_error":7,"invalid":8}"#;
        let counts: BTreeMap<Status, u64> = serde_json::from_str(text).expect("results of cases");
        assert_eq!(counts[&Status::Finding(Kind::OpenGlError)], 7);
        assert_eq!(serde_json::to_string(&counts).expect("JSON"), text);
        assert!(serde_json::from_str::<Status>("\"fail\"").is_err());
    }
}
