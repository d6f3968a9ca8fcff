//! Kinds of places in a program.

use std::fmt;

use tangle_program::tree::Stmt;

/// The constructs around a statement, in its function and around the calls of that: a loop, or else a switch, or else an `if`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Within {
    /// No loop, no switch and no `if`.
    StraightCode,
    /// One `if` or several, in neither switch nor loop.
    If,
    /// A switch, in no loop.
    Switch,
    /// A loop, whatever else there is around it.
    Loop,
}

impl Within {
    /// Every kind, from the plainest on.
    pub const ALL: [Within; 4] = [Within::StraightCode, Within::If, Within::Switch, Within::Loop];

    /// The place of the statements in a statement that stands here.
    pub fn inside(self, stmt: &Stmt) -> Within {
        self.max(match stmt {
            Stmt::If { .. } => Within::If,
            Stmt::Switch { .. } => Within::Switch,
            Stmt::Loop(_) => Within::Loop,
            _ => Within::StraightCode,
        })
    }
}

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Within::StraightCode => "in straight code",
            Within::If => "in an if",
            Within::Switch => "in a switch",
            Within::Loop => "in a loop",
        })
    }
}
