//! Which bug a minimised finding shows.

use std::fmt;

use serde::{Deserialize, Serialize};
use tangle_program::case::Case;

use crate::failure::{Crash, Doing, DriverError};
use crate::place::CrashPlace;
use crate::signature::{Detail, Kind, Signature};
use crate::skeleton::{Skeleton, skeleton};

/// The bug that a minimised case shows: findings with one of these are witnesses of one bug.
///
/// In JSON it is `name` (in English, for people) and `facts`, which is what is read back; older campaigns have the name alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Wire", into = "Wire")]
pub enum BugId {
    /// Wrong values, or lanes on wrong paths.
    WrongResult {
        /// True if it takes a module that `spirv-opt` made: the front end's module is right, as the minimiser has found.
        optimised: bool,
        /// The skeleton of the minimised case.
        shape: Skeleton,
    },
    /// The driver crashes, hangs or loses the device. How it ended and what it printed differ from run to run of one bug.
    Dies {
        /// The kind of failure.
        kind: Kind,
        /// What the driver was doing.
        doing: Doing,
        /// The skeleton of the minimised case.
        shape: Skeleton,
    },
    /// The driver crashes at a place that has a name in every build of it: whatever program comes there.
    Crashes {
        /// What the driver was doing.
        doing: Doing,
        /// The innermost functions, by names that every build of the driver has.
        place: CrashPlace,
    },
    /// The driver returns an error. One error stands for all that a driver cannot do, so that the program belongs to the bug.
    Error {
        /// Of which interface the error is.
        kind: Kind,
        /// Which function returned what, and during which step.
        error: DriverError,
        /// The skeleton of the minimised case.
        shape: Skeleton,
    },
    /// What does not depend on the program, or is said by a message.
    Failure(Signature),
    /// As an older campaign has it.
    Text(String),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Facts {
    WrongResult { optimised: bool, shape: Skeleton },
    Dies { kind: Kind, doing: Doing, shape: Skeleton },
    Crashes { doing: Doing, place: CrashPlace },
    Error { kind: Kind, error: DriverError, shape: Skeleton },
    Failure(Signature),
}

/// A bug in JSON.
#[derive(Clone, Serialize, Deserialize)]
struct Wire {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    facts: Option<Facts>,
}

impl From<Wire> for BugId {
    fn from(Wire { name, facts }: Wire) -> BugId {
        match facts {
            Some(Facts::WrongResult { optimised, shape }) => BugId::WrongResult { optimised, shape },
            Some(Facts::Dies { kind, doing, shape }) => BugId::Dies { kind, doing, shape },
            Some(Facts::Crashes { doing, place }) => BugId::Crashes { doing, place },
            Some(Facts::Error { kind, error, shape }) => BugId::Error { kind, error, shape },
            Some(Facts::Failure(signature)) => BugId::Failure(signature),
            None => BugId::Text(name),
        }
    }
}

impl From<BugId> for Wire {
    fn from(bug: BugId) -> Wire {
        let name = bug.to_string();
        let facts = match bug {
            BugId::WrongResult { optimised, shape } => Some(Facts::WrongResult { optimised, shape }),
            BugId::Dies { kind, doing, shape } => Some(Facts::Dies { kind, doing, shape }),
            BugId::Crashes { doing, place } => Some(Facts::Crashes { doing, place }),
            BugId::Error { kind, error, shape } => Some(Facts::Error { kind, error, shape }),
            BugId::Failure(signature) => Some(Facts::Failure(signature)),
            BugId::Text(_) => None,
        };
        Wire { name, facts }
    }
}

impl BugId {
    /// The bug that a minimised case shows.
    pub fn of(signature: &Signature, minimal: &Case) -> BugId {
        let shape = || skeleton(minimal);
        match (signature.kind, &signature.detail) {
            (Kind::Value | Kind::Path, _) => {
                BugId::WrongResult { optimised: minimal.variant.is_optimised(), shape: shape() }
            }
            (_, Detail::Crash(Crash { doing, place: Some(place), .. })) if place.is_of_any_build() => {
                BugId::Crashes { doing: *doing, place: place.clone() }
            }
            (kind, Detail::Crash(crash)) => BugId::Dies { kind, doing: crash.doing, shape: shape() },
            (
                kind,
                Detail::Hang(doing)
                | Detail::DeviceLost(doing)
                | Detail::OutOfMemory(doing)
                | Detail::Implausible(doing),
            ) => BugId::Dies { kind, doing: *doing, shape: shape() },
            (kind, Detail::Driver(error)) => BugId::Error { kind, error: error.clone(), shape: shape() },
            _ => BugId::Failure(signature.clone()),
        }
    }

