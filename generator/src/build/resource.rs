//! Words of the resources of arrays of descriptors: chosen by what is the same everywhere, or by what differs from lane to lane.

use tangle_program::ops::BinaryOp;
use tangle_program::tree::Resource;
use tangle_program::tree::{Block, Expr};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::term::{Want, bin, uint};
use crate::class::Class;

/// Of a hundred words of resources inside expressions, those whose index is the same everywhere.
const UNIFORM: u32 = 40;

impl Builder<'_> {
    pub(crate) fn has_resources(&self) -> bool {
        !self.config.resources.is_empty() && !self.data.resources.is_empty()
    }

    /// A word of a resource.
    pub(crate) fn resource(&mut self, want: Want) -> Expr {
        if self.draw.percent(UNIFORM) {
            let word = self.constant_word();
            return self.resource_at(word, false);
        }
        let word = self.arithmetic(Scalar::Uint, want.defined());
        self.resource_at(word, true)
    }

    /// `array[word & mask]`. Without `non_uniform` the word is known to be the same in all invocations that come there.
    pub(crate) fn resource_at(&mut self, word: Expr, non_uniform: bool) -> Expr {
        let classes: Vec<_> = self.config.resources.iter().copied().collect();
        let class = self.draw.pick(&classes);
        let index = Box::new(self.resource_index(word));
        Expr::Resource(Resource { class, index, non_uniform })
    }

    /// An index in range: there are as many resources as a power of two.
    pub(crate) fn resource_index(&self, word: Expr) -> Expr {
        bin(BinaryOp::BitAnd, word, uint(self.data.resources.len() as u32 - 1))
    }

    /// `var = array[word & mask];`
    pub(crate) fn keep_resource(&mut self, word: Expr, non_uniform: bool, out: &mut Block) {
        let value = self.resource_at(word, non_uniform);
        let var = self.result_variable(Type::UINT, Class::Clean);
        self.keep(var, value, out);
    }
}
