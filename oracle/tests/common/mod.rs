//! Small programs, and what is expected of them as one line of text.
//!
//! The line names the log sites `A`, `B`, … in order, each with its executions: the lanes that come by, as a hexadecimal mask, and
//! what they must log.
//!
//! | text | says |
//! |---|---|
//! | `A=07` | lanes 0 to 2 log together, and each logs just that mask: the site shows a ballot |
//! | `A=07:[1 2 3]` | they log these values, in the order of their local indices |
//! | `A=07:[1 ? 3]` | lane 1's value is not compared |
//! | `A=CC?` | no value is compared: the tier leaves the tangle open, or the value is undefined |
//! | `A=FE FC` | two executions, in this order |
//! | `A=-` | no lane comes by |

#![allow(dead_code, reason = "every test uses some of it")]

use std::fmt::Write as _;

use tangle_analysis::validate::validate;
use tangle_emit::glsl;
use tangle_oracle::judge::Verdict;
use tangle_oracle::map::LaneMap;
use tangle_oracle::predict::{LoggedEvent, LoggedValues, NotDefined, predict};
use tangle_program::case::{Case, Data, EntryPoint, FORMAT, Origin, SpirvVersion, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{
    Arg, Arm, Block, Builtin, Expr, Function, Label, Local, Loop, LoopKind, Program, SiteId, Stmt, Test, VarId,
    walk_block,
};
use tangle_program::types::Type;

/// What must be logged, as text; `Err` if the case is not well-defined.
pub fn expected(case: &Case, map: &LaneMap) -> Result<String, NotDefined> {
    let prediction = predict(case, map)?;
    let events = prediction.events_with_values();
    let of_site = |site: SiteId| {
        let seen: Vec<String> = events.iter().filter(|(event, _)| event.site == site).map(execution).collect();
        format!("{}={}", letter(site), if seen.is_empty() { "-".into() } else { seen.join(" ") })
    };
    Ok(sites(case).into_iter().map(of_site).collect::<Vec<_>>().join(" "))
}

/// The sites of a case, ascending.
fn sites(case: &Case) -> Vec<SiteId> {
    let mut sites = Vec::new();
    for function in &case.program.functions {
        walk_block(&function.body, &mut |stmt| {
            if let Stmt::Log { site, .. } = stmt {
                sites.push(*site);
            }
        });
    }
    sites.sort_unstable();
    sites
}

fn letter(site: SiteId) -> char {
    char::from(b'A' + (site - 1) as u8)
}

fn execution((event, values): &(LoggedEvent, LoggedValues)) -> String {
    let masks: Vec<String> = event.active.iter().map(|(_, mask)| format!("{mask:02X}")).collect();
    let mut text = masks.join("+");
    let is_ballot = |values: &Vec<Option<u32>>| match event.active.as_slice() {
        [(_, mask)] => *values == [Some(*mask as u32)],
        _ => false,
    };
    if values.iter().all(|(_, values)| is_ballot(values)) {
        return text;
    }
    if values.iter().all(|(_, values)| values.iter().all(Option::is_none)) {
        text.push('?');
        return text;
    }
    let word = |word: &Option<u32>| word.map_or("?".to_owned(), |word| word.to_string());
    let lane = |values: &Vec<Option<u32>>| values.iter().map(word).collect::<Vec<_>>().join("/");
    let lanes: Vec<String> = values.iter().map(|(_, values)| lane(values)).collect();
    let _ = write!(text, ":[{}]", lanes.join(" "));
    text
}

/// Checks a case at a tier, on consecutive subgroups of 8.
#[track_caller]
pub fn check(case: &Case, tier: Tier, text: &str) {
    let case = Case { tier, ..case.clone() };
    if let Err(invalid) = validate(&case) {
        panic!("{invalid}\n{}", glsl::glsl(&case));
    }
    let map = LaneMap::linear(&case, 8);
    let found = expected(&case, &map).unwrap_or_else(|error| panic!("{error}\n{}", glsl::glsl(&case)));
    assert_eq!(found, text, "at tier {}, in\n{}", tier.name(), body_of(&case));
}

/// Checks a case of one subgroup at every tier. The two weaker ones are the same there (docs/rules.md, section R).
#[track_caller]
pub fn check_tiers(case: &Case, maximal: &str, weaker: &str) {
    check(case, Tier::Maximal, maximal);
    check(case, Tier::Plain, weaker);
    check(case, Tier::SubgroupUniform, weaker);
}

/// The GLSL without what is the same in every case.
fn body_of(case: &Case) -> String {
    let text = glsl::glsl(case);
    let dull = |line: &&str| {
        let line = line.trim_start();
        !(line.starts_with('#') || line.starts_with("layout(") || line.contains("map_") || line.contains("entry_"))
    };
    text.lines().filter(dull).collect::<Vec<_>>().join("\n")
}

// ---- programs ----

/// A case of one workgroup of 8 with one subgroup, at tier maximal.
pub fn case(functions: Vec<Function>) -> Case {
    Case {
        format: FORMAT,
        about: String::new(),
        origin: Origin::default(),
        tier: Tier::Maximal,
        entry_point: EntryPoint::compute([8, 1, 1], [1, 1, 1], SpirvVersion::V1_5),
        variant: tangle_program::variant::Variant::default(),
        data: Data { push: vec![0], ..Data::default() },
        program: Program { shared: Vec::new(), functions },
    }
}

/// A function without parameters. Its uint locals are `x0`, `x1`, …, as many as it mentions.
pub fn function(name: &str, body: impl Into<Block>) -> Function {
    let mut function =
        Function { name: name.into(), params: Vec::new(), result: None, locals: Vec::new(), body: body.into() };
    let mut count = 0;
    let mut mention = |var: VarId| count = count.max(var + 1);
    walk_block(&function.body, &mut |stmt| {
        match stmt {
            Stmt::Assign { var, .. } => mention(*var),
            Stmt::Loop(l) => mention(l.counter),
            Stmt::Call { args, dest, .. } => {
                dest.iter().for_each(|var| mention(*var));
                args.iter().for_each(|arg| {
                    if let Arg::Out(var) = arg {
                        mention(*var)
                    }
                });
            }
            _ => {}
        }
        stmt.direct_exprs().for_each(|expr| {
            expr.walk(&mut |expr| {
                if let Expr::Var(var) = expr {
                    mention(*var);
                }
            });
        });
    });
    function.locals = (0..count).map(|i| Local::new(format!("x{i}"), Type::UINT)).collect();
    function
}

/// A case with nothing but `main`.
pub fn main_of(body: impl Into<Block>) -> Case {
    case(vec![function("main", body)])
}

pub fn lane() -> Expr {
    Expr::Builtin(Builtin::Lane)
}

pub fn uint(value: u32) -> Expr {
    Expr::Uint(value)
}

pub fn var(var: VarId) -> Expr {
    Expr::Var(var)
}

pub fn bin(lhs: Expr, op: BinaryOp, rhs: Expr) -> Expr {
    Expr::binary(op, lhs, rhs)
}

/// `lane < n`
pub fn below(n: u32) -> Expr {
    bin(lane(), BinaryOp::Lt, uint(n))
}

/// `(lane & 1) == 1`
pub fn odd() -> Expr {
    bin(bin(lane(), BinaryOp::BitAnd, uint(1)), BinaryOp::Eq, uint(1))
}

pub fn op(op: SubgroupOp, args: impl Into<Vec<Expr>>) -> Expr {
    Expr::subgroup(op, args)
}

/// `subgroupBallot(true).x`
pub fn ballot() -> Expr {
    Expr::Component(Box::new(op(SubgroupOp::Ballot, [Expr::Bool(true)])), 0)
}

/// Logs a ballot.
pub fn see(site: SiteId) -> Stmt {
    log(site, [ballot()])
}

pub fn log(site: SiteId, values: impl Into<Vec<Expr>>) -> Stmt {
    Stmt::Log { site, values: values.into() }
}

pub fn set(var: VarId, value: Expr) -> Stmt {
    Stmt::Assign { var, value }
}

pub fn when(cond: Expr, then: impl Into<Block>) -> Stmt {
    either(cond, then, [])
}

pub fn either(cond: Expr, then: impl Into<Block>, otherwise: impl Into<Block>) -> Stmt {
    Stmt::If { cond, then: then.into(), otherwise: otherwise.into(), control: Default::default() }
}

/// `for (uint counter = 0; counter < bound; counter++, update) { body }`
pub fn counted(counter: VarId, bound: Expr, update: impl Into<Block>, body: impl Into<Block>) -> Stmt {
    let kind = LoopKind::For { init: uint(0), step: 1, update: update.into() };
    Stmt::Loop(Box::new(Loop { kind, counter, bound, test: None, body: body.into(), control: Default::default() }))
}

/// A loop of another kind with `before` evaluated at every test.
pub fn repeat(kind: LoopKind, counter: VarId, bound: u32, before: impl Into<Block>, body: impl Into<Block>) -> Stmt {
    let before: Block = before.into();
    let test = (!before.is_empty()).then_some(Test { before, cond: Expr::Bool(true) });
    Stmt::Loop(Box::new(Loop {
        kind,
        counter,
        bound: uint(bound),
        test,
        body: body.into(),
        control: Default::default(),
    }))
}

pub fn switch(selector: Expr, arms: impl Into<Vec<Arm>>) -> Stmt {
    Stmt::Switch { selector, arms: arms.into(), control: Default::default() }
}

pub fn arm(labels: impl Into<Vec<Label>>, body: impl Into<Block>) -> Arm {
    Arm { labels: labels.into(), body: body.into() }
}

pub fn call(function: u32) -> Stmt {
    Stmt::Call { function, args: Vec::new(), dest: None }
}

/// Prints for each fault the first case that catches it; fails if none of so many does. `text` is the name of a fault and what is wrong,
/// `verdict` what is said of a device with the fault, given the seed of a case.
pub fn all_are_caught<F: Copy>(
    cases: u64,
    faults: impl IntoIterator<Item = F>,
    text: impl Fn(F) -> (String, &'static str),
    verdict: impl Fn(F, u64) -> Verdict,
) {
    let mut missed = Vec::new();
    for fault in faults {
        let (name, about) = text(fault);
        let caught = (0..cases).find(|&seed| matches!(verdict(fault, seed), Verdict::Mismatch(_) | Verdict::LaneMap));
        match caught {
            Some(seed) => eprintln!("{name:30} caught by case {:3}  {about}", seed + 1),
            None => missed.push(name),
        }
    }
    assert!(missed.is_empty(), "not caught within {cases} cases: {missed:?}");
}
