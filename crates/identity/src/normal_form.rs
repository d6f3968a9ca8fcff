//! Cases that are the same test.

use tangle_program::case::{Case, Data, SpecConstant};

/// The case without what is only names and data: cases with the same normal form are the same test.
pub fn normal_form(case: &Case) -> String {
    let mut case = case.clone();
    case.about.clear();
    case.origin = Default::default();
    let Data { inputs, uniforms, push, resources, .. } = &mut case.data;
    let words = inputs.iter_mut().flatten().chain(uniforms).chain(push).chain(resources);
    words.for_each(|word| *word = 0);
    case.data.constants.fill(SpecConstant::default());
    (0..).zip(&mut case.program.shared).for_each(|(number, array): (u32, _)| array.name = format!("s{number}"));
    for (number, function) in case.program.functions.iter_mut().enumerate() {
        function.name = format!("f{number}");
        let params = function.params.iter_mut().map(|param| &mut param.name);
        let names = params.chain(function.locals.iter_mut().map(|local| &mut local.name));
        (0..).zip(names).for_each(|(var, name): (u32, _)| *name = format!("v{var}"));
    }
    case.program.number_sites();
    blake3::hash(case.to_json().as_bytes()).to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::subgroup::{Fold, SubgroupOp};
    use tangle_program::tree::{Block, Expr, Stmt};

    fn case(body: Block) -> Case {
        let mut case = Case::from_json(include_str!("../../../corpus/vectors/V01.json")).expect("a case");
        case.program.functions.last_mut().expect("main").body = body;
        case
    }

    #[test]
    fn the_normal_form_forgets_names_and_data_only() {
        let add = || Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [Expr::Uint(1)]);
        let log = |site, value| vec![Stmt::Log { site, values: vec![value] }];
        let one = case(log(1, add()));
        let mut renamed = one.clone();
        for local in &mut renamed.program.functions.last_mut().expect("main").locals {
            local.name += "_other";
        }
        renamed.about = "something else".into();
        renamed.data.inputs.iter_mut().flatten().for_each(|word| *word += 1);
        assert_eq!(normal_form(&one), normal_form(&renamed));
        assert_eq!(normal_form(&one), normal_form(&case(log(9, add()))), "another number of the site");
        assert_ne!(normal_form(&one), normal_form(&case(log(1, Expr::subgroup(SubgroupOp::Elect, [])))));
    }
}
