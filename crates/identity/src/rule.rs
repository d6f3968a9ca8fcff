//! Which rule of the specifications an expectation follows from, for reports: source, a short quotation, and why it applies.
//!
//! What is quoted stands in `quotation.rs` and in the operations' table. What tangle says in its own words has no quotation marks.

use tangle_oracle::judge::Kind as Wrong;
use tangle_oracle::map::MapRule;
use tangle_oracle::observed::{Severity, TangleRule};
use tangle_program::case::{Case, Tier};
use tangle_program::needs::resource_classes;
use tangle_program::ops::{BinaryOp, UnaryOp};
use tangle_program::rule::RuleNumber;
use tangle_program::subgroup::{OpInfo, SubgroupOp};
use tangle_program::text::capital;
use tangle_program::tree::{Builtin, Expr, Program, Stmt, walk_block};
use tangle_program::types::Scalar;

use crate::account::{Account, First, Logged};
use crate::quotation::*;
use crate::signature::{Kind, Signature};
use crate::trace::{AfterLoop, after_loop};

/// A rule that an expectation follows from, as a report gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its numbers in docs/rules.md; none for what a device or a compiler owes to every program.
    pub numbers: Vec<RuleNumber>,
    /// Document and section; in tangle's own words where no text is quoted.
    pub source: &'static str,
    /// What it says there, word for word; empty if it is paraphrased.
    pub quote: String,
    /// Why the rule applies to this finding, in a sentence.
    pub because: String,
}

impl Rule {
    fn quoted(quotation: Quotation, because: impl Into<String>) -> Rule {
        Rule { quote: quotation.text.into(), ..Rule::paraphrased(quotation.source, because) }
    }

    fn paraphrased(source: &'static str, because: impl Into<String>) -> Rule {
        Rule { numbers: Vec::new(), source, quote: String::new(), because: because.into() }
    }

    fn numbered<const N: usize>(self, numbers: [(char, u8); N]) -> Rule {
        let numbers = numbers.map(|(section, number)| RuleNumber::new(section, number));
        Rule { numbers: numbers.into(), ..self }
    }

    /// The source, with the numbers behind it.
    pub fn heading(&self) -> String {
        if self.numbers.is_empty() {
            return self.source.to_owned();
        }
        let numbers: Vec<String> = self.numbers.iter().map(ToString::to_string).collect();
        format!("{} (docs/rules.md, {})", self.source, numbers.join(" and "))
    }
}

/// The rules that a first wrong step breaks.
pub fn of_step(account: &Account<'_>, first: &First) -> Vec<Rule> {
    let mut rules = Vec::new();
    match first.kind {
        Wrong::Value => rules.extend(value_rules(account, first)),
        Wrong::Path => rules.push(path_rule()),
        Wrong::Extra => rules.push(Rule::paraphrased(
            "SPIR-V 1.6, Control-Flow Instructions, OpReturn",
            "These lanes have returned from the entry point: nothing that they write can follow.",
        )),
    }
    rules
}

fn path_rule() -> Rule {
    Rule::paraphrased(
        "SPIR-V 1.6, Control-Flow Instructions, OpBranchConditional and OpSwitch",
        "Each lane goes where its own condition or selector sends it. Every value that steers control flow in this program has one \
         legal result, so that each lane has one legal path.",
    )
    .numbered([('R', 3)])
}

/// What a lane's variables owe to it (rule Y9).
fn variable_rule(found: &AfterLoop) -> Rule {
    if found.is_input {
        return Rule::paraphrased(
            "SPIR-V 1.6, Memory Instructions, OpLoad",
            format!(
                "`{}` is loaded at this lane's own index: what other lanes load after this one has left the loop changes nothing in it.",
                found.variable
            ),
        )
        .numbered([('Y', 9)]);
    }
    Rule::quoted(
        OWN_VARIABLE,
        format!(
            "`{}` is such a variable: what other invocations compute after this one has left the loop changes nothing in it.",
            found.variable
        ),
    )
    .numbered([('Y', 9)])
}

/// Which resource of an array of descriptors a lane reads (rule Y11).
fn resource_rule() -> Rule {
    Rule::quoted(
        NON_UNIFORM_INDEX,
        "Each invocation reads the resource of its own index. Where the decoration is left out here, all invocations of the dispatch that \
         come to the access have the same index; what it is in those that do not come there does not matter.",
    )
    .numbered([('Y', 11)])
}

