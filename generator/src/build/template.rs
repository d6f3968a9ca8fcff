//! The shapes that real bugs had.
use tangle_program::tree::Block;
use super::Builder;
impl Builder<'_> {
    pub(crate) fn template(&mut self, out: &mut Block) { self.operation_statement(out) }
}
