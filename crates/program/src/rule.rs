//! Numbers of the rules of docs/rules.md.

use std::fmt;

/// The number of a rule: section `O` and number 1 for rule O1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleNumber {
    /// The section, a capital letter.
    pub section: char,
    /// Its number there, from 1.
    pub number: u8,
}

impl RuleNumber {
    /// The rule of this number in a section.
    pub const fn new(section: char, number: u8) -> RuleNumber {
        RuleNumber { section, number }
    }
}

impl fmt::Display for RuleNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.section, self.number)
    }
}