fn value_rules(account: &Account<'_>, first: &First) -> Vec<Rule> {
    if let Some(found) = after_loop(account, first) {
        return vec![variable_rule(&found)];
    }
    let word = wrong_word(account, first);
    let Some((info, scalar)) = word.and_then(|word| Some((word.operation?.info(), word.scalar))) else {
        let mut rules = computed_rules(&account.case.program, word.is_some_and(|word| word.scalar.is_float()));
        rules.extend((!resource_classes(&account.case.program).is_empty()).then(resource_rule));
        return rules;
    };
    if let Some(rule) = first.lanes.iter().find_map(|&lane| account.lanes[lane].broken_rule()) {
        return observed_rules(rule, operation_rule(info, scalar));
    }
    let mut rules = vec![operation_rule(info, scalar)];
    rules.extend(preserved_rule(&account.case.program, info.op));
    if info.tangle_dependent() {
        rules.extend(tangle_rules(account.case, is_partial(account, first)));
    }
    rules
}

/// What the operation does with NaN, infinities and zeros of both signs (rules F7 and F8), where the program gives it some.
fn preserved_rule(program: &Program, op: SubgroupOp) -> Option<Rule> {
    let is_given = |expr: &Expr| matches!(expr, Expr::Subgroup(call) if call.op == op && call.args.first().is_some_and(Expr::is_preserved));
    if !op.may_leave_open() || !contains(program, is_given) {
        return None;
    }
    let asks =
        "The module asks for SignedZeroInfNanPreserve, so that NaN, infinities and the sign of zeros are not ignored.";
    Some(match op {
        SubgroupOp::AllEqual => {
            let because =
                format!("{asks} A NaN is equal to nothing, another NaN included; zeros of both signs are equal.");
            Rule::quoted(ORDERED_AND_EQUAL, because).numbered([('F', 6), ('F', 7)])
        }
        _ => Rule::quoted(OTHER_THAN_NAN, asks).numbered([('F', 6), ('F', 8)]),
    })
}

/// The first word at a step that is wrong.
fn wrong_word<'a>(account: &'a Account<'_>, first: &First) -> Option<&'a Logged> {
    let lane = &account.lanes[*first.lanes.first()?];
    let entry = lane.entries.get(lane.wrong?.entry)?;
    let word = lane.first_difference(entry)?.checked_sub(1)?;
    account.site(first.step?)?.values.get(word)
}

/// Why a value that no subgroup operation gives has one legal result.
fn computed_rules(program: &Program, is_float: bool) -> Vec<Rule> {
    let own = Rule::quoted(
        OWN_VARIABLE,
        "The value follows from the lane's own operands and variables. What other lanes do, or have done before, changes nothing in \
         them. Where a result of a subgroup operation went into it, that result is determined, too.",
    )
    .numbered([('Y', 9)]);
    if is_float {
        let exact = Rule::quoted(
            CORRECTLY_ROUNDED,
            "Every partial result is exactly representable, so that all rounding modes and all arrangements of the terms give the same. \
             Comparisons, minimum, maximum and clamping are exact.",
        );
        return vec![own, exact.numbered([('F', 1), ('F', 2)])];
    }
    let mut rules = given_rules(program);
    rules.push(own);
    if contains(program, |expr| matches!(expr, Expr::Intrinsic(op, _) if op.rounded().is_some())) {
        let rounded = Rule::quoted(
            ROUNDING_MODES,
            "Conversions, sums, differences and products of which this program takes the bits at once are correctly rounded, and neither \
             rearranged nor contracted: NoContraction. Their operands are normal numbers or integers that are not 0, and so are the results.",
        );
        rules.push(rounded.numbered([('F', 10), ('F', 11)]));
    }
    if contains(program, is_arithmetic) {
        let wraps = Rule::quoted(
            WRAPS,
            "So integers wrap around, in differences and products, too; comparisons, selections and bitwise operations are exact.",
        );
        rules.push(wraps.numbered([('N', 1)]));
    }
    if contains(program, |expr| matches!(expr, Expr::Intrinsic(op, _) if op.is_signed_remainder())) {
        let remainder = Rule::quoted(
            REMAINDER,
            "OpSMod gives that of the sign of Operand 2. The device has maintenance8, so that operands may be negative.",
        );
        rules.push(remainder.numbered([('N', 13)]));
    }
    rules
}

