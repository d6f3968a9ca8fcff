//! The same program with its constants where no compiler sees them: in the uniform buffer; or where only the front end does not: in variables.

use std::collections::BTreeMap;

use tangle_analysis::validate::validate;
use tangle_program::case::Case;
use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Expr, Stmt};
use tangle_program::types::{Scalar, Type};

use crate::access::{each_stmt_mut, each_stmt_of_block_mut, walk_expr_mut};

/// The case with the literals of every constant expression read from the uniform buffer, so that the front end has nothing to fold: words
/// from the number of those that were there before. `None` if there is no constant expression but literals, or if the case would not be
/// valid any more.
pub fn hide_constants(case: &Case) -> Option<Case> {
    let mut hidden = case.clone();
    let mut uniforms = Uniforms { before: case.data.uniforms.len(), words: case.data.uniforms.clone() };
    each_stmt_mut(&mut hidden.program, &mut |_, stmt| {
        for expr in stmt.direct_exprs_mut() {
            uniforms.hide_in(expr);
        }
    });
    hidden.data.uniforms = uniforms.words;
    (hidden != *case && validate(&hidden).is_ok()).then_some(hidden)
}

/// The case with its uniform words from number `first` in local variables that are assigned at the beginning of each function: the front end
/// does not fold what it reads from a variable. It computes the same as the case; the validator, which knows no values of variables, need
/// not see that it is defined.
pub fn uniforms_in_variables(case: &Case, first: usize) -> Case {
    let mut case = case.clone();
    let words = case.data.uniforms.split_off(first.min(case.data.uniforms.len()));
    for function in &mut case.program.functions {
        let mut variables = BTreeMap::new();
        let mut body = std::mem::take(&mut function.body);
        each_stmt_of_block_mut(&mut body, &mut |stmt| {
            for expr in stmt.direct_exprs_mut() {
                walk_expr_mut(expr, &mut |expr| match *expr {
                    Expr::Uniform(k) if k as usize >= first => {
                        let new = || function.add_local(format!("constant_{k}"), Type::UINT);
                        *expr = Expr::Var(*variables.entry(k).or_insert_with(new));
                    }
                    _ => {}
                });
            }
        });
        let value = |k: u32| Expr::Uint(words.get(k as usize - first).copied().unwrap_or_default());
        let assign = |(k, var): (u32, _)| Stmt::Assign { var, value: value(k) };
        function.body = variables.into_iter().map(assign).chain(body).collect();
    }
    case
}

struct Uniforms {
    before: usize,
    words: Vec<u32>,
}

impl Uniforms {
    /// Hides the literals of the constant expressions in an expression.
    fn hide_in(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Bool(_) | Expr::Int(_) | Expr::Uint(_) => {}
            // Ids and deltas must be literals before SPIR-V 1.5.
            Expr::Subgroup(call) => call.args.iter_mut().take(1).for_each(|arg| self.hide_in(arg)),
            _ if expr.is_constant() => self.hide(expr),
            _ => expr.operands_mut().into_iter().for_each(|operand| self.hide_in(operand)),
        }
    }

    /// Hides all literals of a constant expression.
    fn hide(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Bool(value) => *expr = Expr::binary(BinaryOp::Ne, self.read(u32::from(*value)), self.read(0)),
            Expr::Int(value) => *expr = Expr::Cast(Scalar::Int, Box::new(self.read(*value as u32))),
            Expr::Uint(value) => *expr = self.read(*value),
            _ => expr.operands_mut().into_iter().for_each(|operand| self.hide(operand)),
        }
    }

    fn read(&mut self, word: u32) -> Expr {
        let known = self.words[self.before..].iter().position(|known| *known == word);
        let at = self.before + known.unwrap_or(self.words.len() - self.before);
        if known.is_none() {
            self.words.push(word);
        }
        Expr::Uniform(at as u32)
    }
}

#[cfg(test)]
mod tests {
    use tangle_program::ops::Intrinsic;
    use tangle_program::tree::{Stmt, walk_block};

    use super::*;

    /// A case that logs one value; its uniform words are 9 and 5.
    fn case(value: &Expr) -> Case {
        let value = serde_json::to_value(value).expect("plain data");
        let json = serde_json::json!({
            "format": 1, "tier": "plain",
            "launch": { "workgroup": [4, 1, 1], "groups": [1, 1, 1], "spirv": "1.3" },
            "data": { "uniforms": [9, 5] },
            "program": { "functions": [{ "name": "main", "body": [{ "log": { "site": 1, "values": [value] } }] }] },
        });
        let case = Case::from_json(&json.to_string()).expect("a case");
        validate(&case).expect("a valid case");
        case
    }

    fn logged(case: &Case) -> Expr {
        let mut found = None;
        walk_block(&case.program.functions[0].body, &mut |stmt| {
            if let Stmt::Log { values, .. } = stmt {
                found = values.first().cloned();
            }
        });
        found.expect("there is a log")
    }

    #[test]
    fn literals_of_constant_expressions_are_hidden_and_no_others() {
        let abs = |value| Expr::Intrinsic(Intrinsic::Abs, vec![value]);
        let int = |value| Expr::Cast(Scalar::Int, Box::new(value));
        let uint = |value| Expr::Cast(Scalar::Uint, Box::new(value));
        let plus = |a, b| Expr::binary(BinaryOp::Add, a, b);
        let table = [
            (Expr::Uint(5), None),
            (plus(Expr::Uint(5), Expr::Uniform(0)), None),
            (plus(Expr::Uint(5), Expr::Uint(7)), Some((plus(Expr::Uniform(2), Expr::Uniform(3)), vec![9, 5, 5, 7]))),
            (
                plus(uint(abs(Expr::Int(-5))), Expr::Uniform(0)),
                Some((plus(uint(abs(int(Expr::Uniform(2)))), Expr::Uniform(0)), vec![9, 5, 0xFFFF_FFFB])),
            ),
        ];
        for (value, expected) in table {
            let hidden = hide_constants(&case(&value)).map(|case| (logged(&case), case.data.uniforms));
            assert_eq!(hidden, expected, "{value:?}");
        }
    }

    #[test]
    fn uniforms_from_a_number_on_are_in_variables() {
        let plus = |a, b| Expr::binary(BinaryOp::Add, a, b);
        let hidden = case(&plus(plus(Expr::Uniform(1), Expr::Uniform(0)), Expr::Uniform(1)));
        let changed = uniforms_in_variables(&hidden, 1);
        assert_eq!(changed.data.uniforms, [9]);
        assert_eq!(logged(&changed), plus(plus(Expr::Var(0), Expr::Uniform(0)), Expr::Var(0)));
        assert_eq!(changed.program.functions[0].body[0], Stmt::Assign { var: 0, value: Expr::Uint(5) });
    }
}
