//! Branches, loops, switches and the ways out of them: what parts the lanes, and what keeps account of it.

mod branch;
mod exit;
mod repeat;
mod switch;

use tangle_program::control::{LoopControl, SelectionControl};
use tangle_program::tree::Block;

use super::Builder;
use super::frame::Cost;

pub(crate) use repeat::LoopHead;

impl Builder<'_> {
    /// Accounts for a statement.
    fn step(&mut self) {
        self.frame.charge(Cost { words: 0, steps: 1 });
    }

    /// What an `if` or a switch asks for.
    fn selection_control(&mut self) -> SelectionControl {
        if !self.draw.percent(self.weights.attributes) {
            return SelectionControl::Unspecified;
        }
        self.draw.pick(&SelectionControl::ASKING)
    }

    /// What a loop asks for.
    fn loop_control(&mut self) -> LoopControl {
        if !self.draw.percent(self.weights.attributes) {
            return LoopControl::Unspecified;
        }
        self.draw.pick(&LoopControl::ASKING)
    }

    /// Makes something that leaves enough of the statements for `parts - 1` more of its kind.
    fn sharing<R>(&mut self, parts: u32, make: impl FnOnce(&mut Self) -> R) -> R {
        let left = self.statements;
        let share = left.div_ceil(parts);
        self.statements = share;
        let made = make(self);
        self.statements += left - share;
        made
    }

    /// The block, or an assignment if it is empty.
    pub(crate) fn nonempty(&mut self, mut block: Block) -> Block {
        if block.is_empty() {
            self.assignment(&mut block);
        }
        block
    }
}