/// What the values that the program is given, or finds in memory, owe to it.
fn given_rules(program: &Program) -> Vec<Rule> {
    let mut rules = Vec::new();
    if contains(program, |expr| matches!(expr, Expr::Builtin(Builtin::LocalX | Builtin::LocalY | Builtin::LocalZ))) {
        rules.push(Rule::quoted(LOCAL_ID, "Nothing writes to a built-in input.").numbered([('M', 12)]));
    }
    if contains(program, |expr| matches!(expr, Expr::Load(_))) {
        let because = "A load gives what was stored last: by the invocation itself, or by another one before a barrier that both execute.";
        rules.push(Rule::quoted(VISIBLE, because).numbered([('Y', 2), ('Y', 3), ('Y', 10)]));
    }
    let mut has_atomic = false;
    for function in &program.functions {
        walk_block(&function.body, &mut |stmt| has_atomic |= matches!(stmt, Stmt::Atomic(_)));
    }
    if has_atomic {
        rules.push(
            Rule::quoted(ATOMIC_STEPS, "No atomic operation of another invocation is lost.").numbered([('A', 3)]),
        );
    }
    rules
}

/// It adds, subtracts, multiplies or negates.
fn is_arithmetic(expr: &Expr) -> bool {
    matches!(expr, Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) | Expr::Unary(UnaryOp::Neg, _))
}

/// True if the program has such an expression, other than to count the rounds of a loop.
fn contains(program: &Program, is_it: impl Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    for function in &program.functions {
        walk_block(&function.body, &mut |stmt| {
            found |= stmt.direct_exprs().any(|expr| expr.any(&mut |expr| is_it(expr)));
        });
    }
    found
}

fn is_partial(account: &Account<'_>, first: &First) -> bool {
    let Some(step) = first.step.and_then(|step| account.steps.get(step)) else { return false };
    let layout = &account.map.groups[step.group.index()];
    step.active.iter().any(|&(subgroup, lanes)| lanes != layout.subgroups[subgroup].live)
}

fn operation_rule(info: &OpInfo, scalar: Scalar) -> Rule {
    let because =
        format!("{}() is executed by the invocations of its tangle, the expected lanes, and by no others.", info.name);
    Rule { numbers: vec![info.rule(scalar)], quote: info.quotation(scalar), ..Rule::paraphrased(info.source, because) }
}

/// Why just these lanes execute an operation together. `partial`: some lanes of a subgroup are elsewhere.
fn tangle_rules(case: &Case, partial: bool) -> Vec<Rule> {
    let same_path = Rule::quoted(
        SAME_PATH,
        "All lanes that come here at all took one path to it since control flow was last uniform, and no others ever execute \
         this instruction.",
    )
    .numbered([('E', 8)]);
    let reconverges = |because: &str| Rule::quoted(RECONVERGES, because).numbered([('R', 6), ('E', 7)]);
    match (case.tier, partial) {
        (Tier::Maximal, _) => vec![
            Rule::quoted(
                ALL_MERGE,
                "(Reconvergence.) L is the merge block or continue target of M, or follows the function call: all lanes come \
                 together again that did not leave by another way.",
            )
            .numbered([('X', 3)]),
            Rule::quoted(NOT_MERGED, "(Non-reconvergence.) No other lanes can be here.").numbered([('X', 8)]),
        ],
        (_, true) => vec![same_path],
        (Tier::SubgroupUniform, false) => vec![
            Rule::quoted(
                SUBGROUP_UNIFORM,
                "The entry point has this execution mode.",
            )
            .numbered([('T', 2)]),
            reconverges(
                "Control flow is uniform for the subgroup from the entry point on, or again, here: all of its lanes are together.",
            ),
        ],
        (Tier::Plain, false) => {
            vec![reconverges(
                "Control flow is uniform for the whole workgroup from the entry point on, or again, here: all lanes of a subgroup are together.",
            )]
        }
    }
}

