//! What a device must offer to run a case.

use crate::subgroup::Category;
use crate::tree::{Builtin, Expr};

/// The category of subgroup operations that an expression by itself belongs to, if any.
pub(crate) fn category_of(expr: &Expr) -> Option<Category> {
    match expr {
        Expr::Subgroup(call) => Some(call.op.info().category),
        // GL_KHR_shader_subgroup_ballot declares the masks, SPIR-V's GroupNonUniformBallot carries them.
        Expr::Builtin(Builtin::EqMask | Builtin::GeMask | Builtin::GtMask | Builtin::LeMask | Builtin::LtMask) => {
            Some(Category::Ballot)
        }
        _ => None,
    }
}
