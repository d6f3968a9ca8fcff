//! The rules for what is open until it is observed: tangles, and the order of atomics.

use serde::{Deserialize, Serialize};
use tangle_program::rule::RuleNumber;
use tangle_program::subgroup::Severity;

/// A rule that what a device shows of its tangles, or of the order of its atomics, must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TangleRule {
    /// Rule O1: a lane is in its own ballot of `true`.
    OwnBit,
    /// Rule O2: a ballot shows only lanes that execute this instruction.
    Visitors,
    /// Rule O3: all lanes of a ballot see that ballot, equally often.
    Partition,
    /// Rule O4: instances have an order that every lane keeps.
    Order,
    /// Rule O5: lanes on the same path are together.
    PathClass,
    /// Rule O6: lanes that are together stay together in straight code.
    StraightCode,
    /// Rule S3: who is together in a segment of a switch stays so until control flow parts or joins them.
    Reconvergence,
    /// Rule O8, and the sharper O7.
    Operation,
    /// Rule O11: of each instance exactly the lowest lane is elected.
    Elect,
    /// Rule A3, which is no rule of tangles: the order of atomics is open as well.
    AtomicOrder,
}

impl TangleRule {
    /// Every rule, in the order of declaration.
    pub const ALL: [TangleRule; 10] = [
        TangleRule::OwnBit,
        TangleRule::Visitors,
        TangleRule::Partition,
        TangleRule::Order,
        TangleRule::PathClass,
        TangleRule::StraightCode,
        TangleRule::Reconvergence,
        TangleRule::Operation,
        TangleRule::Elect,
        TangleRule::AtomicOrder,
    ];

    /// Its number in docs/rules.md; of those that an operation's result breaks the weakest.
    pub const fn number(self) -> RuleNumber {
        match self {
            TangleRule::OwnBit => RuleNumber::new('O', 1),
            TangleRule::Visitors => RuleNumber::new('O', 2),
            TangleRule::Partition => RuleNumber::new('O', 3),
            TangleRule::Order => RuleNumber::new('O', 4),
            TangleRule::PathClass => RuleNumber::new('O', 5),
            TangleRule::StraightCode => RuleNumber::new('O', 6),
            TangleRule::Reconvergence => RuleNumber::new('S', 3),
            TangleRule::Operation => RuleNumber::new('O', 8),
            TangleRule::Elect => RuleNumber::new('O', 11),
            TangleRule::AtomicOrder => RuleNumber::new('A', 3),
        }
    }

    /// How well it stands.
    pub const fn severity(self) -> Severity {
        match self {
            TangleRule::PathClass | TangleRule::StraightCode => Severity::Strong,
            TangleRule::OwnBit
            | TangleRule::Visitors
            | TangleRule::Partition
            | TangleRule::Order
            | TangleRule::Reconvergence
            | TangleRule::Operation
            | TangleRule::Elect
            | TangleRule::AtomicOrder => Severity::Hard,
        }
    }

    /// What it says, in one line.
    pub const fn text(self) -> &'static str {
        match self {
            TangleRule::OwnBit => "a lane is in its own ballot",
            TangleRule::Visitors => "a ballot shows only lanes that execute this very instruction",
            TangleRule::Partition => "all lanes of a ballot see that same ballot, equally often",
            TangleRule::Order => {
                "the instances can be put in an order: no lane executes one that waits for a later one of its own"
            }
            TangleRule::PathClass => "lanes that took the same path are together",
            TangleRule::StraightCode => "lanes that are together stay together until they take different paths",
            TangleRule::Reconvergence => "lanes part and come together only where control flow does",
            TangleRule::Operation => "a result is that of some set of lanes that may be together",
            TangleRule::Elect => "of lanes that are together, the lowest and no other is elected",
            TangleRule::AtomicOrder => "what atomics on one element return is what they find there in some order",
        }
    }

    /// How it is broken, in a few words.
    pub const fn broken(self) -> &'static str {
        match self {
            TangleRule::OwnBit => "not in its own ballot",
            TangleRule::Visitors => "a ballot with lanes that are elsewhere",
            TangleRule::Partition => "lanes of one ballot that see another",
            TangleRule::Order => "instances in no possible order",
            TangleRule::PathClass => "lanes of one path apart",
            TangleRule::StraightCode => "lanes apart without a branch",
            TangleRule::Reconvergence => "lanes together and apart in one segment",
            TangleRule::Operation => "matches no legal set of active lanes",
            TangleRule::Elect => "another than the lowest lane elected",
            TangleRule::AtomicOrder => "atomics in no possible order",
        }
    }
}