    /// True if programs of both fail alike: in results, in the driver's error, or with the same end at the same work or place.
    pub fn fails_like(&self, other: &BugId) -> bool {
        match (self, other) {
            (BugId::WrongResult { .. }, BugId::WrongResult { .. }) => true,
            (BugId::Dies { kind, doing, .. }, BugId::Dies { kind: other_kind, doing: other_doing, .. }) => {
                (kind, doing) == (other_kind, other_doing)
            }
            (BugId::Error { error, .. }, BugId::Error { error: other, .. }) => error == other,
            (bug, other) => bug == other,
        }
    }

    /// True if the driver crashes with both, and was doing the same.
    pub fn crashes_at_the_work_of(&self, other: &BugId) -> bool {
        let work = |bug: &BugId| match bug {
            BugId::Dies { kind: Kind::Crash, doing, .. } | BugId::Crashes { doing, .. } => Some(*doing),
            _ => None,
        };
        work(self).is_some() && work(self) == work(other)
    }

    /// True if the other one explains it on a device that has both: it is the same, or a simpler one.
    pub fn is_explained_by(&self, other: &BugId) -> bool {
        std::iter::successors(Some(self.clone()), BugId::simpler).any(|simpler| simpler == *other)
    }

    /// The simpler bug that explains this one on a device that has both ([`Skeleton::simpler`]). Where values get lost after the loops of the front end's
    /// module, they do in `spirv-opt`'s, too, which moves some into loops and out of them.
    fn simpler(&self) -> Option<BugId> {
        Some(match self {
            BugId::WrongResult { optimised, shape } => match shape.simpler() {
                Some(shape) => BugId::WrongResult { optimised: *optimised, shape },
                None if *optimised && matches!(shape, Skeleton::AfterLoop { .. }) => {
                    BugId::WrongResult { optimised: false, shape: shape.clone() }
                }
                None => return None,
            },
            BugId::Dies { kind, doing, shape } => BugId::Dies { kind: *kind, doing: *doing, shape: shape.simpler()? },
            BugId::Error { kind, error, shape } => {
                BugId::Error { kind: *kind, error: error.clone(), shape: shape.simpler()? }
            }
            BugId::Crashes { .. } | BugId::Failure(_) | BugId::Text(_) => return None,
        })
    }
}

impl fmt::Display for BugId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BugId::WrongResult { optimised: false, shape } => write!(f, "wrong result: {shape}"),
            BugId::WrongResult { optimised: true, shape } => {
                write!(f, "wrong result of spirv-opt's module: {shape}")
            }
            BugId::Dies { kind, doing, shape } => write!(f, "{} while {doing}: {shape}", kind.name()),
            BugId::Crashes { doing, place } => write!(f, "crash while {doing} in {place}"),
            BugId::Error { kind, error, shape } => write!(f, "{}: {error}: {shape}", kind.name()),
            BugId::Failure(signature) => signature.fmt(f),
            BugId::Text(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::End;
    use crate::place::Frame;
    use crate::skeleton::Extra;
    use tangle_oracle::map::MapRule;
    use tangle_program::subgroup::{Fold, SubgroupOp};
    use tangle_program::tree::{Expr, Stmt};

    fn minimal() -> Case {
        let mut case = Case::from_json(include_str!("../../../corpus/vectors/V01.json")).expect("a case");
        let add = Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [Expr::Uint(1)]);
        case.program.functions.last_mut().expect("main").body = vec![Stmt::Log { site: 1, values: vec![add] }];
        case
    }

    fn crash(end: End, message: &str) -> Signature {
        let crash = Crash { end, doing: Doing::Pipeline, place: None, message: Some(message.into()) };
        Signature::new(Kind::Crash, Detail::Crash(crash))
    }

