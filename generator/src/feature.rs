//! What distinguishes cases, to leave out those that show a bug that is known already.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tangle_program::case::{Case, Stage};
use tangle_program::subgroup::{Category, SubgroupOp, TABLE};
use tangle_program::tree::{Expr, Program, walk_block};
use tangle_program::types::Type;
use tangle_program::variant::{PASSES, single_passes};

use crate::outline::{Nodes, Outline};
use crate::pairs::{Kind, Pair, UNTYPED, doing, of_program, possible};
use crate::stats::{Construct, Stats};

/// Something that a case contains or does not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// A construct of the language, by the name in [`Construct`].
    Construct(Construct),
    /// A subgroup operation of any type, by its GLSL name.
    Operation(SubgroupOp),
    /// A subgroup operation of a category, by the category's name.
    Category(Category),
    /// An operation or operator of a type, `subgroupAdd of f32` or `ShiftLeft of i64`; or one control construct directly in another, `if in for`.
    Pair(Pair),
    /// An operator or built-in function of any type, `BitCount of any`.
    Operator(String),
    /// An operator, built-in function or category of operations whose operand is what another gives, the outer one first: `Shr under BitOr`.
    Operand(String, String),
    /// A pass of `spirv-opt` that the module went through, `spirv-opt:ccp`.
    Pass(&'static str),
    /// A module that was printed from the program, with no front end between ([`tangle_program::variant::Variant::Printed`]): `printed`.
    Printed,
    /// A stage, `fragment`.
    Stage(Stage),
    /// All of it in its order, `outline: if {divergent loop; arithmetic}`. It is the last one: what takes longest is looked for last.
    Outline(Outline),
}

/// What the name of a pass begins with, as that of a variant.
const PASS: &str = "spirv-opt:";

/// The name of [`Feature::Printed`], as of the variant.
const PRINTED: &str = "printed";

/// What an outline begins with.
const OUTLINE: &str = "outline:";

/// The features of a case.
#[derive(Clone, Debug)]
pub struct Contents {
    stats: Stats,
    pairs: BTreeSet<Pair>,
    /// An operator, and one directly below it.
    operands: BTreeSet<(String, String)>,
    passes: BTreeSet<String>,
    is_printed: bool,
    stage: Stage,
    nodes: Nodes,
}

/// Every name that [`doing`] gives.
fn doings() -> impl Iterator<Item = String> {
    let operators = possible().into_iter().filter(|pair| pair.kind == Kind::Operator).map(|pair| pair.first);
    let operations = Category::ALL.into_iter().map(|category| category.name().to_owned());
    operators.chain(operations).chain(["Cast".to_owned(), "Select".to_owned()])
}

fn operands(program: &Program) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let mut of_part = |part: &Expr| {
        if let Some(outer) = doing(part) {
            found.extend(part.operands().filter_map(doing).map(|inner| (outer.clone(), inner)));
        }
    };
    for function in &program.functions {
        walk_block(&function.body, &mut |stmt| stmt.direct_exprs().for_each(|expr| expr.walk(&mut of_part)));
    }
    found
}

impl Contents {
    /// Those of a case, which knows the variant that it runs as.
    pub fn of(case: &Case) -> Contents {
        let passes = single_passes(&case.variant.flags()).into_iter();
        Contents {
            stats: Stats::of(case),
            pairs: of_program(&case.program),
            operands: operands(&case.program),
            is_printed: case.variant.is_printed(),
            stage: case.entry_point.stage,
            nodes: Nodes::of(&case.program),
            passes: passes.map(|flag| flag.trim_start_matches('-').to_owned()).collect(),
        }
    }

    fn have(&self, feature: &Feature) -> bool {
        match feature {
            Feature::Construct(construct) => self.stats.construct(*construct) > 0,
            Feature::Operation(op) => self.stats.operation(*op) > 0,
            Feature::Category(category) => {
                self.stats.operations.iter().any(|count| count.op.info().category == *category)
            }
            Feature::Pair(pair) => self.pairs.contains(pair),
            Feature::Operator(name) => self.pairs.iter().any(|pair| pair.kind == Kind::Operator && pair.first == *name),
            Feature::Operand(outer, inner) => self.operands.contains(&(outer.clone(), inner.clone())),
            Feature::Pass(pass) => self.passes.contains(*pass),
            Feature::Printed => self.is_printed,
            Feature::Stage(stage) => self.stage == *stage,
            Feature::Outline(outline) => self.nodes.have(outline),
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Feature::Construct(construct) => f.write_str(construct.name()),
            Feature::Operation(op) => f.write_str(op.info().name),
            Feature::Category(category) => f.write_str(category.name()),
            Feature::Pair(Pair { kind: Kind::Operation | Kind::Operator, first, second }) => {
                write!(f, "{first} of {second}")
            }
            Feature::Pair(Pair { kind: Kind::Nested, first, second }) => write!(f, "{second} in {first}"),
            Feature::Pair(Pair { kind: Kind::Sequence, first, second }) => write!(f, "{second} behind {first}"),
            Feature::Operator(name) => write!(f, "{name} of any"),
            Feature::Operand(outer, inner) => write!(f, "{inner} under {outer}"),
            Feature::Pass(pass) => write!(f, "{PASS}{pass}"),
            Feature::Printed => f.write_str(PRINTED),
            Feature::Stage(stage) => f.write_str(stage.name()),
            Feature::Outline(outline) => write!(f, "{OUTLINE} {outline}"),
        }
    }
}

