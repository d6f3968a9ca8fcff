//! The same program with sums and products over lanes that stay within their types, so that nobody has to ask what becomes of one that does not.

use tangle_analysis::validate::validate;
use tangle_program::case::Case;
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Expr, Function};
use tangle_program::types::Type;

use crate::access::{each_stmt_of_block_mut, walk_expr_mut};
use crate::passes::candidates::{integer, splat};

/// Numbers of which a sum or product over lanes is made, the more telling ones first: the lowest bits of the operand, or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Small {
    /// `x & 7`
    ThreeBits,
    /// `x & 1`
    OneBit,
    /// `1`
    One,
}

impl Small {
    /// All of them, in this order.
    pub const ALL: [Small; 3] = [Small::ThreeBits, Small::OneBit, Small::One];

    fn of(self, operand: Expr, ty: Type) -> Expr {
        let number = |n| splat(ty, integer(ty.scalar, n));
        let bits = |mask| Expr::binary(BinaryOp::BitAnd, operand.clone(), number(mask));
        match self {
            Small::ThreeBits => bits(7),
            Small::OneBit => bits(1),
            Small::One => number(1),
        }
    }

    /// The case with such operands for all its sums and products of integers over lanes. `None` if it has none, or would not be valid.
    pub fn in_case(self, case: &Case) -> Option<Case> {
        let mut small = case.clone();
        for function in &mut small.program.functions {
            function.change_body(|function, body| {
                each_stmt_of_block_mut(body, &mut |stmt| {
                    for expr in stmt.direct_exprs_mut() {
                        walk_expr_mut(expr, &mut |expr| self.in_expr(expr, function));
                    }
                });
            });
        }
        (small != *case && validate(&small).is_ok()).then_some(small)
    }

    fn in_expr(self, expr: &mut Expr, function: &Function) {
        let Expr::Subgroup(call) = expr else { return };
        let Some(operand) = call.args.first_mut().filter(|_| may_overflow(call.op)) else { return };
        let Some(ty) = operand.ty(function).filter(|ty| ty.scalar.is_integer()) else { return };
        *operand = self.of(std::mem::replace(operand, Expr::Bool(false)), ty);
    }
}

fn may_overflow(op: SubgroupOp) -> bool {
    matches!(op.fold(), Some(Fold::Add | Fold::Mul))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case that logs the sum of an operand over lanes, and a minimum.
    fn case(operand: serde_json::Value) -> Case {
        let sum = serde_json::json!({"group_non_uniform": {"op": "GroupNonUniformAdd Reduce", "args": [operand]}});
        let minimum = serde_json::json!({"group_non_uniform": {"op": "GroupNonUniformMin Reduce", "args": [{"built_in": "SubgroupLocalInvocationId"}]}});
        let json = serde_json::json!({
            "format": 2, "tier": "plain",
            "entry_point": {
                "stage": "compute", "launch": {"workgroups": {"size": [4, 1, 1], "count": [1, 1, 1]}},
                "subgroup_size": "default", "full_subgroups": false, "spirv": "1.3",
            },
            "data": {},
            "program": {"functions": [{"name": "main", "locals": [], "body": [{"log": {"site": 1, "values": [sum, minimum]}}]}]},
        });
        Case::from_json(&json.to_string()).expect("a case")
    }

    #[test]
    fn operands_of_sums_become_small() {
        let lane = || serde_json::json!({"built_in": "SubgroupLocalInvocationId"});
        let masked = |mask| serde_json::json!({"binary": ["BitwiseAnd", lane(), {"u32": mask}]});
        let expected = [masked(7), masked(1), serde_json::json!({"u32": 1})];
        for (small, operand) in Small::ALL.into_iter().zip(expected) {
            assert_eq!(small.in_case(&case(lane())), Some(case(operand)), "{small:?}");
        }
        assert_eq!(Small::One.in_case(&case(serde_json::json!({"u32": 1}))), None);
    }
}