/// Why no lanes can have been together as the results say, where the tier leaves open who is (docs/rules.md, section O).
fn observed_rules(rule: TangleRule, operation: Rule) -> Vec<Rule> {
    if rule == TangleRule::AtomicOrder {
        let because = format!(
            "{}. No order explains what they logged; the values shown as expected are those of one legal order.",
            capital(rule.text())
        );
        return vec![Rule { numbers: vec![rule.number()], ..Rule::quoted(ATOMIC_STEPS, because) }];
    }
    let because = match rule.severity() {
        Severity::Hard => "No division of the lanes explains what they logged.",
        Severity::Strong => "That is the letter of the specification; no conformance test covers it.",
        Severity::Quality => "That is a question of quality.",
    };
    let because = format!(
        "{}. {because} Which lanes are together is left open here without maximal reconvergence: the values shown as expected are \
         those of one legal choice.",
        capital(rule.text())
    );
    let broken = match rule {
        TangleRule::OwnBit | TangleRule::Visitors | TangleRule::Partition => Rule::quoted(TANGLE, because),
        TangleRule::Order => Rule::quoted(TANGLED_INSTRUCTION, because),
        TangleRule::PathClass | TangleRule::StraightCode => Rule::quoted(SAME_PATH, because),
        TangleRule::Reconvergence => Rule::quoted(NOT_MERGED, because),
        TangleRule::Operation | TangleRule::Elect | TangleRule::AtomicOrder => Rule { because, ..operation },
    };
    vec![Rule { numbers: vec![rule.number()], ..broken }]
}

/// The rule of the lane map, with its sentence.
pub fn of_map(rule: MapRule) -> Rule {
    let because = format!("{}.", rule.text());
    let stands = match rule {
        MapRule::Written | MapRule::EntryBallot => Rule::quoted(ENTRY, because),
        MapRule::Token => Rule::quoted(SCOPE_RESTRICTED, because),
        MapRule::LaneIds => Rule::quoted(LANE_BELOW_SIZE, because),
        MapRule::Size => Rule::quoted(ONE_SIZE, because),
        MapRule::FullSubgroups => Rule::quoted(FULL_SUBGROUPS, because),
        MapRule::DenseLanes => Rule::quoted(DENSE_LANES, because),
        MapRule::SubgroupIdRange => Rule::quoted(SUBGROUP_ID, because),
        MapRule::SubgroupIds => Rule::quoted(SUBGROUP_INDEX, because),
        MapRule::NumSubgroups => Rule::quoted(NUM_SUBGROUPS, because),
        MapRule::Coverage => Rule::quoted(COVERAGE, because),
        MapRule::Quads => Rule::quoted(QUADS, because),
        MapRule::QuadsInAnyOrder => Rule::quoted(QUADS_IN_ANY_ORDER, because),
        MapRule::ActiveHelpers => Rule::quoted(HELPERS_STAY, because),
        MapRule::NoHelpers => Rule::quoted(HELPERS_ARE_OF_FRAGMENTS, because),
        MapRule::Payload => Rule::quoted(PAYLOAD, because),
        // A sentence for each stage.
        MapRule::Executions => Rule::paraphrased("Vulkan, Shaders, Shader Memory Access Ordering", because),
    };
    Rule { numbers: vec![rule.number()], ..stands }
}

/// What a device owes to every valid program.
pub fn of_failure(signature: &Signature) -> Vec<Rule> {
    let because = match signature.kind {
        Kind::Crash => "The driver ended the process.",
        Kind::Hang => {
            "All loops end after a few thousand steps, those that only sum something up after 70,000; the program ends on every path."
        }
        Kind::DeviceLost | Kind::VulkanError | Kind::OpenGlError | Kind::WebGpuError => {
            "Everything that the module and the commands need was asked for and granted."
        }
        Kind::OutOfMemory => "The buffers of a case have a few megabytes, and nothing else ran beside it.",
        Kind::Implausible => "What is read back has the size that the command asked for.",
        Kind::Toolchain if signature.is_of_optimiser() => {
            let text = "The front end's module passes spirv-val for its Vulkan environment. spirv-opt has to make a valid module of it that means \
                        the same.";
            return vec![Rule::paraphrased("SPIRV-Tools, spirv-opt", text)];
        }
        Kind::Toolchain if signature.loses_promise() => {
            let text = "An entry point with the attribute has the execution mode. Without it nothing orders who is together where the shader relies on it.";
            return vec![
                Rule::paraphrased("GL_EXT_maximal_reconvergence and GL_EXT_subgroup_uniform_control_flow", text)
                    .numbered([('T', 2), ('T', 3)]),
            ];
        }
        Kind::Toolchain => {
            let text = "The shader is valid GLSL 4.50 with the extensions that it names; the reference front end refused it, or made \
                        a module of it that does not validate.";
            return vec![Rule::paraphrased("GLSL 4.50", text)];
        }
        Kind::Value | Kind::Path | Kind::LaneMap | Kind::Invalid => return Vec::new(),
    };
    let valid = "The module passes spirv-val for its Vulkan environment and has no undefined behaviour on any path.";
    vec![Rule::paraphrased("Vulkan, Fundamentals, Valid Usage", format!("{valid} {because}")).numbered([('D', 1)])]
}