/// Features that stand together in a case, at least one: `subgroupBarrier`, or `DivergentLoop + subgroupAdd`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Combination(BTreeSet<Feature>);

impl Combination {
    /// What a minimal case is made of, as far as a bug can be blamed on it: constructs, which of them stand in which, operators and what they are
    /// operands of, another stage than compute, and with `operations` the subgroup operations, else their categories. Every case assigns and logs, and the form of a loop matters less than that lanes leave it one by one.
    /// Of the minimiser's simplest type, `u32`, other types do as well; any other type is one that the bug needs. `pass`: the one of `spirv-opt` that
    /// shows it. Of a printed module that the minimiser left so, the front end's is right. `None` if nothing is left but the stage, which all its programs have.
    pub fn of_minimal(case: &Case, operations: bool, pass: Option<&str>) -> Option<Combination> {
        let Contents { stats, pairs, operands, stage, .. } = Contents::of(case);
        let parts_lanes = stats.construct(Construct::DivergentLoop) > 0;
        let matters = |construct: &Construct| match construct {
            Construct::Assign | Construct::Log => false,
            Construct::For | Construct::While | Construct::DoWhile | Construct::Forever => !parts_lanes,
            _ => true,
        };
        let constructs = stats.constructs.keys().copied().filter(matters).map(Feature::Construct);
        let of_ops = stats.operations.iter().map(|count| match operations {
            true => Feature::Operation(count.op),
            false => Feature::Category(count.op.info().category),
        });
        let simplest = Type::UINT.to_string();
        let of_pairs = pairs.into_iter().filter_map(|pair| match pair.kind {
            Kind::Operation if pair.second == simplest || pair.second == UNTYPED => None,
            Kind::Operation => operations.then_some(Feature::Pair(pair)),
            Kind::Operator if pair.second == simplest => Some(Feature::Operator(pair.first)),
            Kind::Operator => Some(Feature::Pair(pair)),
            // Of loops, see above.
            Kind::Nested => (!parts_lanes).then_some(Feature::Pair(pair)),
            // Anything may stand between.
            Kind::Sequence => None,
        });
        let pass = PASSES.iter().copied().find(|known| Some(*known) == pass).map(Feature::Pass);
        let of_operands = operands.into_iter().map(|(outer, inner)| Feature::Operand(outer, inner));
        // What is wrong in compute shaders may be in every stage.
        let stage = Some(stage).filter(|stage| *stage != Stage::Compute).map(Feature::Stage);
        let outline = Outline::of_minimal(&case.program, operations).map(Feature::Outline);
        let of_program = constructs.chain(of_ops).chain(of_pairs).chain(of_operands).chain(outline);
        let mut features: BTreeSet<Feature> = of_program.chain(pass).collect();
        if features.is_empty() {
            return None;
        }
        features.extend(case.variant.is_printed().then_some(Feature::Printed));
        features.extend(stage);
        Some(Combination(features))
    }

    /// True if a case has all of it.
    pub fn is_in(&self, contents: &Contents) -> bool {
        self.0.iter().all(|feature| contents.have(feature))
    }

    /// The operations that are named in it.
    pub fn operations(&self) -> impl Iterator<Item = SubgroupOp> {
        self.0.iter().filter_map(|feature| match feature {
            Feature::Operation(op) => Some(*op),
            _ => None,
        })
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(Feature::to_string).collect();
        f.write_str(&names.join(" + "))
    }
}

/// A name that is neither a construct's nor an operation's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is neither a subgroup operation, such as subgroupAdd, nor a construct, such as DivergentLoop, nor a pair, such as `ShiftLeft of i64`"
)]
pub struct UnknownFeature(String);

impl FromStr for Feature {
    type Err = UnknownFeature;