    #[test]
    fn the_kind_of_failure_belongs_to_a_bug() {
        let table = [
            (Kind::Value, Detail::Text("x".into()), "wrong result: subgroupAdd(uint)"),
            (Kind::Path, Detail::Text("x".into()), "wrong result: subgroupAdd(uint)"),
            (Kind::Hang, Detail::Hang(Doing::Run), "hang while running the dispatch: subgroupAdd(uint)"),
            (Kind::LaneMap, Detail::LaneMap(MapRule::Token), "lane_map: subgroupBroadcastFirst at entry"),
        ];
        for (kind, detail, name) in table {
            let bug = BugId::of(&Signature::new(kind, detail), &minimal());
            assert!(bug.to_string().starts_with(name), "{bug}");
            let json = serde_json::to_string(&bug).expect("plain data");
            assert_eq!(serde_json::from_str::<BugId>(&json).expect("it was just written"), bug, "{json}");
        }
        let old: BugId = serde_json::from_str(r#"{"name":"wrong result: after-loop"}"#).expect("a bug");
        assert_eq!(old, BugId::Text("wrong result: after-loop".into()));
    }

    #[test]
    fn a_simpler_bug_explains_what_has_more_in_it() {
        let lost = |optimised, with: &[Extra]| {
            let shape = Skeleton::AfterLoop { of_operation: false, with: with.iter().copied().collect() };
            BugId::WrongResult { optimised, shape }
        };
        let [plain, optimised] = [false, true].map(|optimised| lost(optimised, &[]));
        let [switch, optimised_switch] = [false, true].map(|optimised| lost(optimised, &[Extra::Switch]));
        let other = BugId::WrongResult { optimised: true, shape: skeleton(&minimal()) };
        for (bug, explanation, explains) in [
            (&switch, &plain, true),
            (&plain, &switch, false),
            (&optimised, &plain, true),
            (&plain, &optimised, false),
            (&optimised_switch, &optimised, true),
            (&optimised_switch, &plain, true),
            (&other, &other, true),
            (&other, &plain, false),
        ] {
            assert_eq!(bug.is_explained_by(explanation), explains, "{bug} by {explanation}");
        }
    }

    #[test]
    fn an_error_is_as_many_bugs_as_there_are_minimal_programs() {
        let error = |result: &str| {
            let call = "vkCreateComputePipelines".into();
            let detail = Detail::Driver(DriverError { call, result: result.into(), doing: Doing::Pipeline });
            Signature::new(Kind::VulkanError, detail)
        };
        let other = Case::from_json(include_str!("../../../corpus/vectors/V07.json")).expect("a case");
        let unknown = BugId::of(&error("VK_ERROR_UNKNOWN"), &minimal());
        assert_eq!(unknown, BugId::of(&error("VK_ERROR_UNKNOWN"), &minimal()));
        assert_ne!(unknown, BugId::of(&error("VK_ERROR_UNKNOWN"), &other));
        assert_ne!(unknown, BugId::of(&error("VK_ERROR_INVALID_SHADER_NV"), &minimal()));
        assert!(unknown.to_string().contains("VK_ERROR_UNKNOWN") && unknown.to_string().ends_with("subgroupAdd(uint)"));
        let json = serde_json::to_string(&unknown).expect("plain data");
        assert_eq!(serde_json::from_str::<BugId>(&json).expect("it was just written"), unknown, "{json}");
    }

    #[test]
    fn a_crash_is_one_bug_whatever_it_prints() {
        let abort = BugId::of(&crash(End::Signal(6), "LLVM ERROR: Cannot select"), &minimal());
        let fault = BugId::of(&crash(End::Signal(11), "fatal"), &minimal());
        assert_eq!(abort, fault);
        let at = |symbol, end, program: &Case| {
            let place = CrashPlace::of([Frame::Library { path: "libLLVM.so.19", symbol, function: Some(7) }]);
            let crash = Crash { end, doing: Doing::Pipeline, place, message: None };
            BugId::of(&Signature::new(Kind::Crash, Detail::Crash(crash)), program)
        };
        let other = Case::from_json(include_str!("../../../corpus/vectors/V07.json")).expect("a case");
        let select = at(Some("select"), End::Signal(6), &minimal());
        assert_eq!(select, at(Some("select"), End::Signal(11), &other), "wherever it dies alike");
        assert_ne!(select, at(Some("legalize"), End::Signal(6), &minimal()));
        assert_eq!(at(None, End::Signal(6), &minimal()), abort, "an offset is of one build alone");
        let json = serde_json::to_string(&select).expect("plain data");
        assert_eq!(serde_json::from_str::<BugId>(&json).expect("it was just written"), select, "{json}");
        assert_ne!(abort, BugId::of(&Signature::new(Kind::Crash, Detail::Text("x".into())), &minimal()));
    }
}
