//! Changes of a program that leave its meaning as it is. A bug that goes away with one is recognised by it: the counterfactual.
//!
//! A minimal program of a bug passes without `subgroupBarrier()` in loops, say. Another finding that fails alike, and passes with the same
//! change, shows the same bug, minimised or not. That holds only where nearly nothing else would make it pass, so that a change
//!
//! - takes out one construct, in one kind of place, and touches nothing else;
//! - leaves every expected value and path as it is: what was wrong is compared again, with the same expectation ([`still_compares`]).
//!
//! An operation in the place of which its operand stands, a moved exit or an optimiser that is off are no such changes: they make
//! programs of many bugs pass.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tangle_analysis::validate::validate;
use tangle_emit::glsl::spelling;
use tangle_oracle::judge::Mismatch;
use tangle_program::case::{Case, InvocationId};
use tangle_program::control::{LoopControl, SelectionControl};
use tangle_program::memory::Sync;
use tangle_program::subgroup::{Gives, SubgroupOp, TABLE};
use tangle_program::tree::{Block, Stmt};

use crate::account::{Account, Lane};

/// A construct is taken out wherever it stands in one kind of place. In files it is text: `subgroupBarrier in a loop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Change {
    construct: Construct,
    within: Within,
}

/// Something that no value and no path depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Construct {
    SubgroupBarrier(SubgroupOp),
    /// Where the program has no data race without it.
    WorkgroupBarrier(Sync),
    Assumption,
    SelectionControl(SelectionControl),
    LoopControl(LoopControl),
}

/// The constructs around a statement in its function: a loop, or else a switch, or else an `if`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Within {
    StraightCode,
    If,
    Switch,
    Loop,
}

/// A text names no change.
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is no construct that can be taken out: 'subgroupBarrier in a loop' is one")]
pub struct UnknownChange(String);

impl Change {
    /// Every change.
    fn all() -> impl Iterator<Item = Change> {
        let barriers = TABLE.iter().filter(|info| info.gives == Gives::Nothing);
        let constructs = barriers.map(|info| Construct::SubgroupBarrier(info.op));
        let constructs = constructs.chain(Sync::ALL.map(Construct::WorkgroupBarrier)).chain([Construct::Assumption]);
        let constructs = constructs.chain(SelectionControl::ASKING.map(Construct::SelectionControl));
        let constructs = constructs.chain(LoopControl::ASKING.map(Construct::LoopControl));
        constructs.flat_map(|construct| Within::ALL.map(|within| Change { construct, within }))
    }

    /// Those that can be made in a case.
    pub fn of(case: &Case) -> impl Iterator<Item = Change> + '_ {
        Change::all().filter(|change| change.apply(case).is_some())
    }

    /// The changed case; `None` if there is nothing to change, or if it would not be valid.
    pub fn apply(self, case: &Case) -> Option<Case> {
        let mut changed = case.clone();
        for function in &mut changed.program.functions {
            self.take_out(&mut function.body, Within::StraightCode);
        }
        (changed.program != case.program && validate(&changed).is_ok()).then_some(changed)
    }

    fn take_out(self, block: &mut Block, within: Within) {
        block.retain_mut(|stmt| {
            let inside = within.inside(stmt);
            stmt.nested_blocks_mut().into_iter().for_each(|block| self.take_out(block, inside));
            within != self.within || self.construct.leaves(stmt)
        });
    }
}

impl Construct {
    /// Takes it out of a statement; false if nothing is left.
    fn leaves(self, stmt: &mut Stmt) -> bool {
        match (self, stmt) {
            (Construct::SubgroupBarrier(op), Stmt::SubgroupBarrier(own)) => *own != op,
            (Construct::WorkgroupBarrier(sync), Stmt::ControlBarrier(own)) => *own != sync,
            (Construct::Assumption, Stmt::Assume(_)) => false,
            (Construct::LoopControl(asked), Stmt::Loop(l)) if l.control == asked => {
                l.control = LoopControl::Unspecified;
                true
            }
            (Construct::SelectionControl(asked), Stmt::If { control, .. } | Stmt::Switch { control, .. })
                if *control == asked =>
            {
                *control = SelectionControl::Unspecified;
                true
            }
            _ => true,
        }
    }
}

impl Within {
    const ALL: [Within; 4] = [Within::StraightCode, Within::If, Within::Switch, Within::Loop];

    /// The place of the statements in a statement that stands here.
    fn inside(self, stmt: &Stmt) -> Within {
        self.max(match stmt {
            Stmt::If { .. } => Within::If,
            Stmt::Switch { .. } => Within::Switch,
            Stmt::Loop(_) => Within::Loop,
            _ => Within::StraightCode,
        })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.construct, self.within)
    }
}