    fn from_str(name: &str) -> Result<Feature, UnknownFeature> {
        let construct = || Construct::ALL.iter().find(|construct| construct.name() == name).copied();
        let op = || TABLE.iter().find(|info| info.name == name).map(|info| info.op);
        let pass = || name.strip_prefix(PASS).and_then(|name| PASSES.iter().copied().find(|pass| *pass == name));
        let pair = || possible().into_iter().map(Feature::Pair).find(|pair| pair.to_string() == name);
        let is_operator = |pair: &Pair, name: &str| pair.kind == Kind::Operator && pair.first == name;
        let operator = || {
            let operator = name.strip_suffix(" of any")?;
            possible().iter().any(|pair| is_operator(pair, operator)).then(|| Feature::Operator(operator.to_owned()))
        };
        let category = || Category::ALL.into_iter().find(|category| category.name() == name).map(Feature::Category);
        let stage = || Stage::ALL.into_iter().find(|stage| stage.name() == name).map(Feature::Stage);
        let outline = || name.strip_prefix(OUTLINE)?.parse().ok().map(Feature::Outline);
        let printed = || (name == PRINTED).then_some(Feature::Printed);
        let operand = || {
            let (inner, outer) = name.split_once(" under ")?;
            let is_known = |name: &str| doings().any(|known| known == name);
            (is_known(inner) && is_known(outer)).then(|| Feature::Operand(outer.to_owned(), inner.to_owned()))
        };
        let found = construct().map(Feature::Construct).or_else(|| op().map(Feature::Operation));
        let found = found
            .or_else(|| pass().map(Feature::Pass))
            .or_else(category)
            .or_else(stage)
            .or_else(printed)
            .or_else(outline)
            .or_else(operator)
            .or_else(operand)
            .or_else(pair);
        found.ok_or_else(|| UnknownFeature(name.into()))
    }
}

impl FromStr for Combination {
    type Err = UnknownFeature;

    fn from_str(names: &str) -> Result<Combination, UnknownFeature> {
        names.split('+').map(|name| name.trim().parse()).collect::<Result<_, _>>().map(Combination)
    }
}

impl TryFrom<String> for Combination {
    type Error = UnknownFeature;

    fn try_from(names: String) -> Result<Combination, UnknownFeature> {
        names.parse()
    }
}

impl From<Combination> for String {
    fn from(combination: Combination) -> String {
        combination.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, from_seed};

    #[test]
    fn combinations_are_read_and_written() {
        for (text, written) in [
            ("subgroupBarrier", Ok("subgroupBarrier")),
            ("subgroupAdd+DivergentLoop", Ok("DivergentLoop + subgroupAdd")),
            (" Switch ", Ok("Switch")),
            ("subgroupAdd of f32 + if in for", Ok("subgroupAdd of f32 + if in for")),
            ("Shl of i64+BitCount of any", Ok("Shl of i64 + BitCount of any")),
            ("spirv-opt:ccp", Ok("spirv-opt:ccp")),
            ("Shr under BitOr + fragment", Ok("Shr under BitOr + fragment")),
            ("printed+Switch", Ok("Switch + printed")),
            ("vote under quad+ quad ", Ok("quad + vote under quad")),
            (
                "outline:  if {divergent loop;vote}; Shl of i64+if in for",
                Ok("if in for + outline: if {divergent loop; vote}; Shl of i64"),
            ),
            ("outline: if {", Err("outline: if {")),
            ("Shr under nothing", Err("Shr under nothing")),
            ("subgroupAdd of bool", Err("subgroupAdd of bool")),
            ("spirv-opt:nothing", Err("spirv-opt:nothing")),
            ("Switch + nothing", Err("nothing")),
            ("", Err("")),
        ] {
            let read = text.parse::<Combination>().map(|combination| combination.to_string());
            assert_eq!(read, written.map(str::to_owned).map_err(|name| UnknownFeature(name.into())), "{text}");
        }
    }

    #[test]
    fn a_case_has_what_it_is_made_of() {
        let mut with_loop = 0;
        for seed in 0..200 {
            let case = from_seed(seed, &Config::default());
            let contents = Contents::of(&case);
            let all = Combination::of_minimal(&case, true, None).expect("it has something");
            assert!(all.is_in(&contents), "seed {seed}");
            // Reading is slow, and all have much the same.
            assert!(seed >= 8 || all.to_string().parse() == Ok(all), "seed {seed}");
            let parts: Combination = "DivergentLoop".parse().expect("a construct");
            with_loop += u32::from(parts.is_in(&contents));
        }
        // Most have one, and some do not, so that a campaign can leave them out.
        assert!((80..190).contains(&with_loop), "{with_loop} of 200");
    }

    #[test]
    fn a_stage_alone_is_nothing_to_avoid() {
        let empty = include_str!("../../corpus/regressions/local_id_in_mesh_shader.json");
        let empty = Case::from_json(empty).expect("a case");
        assert_eq!(empty.entry_point.stage, Stage::Mesh);
        assert_eq!(Combination::of_minimal(&empty, true, None), None);
    }
}
