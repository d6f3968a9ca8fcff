//! Constructs taken out that no value and no path depends on, and the ends of fragments, on which those behind them depend.

use std::fmt;

use tangle_emit::glsl::spelling;
use tangle_program::control::{LoopControl, SelectionControl};
use tangle_program::memory::Sync;
use tangle_program::subgroup::{Gives, SubgroupOp, TABLE};
use tangle_program::tree::{Block, Discard, Stmt};

use super::within::Within;

/// Something that a program goes on without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Construct {
    /// One of the subgroup barriers.
    SubgroupBarrier(SubgroupOp),
    /// Where the program has no data race without it.
    WorkgroupBarrier(Sync),
    /// `assumeEXT`, wherever it stands: its condition is true of every lane that comes there.
    Assumption,
    /// One of the ends of a fragment: its invocations go on.
    Discard(Discard),
    /// What is asked for an `if` or a switch.
    SelectionControl(SelectionControl),
    /// What is asked for a loop.
    LoopControl(LoopControl),
}

impl Construct {
    /// Every construct that can be taken out: barriers, assumptions, ends of fragments, and what is asked for selections and loops.
    pub fn all() -> impl Iterator<Item = Construct> {
        let barriers = TABLE.iter().filter(|info| info.gives == Gives::Nothing);
        let constructs = barriers.map(|info| Construct::SubgroupBarrier(info.op));
        let constructs = constructs.chain(Sync::ALL.map(Construct::WorkgroupBarrier));
        let discards = [Discard::Demote, Discard::Terminate].map(Construct::Discard);
        let constructs = constructs.chain([Construct::Assumption]).chain(discards);
        let constructs = constructs.chain(SelectionControl::ASKING.map(Construct::SelectionControl));
        constructs.chain(LoopControl::ASKING.map(Construct::LoopControl))
    }

    /// True if a loop or a selection is to stay what it is. Without it the program may become another one, and many bugs go away with that: it is in
    /// files of older versions, and not tried.
    pub fn is_to_stay(self) -> bool {
        matches!(
            self,
            Construct::SelectionControl(SelectionControl::DontFlatten)
                | Construct::LoopControl(LoopControl::DontUnroll)
        )
    }

    /// The places from which it is taken out, the plainest first: ends of fragments from loops only, since programs of many bugs pass without the helpers
    /// that a demotion makes.
    pub fn places(self) -> impl Iterator<Item = Within> {
        let is_end = matches!(self, Construct::Discard(_));
        Within::ALL.into_iter().filter(move |place| !is_end || *place == Within::Loop)
    }

    /// True if it orders invocations, and does nothing else.
    pub fn is_barrier(self) -> bool {
        matches!(self, Construct::SubgroupBarrier(_) | Construct::WorkgroupBarrier(_))
    }

    /// Takes it out of a block that stands in one kind of place, wherever it is in another.
    pub fn take_out(self, block: &mut Block, place: Within, here: Within) {
        block.retain_mut(|stmt| {
            let inside = here.inside(stmt);
            stmt.nested_blocks_mut().into_iter().for_each(|block| self.take_out(block, place, inside));
            here != place || self.leaves(stmt)
        });
    }

    /// Takes it out of a statement; false if nothing is left.
    fn leaves(self, stmt: &mut Stmt) -> bool {
        match (self, stmt) {
            (Construct::SubgroupBarrier(op), Stmt::SubgroupBarrier(own)) => *own != op,
            (Construct::WorkgroupBarrier(sync), Stmt::ControlBarrier(own)) => *own != sync,
            (Construct::Assumption, Stmt::Assume(_)) => false,
            (Construct::Discard(discard), Stmt::Discard(own)) => *own != discard,
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

impl fmt::Display for Construct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Construct::SubgroupBarrier(op) => op.info().name,
            Construct::WorkgroupBarrier(sync) => spelling::sync(*sync),
            Construct::Assumption => "assumeEXT",
            Construct::Discard(Discard::Demote) => "demote",
            Construct::Discard(Discard::Terminate) => "terminateInvocation",
            Construct::SelectionControl(control) => spelling::selection_control(*control).trim_end(),
            Construct::LoopControl(control) => spelling::loop_control(*control).trim_end(),
        })
    }
}