impl fmt::Display for Construct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Construct::SubgroupBarrier(op) => op.info().name,
            Construct::WorkgroupBarrier(sync) => spelling::sync(*sync),
            Construct::Assumption => "assumeEXT",
            Construct::SelectionControl(control) => spelling::selection_control(*control).trim_end(),
            Construct::LoopControl(control) => spelling::loop_control(*control).trim_end(),
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

impl FromStr for Change {
    type Err = UnknownChange;

    fn from_str(text: &str) -> Result<Change, UnknownChange> {
        Change::all().find(|change| change.to_string() == text).ok_or_else(|| UnknownChange(text.to_owned()))
    }
}

impl TryFrom<String> for Change {
    type Error = UnknownChange;

    fn try_from(text: String) -> Result<Change, UnknownChange> {
        text.parse()
    }
}

impl From<Change> for String {
    fn from(change: Change) -> String {
        change.to_string()
    }
}

/// True if the changed run compares what was wrong before with the same expectation: each wrong lane has to log the same there.
pub fn still_compares(wrong: &Mismatch, changed: &Account<'_>) -> bool {
    wrong.lanes.iter().all(|lane| {
        let id = InvocationId { group: wrong.group, index: lane.index };
        let own = changed.lanes.iter().find(|own| own.invocation == id);
        own.is_some_and(|own| expects(own, lane.entry, wrong, &lane.expected))
    })
}

/// True if a lane has this entry. Words that were not compared before count for nothing; of those that several divisions of the lanes into
/// tangles allow, any will do.
fn expects(lane: &Lane, entry: usize, wrong: &Mismatch, words: &[Option<u32>]) -> bool {
    let Some(entry) = lane.entries.get(entry) else { return words.is_empty() && !lane.open_end };
    let is_same = |(now, before): (&Option<u32>, &Option<u32>)| {
        before.is_none() || now == before || wrong.rule.is_some() && now.is_some()
    };
    entry.words.len() == words.len() && entry.words.iter().zip(words).all(is_same)
}

#[cfg(test)]
mod tests {
    use tangle_program::ops::BinaryOp;
    use tangle_program::tree::{Builtin, Expr};

    use super::*;

    fn barrier() -> Stmt {
        Stmt::SubgroupBarrier(TABLE.iter().find(|info| info.name == "subgroupBarrier").expect("it is in the table").op)
    }

    fn branch(then: Block) -> Stmt {
        let cond = Expr::binary(BinaryOp::Lt, Expr::Builtin(Builtin::Lane), Expr::Uint(2));
        Stmt::If { cond, then, otherwise: Vec::new(), control: SelectionControl::Flatten }
    }

    fn log() -> Stmt {
        Stmt::Log { site: 1, values: vec![Expr::Builtin(Builtin::Lane)] }
    }

    fn case(body: Block) -> Case {
        let mut case = Case::from_json(include_str!("../../../corpus/vectors/V01.json")).expect("a case");
        case.program.functions.last_mut().expect("main").body = body;
        case
    }

    #[test]
    fn one_construct_goes_in_one_kind_of_place() {
        let both = case(vec![barrier(), branch(vec![barrier(), log()])]);
        for (change, left) in [
            ("subgroupBarrier in straight code", vec![branch(vec![barrier(), log()])]),
            ("subgroupBarrier in an if", vec![barrier(), branch(vec![log()])]),
        ] {
            let changed = change.parse::<Change>().expect(change).apply(&both).expect("it stands there");
            assert_eq!(changed.program.main().expect("main").body, left, "{change}");
        }
        let names: Vec<String> = Change::of(&both).map(String::from).collect();
        assert_eq!(
            names,
            ["subgroupBarrier in straight code", "subgroupBarrier in an if", "[[flatten]] in straight code"]
        );
    }

    #[test]
    fn a_change_is_text_in_files() {
        for change in Change::all() {
            assert_eq!(change.to_string().parse::<Change>().ok(), Some(change));
        }
        for bad in ["", "subgroupBarrier", "subgroupAdd in a loop", "subgroupBarrier  in a loop"] {
            assert!(bad.parse::<Change>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_program_that_is_not_valid_without_it_stays() {
        assert_eq!(Change::of(&case(vec![log()])).count(), 0);
        let shared =
            Case::from_json(include_str!("../../../corpus/patterns/elect_then_broadcast.json")).expect("a case");
        let names: Vec<String> = Change::of(&shared).map(String::from).collect();
        assert!(!names.iter().any(|name| name.starts_with("barrier ")), "it would be a data race: {names:?}");
        assert!(shared.to_json().contains("ControlBarrier"));
    }
}