/// How well a mismatch stands, where that is not by a sentence alone (docs/rules.md, severity). `passes_at_maximal`: the device does the same
/// program right where the tier leaves no doubt.
pub fn of_severity(signature: &Signature, passes_at_maximal: bool) -> Option<Rule> {
    let because = match signature.severity() {
        _ if signature.debug_settings => {
            "Severity quality: the driver runs with settings that it has for debugging only."
        }
        Severity::Hard => return None,
        Severity::Strong => {
            "Severity strong: it follows from sentences of the specification, but no conformance test covers it."
        }
        Severity::Quality => "Severity quality: no specification promises it; every careful implementation does it.",
    };
    let at_maximal = if passes_at_maximal {
        " With SPV_KHR_maximal_reconvergence, which says who is together everywhere, the device does the same program right."
    } else {
        ""
    };
    Some(Rule::paraphrased("tangle, docs/rules.md", format!("{because}{at_maximal}")))
}

#[cfg(test)]
mod tests {
    use tangle_program::subgroup::{Fold, SubgroupOp, TABLE};

    use super::*;
    use crate::failure::{Doing, ToolFault, ToolStep};
    use crate::signature::Detail;

    #[test]
    fn the_stage_that_fails_is_named() {
        for (kind, detail, source) in [
            (
                Kind::Toolchain,
                Detail::Toolchain(ToolFault::new(ToolStep::Optimise, "died")),
                Some("SPIRV-Tools, spirv-opt"),
            ),
            (Kind::Toolchain, Detail::Toolchain(ToolFault::new(ToolStep::Compile, "spirv-opt")), Some("GLSL 4.50")),
            (Kind::Hang, Detail::Hang(Doing::Pipeline), Some("Vulkan, Fundamentals, Valid Usage")),
            (Kind::Value, Detail::Text("elect".into()), None),
        ] {
            let signature = Signature::new(kind, detail);
            let rules = of_failure(&signature);
            assert_eq!(rules.first().map(|rule| rule.source), source, "{signature}");
        }
    }

    #[test]
    fn what_a_program_is_given_or_finds_in_memory_has_its_rule() {
        for (text, numbers) in [
            (include_str!("../../../known/nvidia-local-id-in-mesh-shader/task.json"), "M12, Y9"),
            (
                include_str!("../../../known/nvidia-shared-int64-atomic-of-task-shader/mesh-or.json"),
                "Y2, Y3, Y10, A3, Y9",
            ),
            (include_str!("../../../corpus/regressions/not_in_both_arms.json"), "Y9"),
        ] {
            let case = Case::from_json(text).expect("a case");
            let rules = computed_rules(&case.program, false);
            let found: Vec<String> = rules.iter().flat_map(|rule| &rule.numbers).map(ToString::to_string).collect();
            assert_eq!(found.join(", "), numbers, "{:?}", case.about);
        }
    }

    #[test]
    fn every_operation_with_a_result_has_a_rule() {
        for info in TABLE.iter().filter(|info| info.gives != tangle_program::subgroup::Gives::Nothing) {
            let Rule { quote, because, .. } = operation_rule(info, Scalar::Uint);
            assert!(because.contains(info.name) && !quote.is_empty(), "{}", info.name);
        }
    }

    #[test]
    fn scans_are_quoted_by_their_type() {
        for (op, scalar, text) in [
            (
                SubgroupOp::Inclusive(Fold::Min),
                Scalar::Int,
                "returns an inclusive scan operation that is the minimum <value> of all active invocation-provided <value>s",
            ),
            (
                SubgroupOp::Clustered(Fold::Max),
                Scalar::Uint,
                "returns a clustered operation that is the maximum of all active invocation-provided <value>s within a cluster",
            ),
            (
                SubgroupOp::Reduce(Fold::Xor),
                Scalar::Bool,
                "returns the logical exclusive OR of all active invocation provided <value>s",
            ),
        ] {
            assert_eq!(op.info().quotation(scalar), text);
        }
    }
}
