//! Named weightings.

use serde::{Deserialize, Serialize};

use crate::size::Size;

/// What kind of programs to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// A bit of everything, weighted by the bugs that drivers had.
    #[default]
    Default,
    /// A handful of statements.
    Small,
    /// Three times the statements of the default, deeper nests.
    Large,
    /// Nested loops with several exits, values used after them.
    Loops,
    /// Many operations of every kind and type, little control flow.
    Ops,
    /// Switches with fallthrough, in and around loops.
    Switch,
    /// Functions that return early, called from many places.
    Calls,
    /// Small programs on unusual workgroup shapes, reading every built-in variable.
    Shapes,
    /// The shapes that real bugs had and little else.
    Idioms,
    /// Vectors of all widths and component types.
    Vectors,
}

impl Profile {
    /// Every profile with a line for help texts.
    pub const ALL: [(Profile, &'static str); 10] = [
        (Profile::Default, "a bit of everything, weighted by the bugs that drivers had"),
        (Profile::Small, "a handful of statements"),
        (Profile::Large, "three times the statements, deeper nests"),
        (Profile::Loops, "nested loops with several exits, values used after them"),
        (Profile::Ops, "many operations of every kind and type, little control flow"),
        (Profile::Switch, "switches with fallthrough, in and around loops"),
        (Profile::Calls, "functions that return early, called from many places"),
        (Profile::Shapes, "small programs on unusual workgroup shapes, every built-in variable"),
        (Profile::Idioms, "waterfall, elect, vote, scan and exchange idioms and little else"),
        (Profile::Vectors, "vectors of all widths and component types"),
    ];

    /// The name in JSON and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Default => "default",
            Profile::Small => "small",
            Profile::Large => "large",
            Profile::Loops => "loops",
            Profile::Ops => "ops",
            Profile::Switch => "switch",
            Profile::Calls => "calls",
            Profile::Shapes => "shapes",
            Profile::Idioms => "idioms",
            Profile::Vectors => "vectors",
        }
    }

    /// The profile of that name.
    pub fn from_name(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().map(|(profile, _)| profile).find(|profile| profile.name() == name)
    }

    /// How large its programs are.
    pub const fn size(self) -> Size {
        match self {
            Profile::Small | Profile::Shapes => Size::SMALL,
            Profile::Large => Size::LARGE,
            Profile::Loops => Size { depth: 6, steps: 6_000, ..Size::MEDIUM },
            Profile::Calls => Size { functions: 6, ..Size::MEDIUM },
            Profile::Ops => Size { top: 10, ..Size::MEDIUM },
            _ => Size::MEDIUM,
        }
    }
}
