//! Every rule of the validator, with a case that breaks it: where and why it is refused.

#[path = "../../program/tests/common/mod.rs"]
mod common;

use common::tour::{self, cast};
use common::*;
use tangle_analysis::validate::{Invalid, MAX_EXPRS, MAX_FUNCTIONS, MAX_STATEMENTS, MAX_VARS, validate};
use tangle_program::case::{Case, Data, DerivativeGroup, SpecConstant, SpirvVersion, SubgroupSize, Tier};
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::Resource;
use tangle_program::tree::{
    Arm, Block, Direction, Expr, Function, Label, Local, Loop, LoopKind, MAX_BLOCK_DEPTH, MAX_EXPR_DEPTH, Param,
    Program, Stmt,
};
use tangle_program::types::{Scalar, Shape, Type};

/// Two functions to call and a main with a variable of each kind. Rows name variables by number:
/// 0 flag (bool), 1 num (int), 2 word (uint), 3 mask (uvec4), 4 pair (ivec2), 5 i, 6 j, 7 maybe (uint).
const BASE: &str = r#"{
    "format": 1,
    "tier": "maximal",
    "launch": {"workgroup": [8, 1, 1], "groups": [1, 1, 1], "spirv": "1.3"},
    "data": {"inputs": [[0, 1, 2, 3, 4, 5, 6, 7]], "uniforms": [3], "push": [5]},
    "program": {"functions": [
        {
            "name": "helper",
            "params": [
                {"name": "x", "direction": "in", "type": "uint"},
                {"name": "y", "direction": "out", "type": "uint"},
                {"name": "z", "direction": "inout", "type": "ivec2"}
            ],
            "result": "uint",
            "body": [{"return": {"var": 0}}]
        },
        {"name": "quiet", "body": []},
        {
            "name": "main",
            "locals": [
                {"name": "flag", "type": "bool"}, {"name": "num", "type": "int"}, {"name": "word", "type": "uint"},
                {"name": "mask", "type": "uvec4"}, {"name": "pair", "type": "ivec2"}, {"name": "i", "type": "uint"},
                {"name": "j", "type": "uint"}, {"name": "maybe", "type": "uint"}
            ],
            "body": []
        }
    ]}
}"#;

fn base() -> Case {
    Case::from_json(BASE).unwrap()
}

fn with_main(body: &str) -> Case {
    let mut case = base();
    case.program.functions[2].body = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {body}"));
    case
}

fn refused(case: &Case) -> (String, String) {
    let Invalid { path, reason } = validate(case).expect_err("the case is valid");
    (path, reason)
}

/// Rows of: statements of main; where in them the error is; what it says.
fn table(rows: &[(&str, &str, &str)]) {
    for (body, path, reason) in rows {
        let (got_path, got_reason) = refused(&with_main(body));
        let place = got_path.strip_prefix("program.functions[2].body");
        assert_eq!((place, got_reason.as_str()), (Some(*path), *reason), "{body}");
    }
}

/// Rows of: an expression assigned to a variable of that number; where in it the error is; what it says.
fn expressions(rows: &[(u32, &str, &str, &str)]) {
    for (var, value, path, reason) in rows {
        let case = with_main(&format!(r#"[{{"assign": {{"var": {var}, "value": {value}}}}}]"#));
        let (got_path, got_reason) = refused(&case);
        let place = got_path.strip_prefix("program.functions[2].body[0].assign.value");
        assert_eq!((place, got_reason.as_str()), (Some(*path), *reason), "{value}");
    }
}

fn valid(case: &Case) {
    assert_eq!(validate(case), Ok(()));
}

#[test]
fn the_base_is_valid() {
    valid(&base());
}

#[test]
fn statements() {
    table(&[
        (r#"[{"assign": {"var": 99, "value": {"uint": 1}}}]"#, "[0].assign.var", "there is no variable 99"),
        (r#"[{"assign": {"var": 1, "value": {"uint": 1}}}]"#, "[0].assign.value", "is u32, must be i32"),
        (r#"["break"]"#, "[0]", "break outside of every loop and switch"),
        (r#"["continue"]"#, "[0]", "continue outside of every loop"),
        (
            r#"[{"switch": {"selector": {"uint": 1}, "arms": [{"labels": ["default"], "body": ["continue"]}]}}]"#,
            "[0].switch.arms[0].body[0]",
            "continue outside of every loop",
        ),
        (
            r#"[{"if": {"cond": {"bool": true}, "then": [{"return": null}, {"return": null}]}}]"#,
            "[0].selection.then[1]",
            "nothing comes here: the statement before jumps away",
        ),
        (r#"[{"if": {"cond": {"uint": 1}, "then": []}}]"#, "[0].selection.condition", "is u32, must be bool"),
        (
            r#"[{"if": {"cond": {"bool": true}, "then": [], "else": [{"if": {"cond": {"int": 1}, "then": []}}]}}]"#,
            "[0].selection.else[0].selection.condition",
            "is i32, must be bool",
        ),
        (r#"[{"return": {"uint": 1}}]"#, "[0].return", "returns a value, but the function has no result"),
        (
            r#"[{"barrier": "subgroupElect"}]"#,
            "[0].subgroup_barrier",
            "subgroupElect has a result: it is an expression",
        ),
    ]);
}

#[test]
fn logs() {
    let wide = [r#"{"var": 3}"#; 9].join(",");
    table(&[
        (r#"[{"log": {"site": 0, "values": []}}]"#, "[0].log.site", "0 marks the unwritten part of a log"),
        (
            r#"[{"log": {"site": 4, "values": []}}, {"log": {"site": 4, "values": []}}]"#,
            "[1].log.site",
            "there are two sites 4",
        ),
        (
            r#"[{"log": {"site": 4, "values": [{"var": 3}, {"unary": ["~", {"var": 3}]}]}}]"#,
            "[0].log.values[1]",
            "a vector must be a variable to be logged",
        ),
        (
            &format!(r#"[{{"log": {{"site": 4, "values": [{wide}]}}}}]"#),
            "[0].log.values",
            "36 words in one entry, more than 32",
        ),
    ]);
}

#[test]
fn calls() {
    let call = |function: u32, args: &str, dest: &str| {
        format!(r#"[{{"call": {{"function": {function}, "args": [{args}]{dest}}}}}]"#)
    };
    let (good, dest) = (r#"{"in": {"var": 2}}, {"out": 2}, {"out": 4}"#, r#", "dest": 7"#);
    valid(&with_main(&call(0, good, dest)));
    valid(&with_main(&call(0, good, "")));
    for (body, path, reason) in [
        (call(2, "", ""), "function", "2 is not the index of a function before this one"),
        (call(9, "", ""), "function", "9 is not the index of a function before this one"),
        (call(0, r#"{"in": {"uint": 1}}"#, ""), "args", "'helper' takes 3, not 1"),
        (call(0, r#"{"in": {"int": 1}}, {"out": 2}, {"out": 4}"#, ""), "args[0].in", "is i32, must be u32"),
        (call(0, r#"{"out": 2}, {"out": 7}, {"out": 4}"#, ""), "args[0]", "'x' is an in parameter"),
        (
            call(0, r#"{"in": {"uint": 1}}, {"in": {"uint": 1}}, {"out": 4}"#, ""),
            "args[1]",
            "'y' is an out parameter: it needs a variable",
        ),
        (call(0, r#"{"in": {"uint": 1}}, {"out": 3}, {"out": 4}"#, ""), "args[1].out", "'mask' is u32x4, not u32"),
        (call(0, r#"{"in": {"uint": 1}}, {"out": 50}, {"out": 4}"#, ""), "args[1].out", "there is no variable 50"),
        (call(0, good, r#", "dest": 2"#), "dest", "'word' is written twice by one call, in no certain order"),
        (call(0, good, r#", "dest": 1"#), "dest", "'num' is i32, not u32"),
        (call(1, "", r#", "dest": 2"#), "dest", "'quiet' has no result"),
    ] {
        table(&[(&body, &format!("[0].function_call.{path}"), reason)]);
    }
    // A function cannot call itself or a later one either.
    let mut case = base();
    case.program.functions[1].body = serde_json::from_str(&call(1, "", "")).unwrap();
    assert_eq!(refused(&case).0, "program.functions[1].body[0].function_call.function");
}

#[test]
fn results() {
    let mut case = base();
    case.program.functions[0].body.clear();
    let path = "program.functions[0].body".to_owned();
    assert_eq!(refused(&case), (path, "a function with a result ends with a return".into()));
    case.program.functions[0].body = vec![Stmt::Return(None)];
    let path = "program.functions[0].body[0].return".to_owned();
    assert_eq!(refused(&case), (path.clone(), "returns nothing, but the result is u32".into()));
    case.program.functions[0].body = vec![Stmt::Return(Some(Expr::Int(1)))];
    assert_eq!(refused(&case), (path, "is i32, must be u32".into()));
}

#[test]
fn switches() {
    let switch =
        |selector: &str, arms: &str| format!(r#"[{{"switch": {{"selector": {selector}, "arms": [{arms}]}}}}]"#);
    let arm = |labels: &str| format!(r#"{{"labels": [{labels}], "body": []}}"#);
    let (word, num) = (r#"{"var": 2}"#, r#"{"var": 1}"#);
    valid(&with_main(&switch(num, &arm(r#"{"case": -2147483648}, {"case": 2147483647}, "default""#))));
    valid(&with_main(&switch(word, &arm(r#"{"case": 4294967295}"#))));
    for (body, path, reason) in [
        (switch(r#"{"var": 0}"#, &arm(r#""default""#)), "selector", "a selector is i32 or u32, not bool"),
        (switch(r#"{"var": 3}"#, &arm(r#""default""#)), "selector", "a selector is i32 or u32, not u32x4"),
        (switch(word, ""), "arms", "a switch has at least one arm"),
        (switch(word, &arm("")), "arms[0].labels", "an arm has at least one label"),
        (switch(word, &arm(r#"{"case": -1}"#)), "arms[0].labels[0]", "-1 is no u32"),
        (switch(word, &arm(r#"{"case": 4294967296}"#)), "arms[0].labels[0]", "4294967296 is no u32"),
        (switch(num, &arm(r#"{"case": 2147483648}"#)), "arms[0].labels[0]", "2147483648 is no i32"),
        (
            switch(word, &[arm(r#"{"case": 3}"#), arm(r#""default", {"case": 3}"#)].join(", ")),
            "arms[1].labels[1]",
            "the label stands twice in one switch",
        ),
        (
            switch(word, &[arm(r#""default""#), arm(r#""default""#)].join(", ")),
            "arms[1].labels[0]",
            "the label stands twice in one switch",
        ),
    ] {
        table(&[(&body, &format!("[0].switch.{path}"), reason)]);
    }
}

#[test]
fn loops() {
    const FOR: &str = r#"{"for": {"init": {"uint": 0}, "step": 1}}"#;
    let repeat = |kind: &str, counter: u32, bound: &str, more: &str| {
        format!(r#"[{{"loop": {{"kind": {kind}, "counter": {counter}, "bound": {bound}, "body": []{more}}}}}]"#)
    };
    let four = r#"{"uint": 4}"#;
    valid(&with_main(&repeat(FOR, 5, r#"{"binary": ["&", {"var": 2}, {"uint": 127}]}"#, "")));
    // Data belong to the case.
    valid(&with_main(&repeat(r#""while""#, 5, r#"{"uniform": 0}"#, "")));
    valid(&with_main(&repeat(r#""do_while""#, 5, r#"{"input": 0}"#, "")));
    for (body, path, reason) in [
        (repeat(FOR, 1, four, ""), "counter", "a loop counter is a u32 local"),
        (repeat(FOR, 99, four, ""), "counter", "a loop counter is a u32 local"),
        (repeat(FOR, 5, r#"{"int": 4}"#, ""), "bound", "is i32, must be u32"),
        (repeat(FOR, 5, r#"{"var": 2}"#, ""), "bound", "can be 4294967295, more than 128"),
        (repeat(FOR, 5, r#"{"uint": 129}"#, ""), "bound", "can be 129, more than 128"),
        // The counter cannot bound itself.
        (repeat(FOR, 5, r#"{"var": 5}"#, ""), "bound", "can be 4294967295, more than 128"),
        (
            repeat(r#"{"for": {"init": {"bool": true}, "step": 1}}"#, 5, four, ""),
            "kind.for.init",
            "is bool, must be u32",
        ),
        (
            repeat(r#"{"for": {"init": {"uint": 0}, "step": 0}}"#, 5, four, ""),
            "kind.for.step",
            "a step of 0: must be 1 to 128",
        ),
        // The counter would wrap around and never reach the bound.
        (
            repeat(r#"{"for": {"init": {"uint": 0}, "step": 4294967295}}"#, 5, four, ""),
            "kind.for.step",
            "a step of 4294967295: must be 1 to 128",
        ),
        (
            repeat(r#"{"for": {"init": {"uint": 0}, "step": 1, "update": ["break"]}}"#, 5, four, ""),
            "kind.for.update[0]",
            "only assign, log and call can stand in the head of a loop",
        ),
        (
            repeat(r#""while""#, 5, four, r#", "test": {"before": [{"return": null}], "cond": {"bool": true}}"#),
            "test.before[0]",
            "only assign, log and call can stand in the head of a loop",
        ),
        (
            repeat(r#""do_while""#, 5, four, r#", "test": {"cond": {"uint": 1}}"#),
            "test.condition",
            "is u32, must be bool",
        ),
        (
            repeat(r#""forever""#, 5, four, r#", "test": {"cond": {"bool": true}}"#),
            "test",
            "a forever loop has no test",
        ),
    ] {
        table(&[(&body, &format!("[0].loop.{path}"), reason)]);
    }
}

#[test]
fn counters_belong_to_their_loop() {
    let around = |body: &str, after: &str| {
        format!(r#"[{{"loop": {{"kind": "while", "counter": 5, "bound": {{"uint": 2}}, "body": [{body}]}}}}{after}]"#)
    };
    let inner = r#"{"loop": {"kind": "forever", "counter": 5, "bound": {"uint": 2}, "body": []}}"#;
    let assign = r#"{"assign": {"var": 5, "value": {"uint": 1}}}"#;
    let call = r#"{"call": {"function": 0, "args": [{"in": {"uint": 1}}, {"out": 5}, {"out": 4}]}}"#;
    let written = "'i' counts a loop, which alone may write it";
    table(&[
        (&around(inner, ""), "[0].loop.body[0].loop.counter", "'i' counts another loop, too"),
        (&around("", &format!(", {inner}")), "[1].loop.counter", "'i' counts another loop, too"),
        (&around(assign, ""), "[0].loop.body[0].assign.var", written),
        (&around("", &format!(", {assign}")), "[1].assign.var", written),
        (&format!("[{assign}, {}", &around("", "")[1..]), "[0].assign.var", written),
        (&around(call, ""), "[0].loop.body[0].function_call.args[1].out", written),
    ]);
    // A parameter is no counter.
    let mut case = base();
    let body = format!("[{}, {}]", &around("", "")[1..].trim_end_matches(']'), r#"{"return": {"uint": 1}}"#);
    case.program.functions[0].body = serde_json::from_str(&body.replace(r#""counter": 5"#, r#""counter": 0"#)).unwrap();
    assert_eq!(refused(&case).1, "a loop counter is a u32 local");
}

#[test]
fn types() {
    expressions(&[
        (2, r#"{"var": 8}"#, ".var", "there is no variable 8"),
        (0, r#"{"unary": ["-", {"bool": true}]}"#, ".unary", "Negate does not take (bool)"),
        (1, r#"{"unary": ["!", {"int": 1}]}"#, ".unary", "LogicalNot does not take (i32)"),
        (2, r#"{"binary": ["+", {"uint": 1}, {"int": 1}]}"#, ".binary", "Add does not take (u32, i32)"),
        (0, r#"{"binary": ["&", {"bool": true}, {"bool": true}]}"#, ".binary", "BitwiseAnd does not take (bool, bool)"),
        (0, r#"{"binary": ["<", {"bool": true}, {"bool": true}]}"#, ".binary", "LessThan does not take (bool, bool)"),
        (2, r#"{"binary": ["==", {"var": 3}, {"var": 3}]}"#, "", "is boolx4, must be u32"),
        (2, r#"{"ext_inst": ["Any", [{"bool": true}]]}"#, ".ext_inst", "Any does not take (bool)"),
        (2, r#"{"ext_inst": ["Pack32", [{"var": 3}]]}"#, ".ext_inst", "Pack32 does not take (u32x4)"),
        (
            2,
            r#"{"ext_inst": ["IAddCarry", [{"i32": 1}, {"i32": 1}]]}"#,
            ".ext_inst",
            "IAddCarry does not take (i32, i32)",
        ),
        (
            2,
            r#"{"ext_inst": ["Mix", [{"u32": 1}, {"u32": 1}, {"u32": 1}]]}"#,
            ".ext_inst",
            "Mix does not take (u32, u32, u32)",
        ),
        (0, r#"{"binary": ["&&", {"bool": true}, {"uint": 1}]}"#, ".binary", "LogicalAnd does not take (bool, u32)"),
        (1, r#"{"binary": ["<<", {"int": 1}, {"int": 1}]}"#, ".binary", "ShiftLeft does not take (i32, i32)"),
        // One amount for each component.
        (4, r#"{"binary": ["<<", {"var": 4}, {"uint": 1}]}"#, ".binary", "ShiftLeft does not take (i32x2, u32)"),
        (
            2,
            r#"{"binary": ["+", {"uint": 1}, {"unary": ["-", {"var": 0}]}]}"#,
            ".binary[2].unary",
            "Negate does not take (bool)",
        ),
        (
            2,
            r#"{"select": [{"uint": 1}, {"uint": 1}, {"uint": 1}]}"#,
            ".select",
            "Select does not take (u32, u32, u32)",
        ),
        (
            2,
            r#"{"select": [{"bool": true}, {"uint": 1}, {"int": 1}]}"#,
            ".select",
            "Select does not take (bool, u32, i32)",
        ),
        (2, r#"{"cast": ["uint", {"var": 9}]}"#, ".convert[1].var", "there is no variable 9"),
        (2, r#"{"intrinsic": ["min", [{"uint": 1}]]}"#, ".ext_inst[1]", "Min takes 2, not 1"),
        (2, r#"{"intrinsic": ["abs", [{"uint": 1}]]}"#, ".ext_inst", "Abs does not take (u32)"),
        (0, r#"{"intrinsic": ["bitCount", [{"bool": true}]]}"#, ".ext_inst", "BitCount does not take (bool)"),
        (
            2,
            r#"{"intrinsic": ["bitfieldExtract", [{"uint": 1}, {"uint": 1}, {"int": 1}]]}"#,
            ".ext_inst",
            "BitFieldExtract does not take (u32, u32, i32)",
        ),
        (2, r#"{"intrinsic": ["max", [{"uint": 1}, {"var": 9}]]}"#, ".ext_inst[1][1].var", "there is no variable 9"),
        (3, r#"{"vector": ["uvec4", [{"uint": 1}]]}"#, ".composite_construct", "u32x4 from 1 components"),
        (2, r#"{"vector": ["uint", [{"uint": 1}]]}"#, ".composite_construct", "u32 from 1 components"),
        (
            4,
            r#"{"vector": ["ivec2", [{"int": 1}, {"uint": 1}]]}"#,
            ".composite_construct[1][1]",
            "u32 as a component of i32x2",
        ),
        (1, r#"{"component": [{"var": 4}, 2]}"#, ".composite_extract", "i32x2 has no component 2"),
        (1, r#"{"component": [{"var": 1}, 0]}"#, ".composite_extract", "i32 has no component 0"),
        (
            2,
            r#"{"subgroup": {"op": "subgroupElect", "args": [{"uint": 1}]}}"#,
            ".group_non_uniform.args",
            "subgroupElect takes 0, not 1",
        ),
        (
            2,
            r#"{"subgroup": {"op": "subgroupBarrier"}}"#,
            ".group_non_uniform.op",
            "subgroupBarrier has no result: it is a statement",
        ),
        (
            0,
            r#"{"subgroup": {"op": "subgroupAdd", "args": [{"var": 0}]}}"#,
            ".group_non_uniform.args[0]",
            "subgroupAdd takes a vector or scalar of i32, u32, i8, u8, i16, u16, i64, u64, f16, f32, f64 here, not bool",
        ),
        (
            0,
            r#"{"subgroup": {"op": "subgroupAll", "args": [{"uint": 1}]}}"#,
            ".group_non_uniform.args[0]",
            "subgroupAll takes a bool here, not u32",
        ),
        (
            2,
            r#"{"subgroup": {"op": "subgroupBallotBitCount", "args": [{"uint": 1}]}}"#,
            ".group_non_uniform.args[0]",
            "subgroupBallotBitCount takes a u32x4 here, not u32",
        ),
        (
            2,
            r#"{"subgroup": {"op": "subgroupShuffle", "args": [{"uint": 1}, {"int": 1}]}}"#,
            ".group_non_uniform.args[1]",
            "subgroupShuffle takes a u32 here, not i32",
        ),
        (
            2,
            r#"{"subgroup": {"op": "subgroupQuadBroadcast", "args": [{"uint": 1}, {"uint": 4}]}}"#,
            ".group_non_uniform.args[1]",
            "subgroupQuadBroadcast takes a literal 0u to 3u or a specialisation constant here, not u32",
        ),
        (
            2,
            r#"{"subgroup": {"op": "subgroupClusteredAdd", "args": [{"uint": 1}]}}"#,
            ".group_non_uniform.cluster",
            "subgroupClusteredAdd needs a cluster size",
        ),
        (
            2,
            r#"{"subgroup": {"op": "subgroupAdd", "args": [{"uint": 1}], "cluster": 4}}"#,
            ".group_non_uniform.cluster",
            "subgroupAdd has no cluster size",
        ),
        (
            2,
            r#"{"subgroup": {"op": "subgroupClusteredAdd", "args": [{"uint": 1}], "cluster": 3}}"#,
            ".group_non_uniform.cluster",
            "a cluster size of 3: must be a power of two up to 128",
        ),
        (
            2,
            r#"{"subgroup": {"op": "subgroupClusteredAdd", "args": [{"uint": 1}], "cluster": 256}}"#,
            ".group_non_uniform.cluster",
            "a cluster size of 256: must be a power of two up to 128",
        ),
    ]);
}

#[test]
fn data_exist() {
    expressions(&[
        (2, r#"{"input": 1}"#, ".input", "there are only 1"),
        (2, r#"{"binary": ["+", {"uint": 1}, {"uniform": 1}]}"#, ".binary[2].uniform", "there are only 1"),
        (2, r#"{"push": 4294967295}"#, ".push_constant", "there are only 1"),
    ]);
}

/// docs/rules.md, section N
#[test]
fn guarded_operands() {
    let num = r#"{"var": 1}"#;
    for good in [
        r#"{"binary": ["/", {"var": 2}, {"binary": ["|", {"var": 2}, {"uint": 1}]}]}"#,
        r#"{"binary": ["/", {"var": 2}, {"binary": ["+", {"binary": ["&", {"var": 2}, {"uint": 7}]}, {"uint": 1}]}]}"#,
        r#"{"binary": ["%", {"var": 2}, {"uniform": 0}]}"#,
        r#"{"binary": ["<<", {"var": 2}, {"binary": ["&", {"var": 2}, {"uint": 31}]}]}"#,
        r#"{"cast": ["uint", {"binary": ["/", {"binary": ["&", {"var": 1}, {"int": 255}]}, {"int": -1}]}]}"#,
        r#"{"cast": ["uint", {"intrinsic": ["abs", [{"intrinsic": ["max", [{"var": 1}, {"int": -9}]]}]]}]}"#,
    ] {
        valid(&with_main(&format!(r#"[{{"assign": {{"var": 2, "value": {good}}}}}]"#)));
    }
    expressions(&[
        (2, r#"{"binary": ["/", {"uint": 1}, {"var": 2}]}"#, ".binary[2]", "divides, but may be 0"),
        (2, r#"{"binary": ["%", {"uint": 1}, {"input": 0}]}"#, ".binary[2]", "divides, but may be 0"),
        (
            1,
            r#"{"binary": ["/", {"var": 1}, {"binary": ["|", {"var": 1}, {"int": 1}]}]}"#,
            ".binary[2]",
            "may be -1, while the dividend may be the least int",
        ),
        (1, r#"{"ext_inst": ["SRem", [{"i32": 1}, {"var": 1}]]}"#, ".ext_inst[1][1]", "divides, but may be 0"),
        (
            1,
            r#"{"ext_inst": ["SMod", [{"var": 1}, {"binary": ["|", {"var": 1}, {"int": 1}]}]]}"#,
            ".ext_inst[1][1]",
            "may be -1, while the dividend may be the least int",
        ),
        (2, r#"{"ext_inst": ["SMod", [{"u32": 1}, {"u32": 1}]]}"#, ".ext_inst", "SMod does not take (u32, u32)"),
        (
            1,
            &format!(r#"{{"binary": ["%", {num}, {{"int": 3}}]}}"#),
            ".binary[1]",
            "may be negative, but is an operand of %",
        ),
        (1, r#"{"binary": ["%", {"int": 7}, {"int": -3}]}"#, ".binary[2]", "may be negative, but is an operand of %"),
        (
            2,
            r#"{"binary": ["<<", {"uint": 1}, {"uint": 32}]}"#,
            ".binary[2]",
            "a shift by 0 to 31 is defined, this is 32 to 32",
        ),
        (
            1,
            r#"{"binary": [">>", {"int": 1}, {"var": 2}]}"#,
            ".binary[2]",
            "a shift by 0 to 31 is defined, this is 0 to 4294967295",
        ),
        (
            1,
            r#"{"intrinsic": ["clamp", [{"int": 1}, {"int": 3}, {"int": 2}]]}"#,
            ".ext_inst[1]",
            "clamp to 3 at least, but 2 at most",
        ),
        (
            1,
            &format!(r#"{{"intrinsic": ["abs", [{num}]]}}"#),
            ".ext_inst[1][0]",
            "the absolute value of what may be the least int",
        ),
        (
            1,
            &format!(r#"{{"intrinsic": ["bitfieldExtract", [{{"int": 1}}, {num}, {{"int": 2}}]]}}"#),
            ".ext_inst[1][1]",
            "may be negative",
        ),
        (
            1,
            r#"{"intrinsic": ["bitfieldInsert", [{"int": 1}, {"int": 1}, {"int": 31}, {"int": -2}]]}"#,
            ".ext_inst[1][3]",
            "may be negative",
        ),
        (
            1,
            r#"{"intrinsic": ["bitfieldInsert", [{"int": 1}, {"int": 1}, {"int": 31}, {"int": 2}]]}"#,
            ".ext_inst[1]",
            "offset and bits may be 33 together, more than 32",
        ),
    ]);
}

#[test]
fn clusters_and_quads_fit() {
    let of = |value: &str, size| {
        let mut case = with_main(&format!(r#"[{{"assign": {{"var": 2, "value": {value}}}}}]"#));
        case.entry_point.subgroup_size = SubgroupSize::Required(size);
        case
    };
    let cluster = r#"{"subgroup": {"op": "subgroupClusteredAdd", "args": [{"uint": 1}], "cluster": 8}}"#;
    let quad = r#"{"subgroup": {"op": "subgroupQuadSwapDiagonal", "args": [{"uint": 1}]}}"#;
    valid(&of(cluster, 8));
    valid(&of(quad, 4));
    assert_eq!(refused(&of(cluster, 4)).1, "subgroupClusteredAdd needs subgroups of 8, but the launch asks for 4");
    assert_eq!(refused(&of(quad, 2)).1, "subgroupQuadSwapDiagonal needs subgroups of 4, but the launch asks for 2");
}

fn first_lane() -> Expr {
    Expr::subgroup(SubgroupOp::BroadcastFirst, [lane()])
}

fn inverse(mask: Expr) -> Expr {
    Expr::subgroup(SubgroupOp::InverseBallot, [mask])
}

fn only(stmt: Stmt) -> Block {
    vec![stmt]
}

/// Rule Y11.
#[test]
fn resources() {
    let with = |index, non_uniform| {
        let mut case = base();
        case.data.resources = vec![5, 6, 7, 8];
        let resource = Resource { class: ResourceClass::StorageImage, index: Box::new(index), non_uniform };
        case.program.functions[2].body = only(assign(2, Expr::Resource(resource)));
        case
    };
    let low = |word| binary(word, BinaryOp::BitAnd, uint(3));
    for (index, non_uniform, problem) in [
        (uint(3), false, None),
        (low(Expr::Uniform(0)), false, None),
        (low(lane()), true, None),
        (uint(4), false, Some("may be 4 to 4, but there are 4 resources")),
        (lane(), true, Some("may be 0 to 127, but there are 4 resources")),
        (low(lane()), false, Some("must be the same in all invocations, by itself and visibly, or non-uniform")),
        // The same in a subgroup is not enough.
        (low(first_lane()), false, Some("must be the same in all invocations, by itself and visibly, or non-uniform")),
    ] {
        let case = with(index, non_uniform);
        match problem {
            None => valid(&case),
            Some(problem) => {
                let path = "program.functions[2].body[0].assign.value.resource.index".to_owned();
                assert_eq!(refused(&case), (path, problem.into()));
            }
        }
    }
}

/// rule P6
#[test]
fn uniform_operands() {
    let with = |body: Block| {
        let mut case = base();
        case.program.functions[2].body = body;
        case
    };
    let rotate = |delta| assign(2, Expr::subgroup(SubgroupOp::Rotate, [lane(), delta]));
    let not_uniform = "must be uniform, by itself and visibly";
    valid(&with(only(rotate(Expr::Uniform(0)))));
    valid(&with(only(rotate(binary(first_lane(), BinaryOp::Add, uint(1))))));
    valid(&with(only(assign(0, inverse(ballot(lane_bits(1, 1)))))));
    let path = "program.functions[2].body[0].assign.value.group_non_uniform.args[1]".to_owned();
    for delta in [lane(), Expr::Var(2), Expr::Input(0)] {
        assert_eq!(refused(&with(only(rotate(delta)))), (path.clone(), not_uniform.into()));
    }
    assert_eq!(refused(&with(only(assign(0, inverse(Expr::Var(3)))))).1, not_uniform);

    // In the weaker tiers the tangle of the second operation may be larger than that of the first.
    for tier in [Tier::Plain, Tier::SubgroupUniform] {
        let mut case = with(only(rotate(first_lane())));
        case.tier = tier;
        assert_eq!(refused(&case).1, not_uniform);
        case.program.functions[2].body = only(rotate(uint(3)));
        valid(&case);
    }
    // In a switch, too, be it in a caller.
    let switch = |body: Block| Stmt::Switch {
        selector: lane(),
        arms: vec![arm(Label::Default, body)],
        control: Default::default(),
    };
    assert_eq!(refused(&with(only(switch(only(rotate(first_lane())))))).1, not_uniform);
    valid(&with(only(switch(only(rotate(uint(3)))))));
    let mut case = with(only(switch(only(Stmt::Call { function: 1, args: vec![], dest: None }))));
    let quiet = &mut case.program.functions[1];
    let got = quiet.add_local("got", Type::UINT);
    quiet.body = only(assign(got, Expr::subgroup(SubgroupOp::Rotate, [lane(), first_lane()])));
    assert_eq!(refused(&case).0, "program.functions[1].body[0].assign.value.group_non_uniform.args[1]");
}

/// Loops without a counter, all of whose lanes leave by themselves.
#[test]
fn endless_loops() {
    let x = || Expr::Var(2);
    let minus = |value| binary(x(), BinaryOp::Sub, uint(value));
    let leave = |cond| Stmt::If { cond, then: vec![Stmt::Break], otherwise: vec![], control: Default::default() };
    let skip =
        Stmt::If { cond: lane_bits(1, 1), then: vec![Stmt::Continue], otherwise: vec![], control: Default::default() };
    let none = || leave(binary(x(), BinaryOp::Eq, uint(0)));
    let returns = || Stmt::If {
        cond: binary(x(), BinaryOp::Eq, uint(0)),
        then: vec![Stmt::Return(None)],
        otherwise: vec![],
        control: Default::default(),
    };
    let switched = |label, body| {
        let arm = |label, body| Arm { labels: vec![label], body };
        let arms = vec![arm(Label::Case(label), body), arm(Label::Default, vec![Stmt::Break])];
        Stmt::Switch { selector: x(), arms, control: Default::default() }
    };
    let shift = |by| assign(2, binary(x(), BinaryOp::Shr, uint(by)));
    let elect = || leave(Expr::subgroup(SubgroupOp::Elect, []));
    let first = || assign(7, Expr::subgroup(SubgroupOp::BroadcastFirst, [x()]));
    let same = || leave(binary(x(), BinaryOp::Eq, Expr::Var(7)));
    let with = |bound, body: Block| {
        let mut case = base();
        case.program.functions[2].body = only(Stmt::Loop(Box::new(Loop {
            kind: LoopKind::Endless,
            counter: 5,
            bound: uint(bound),
            test: None,
            body,
            control: Default::default(),
        })));
        case
    };
    for (bound, body) in [
        (32, vec![shift(1), none()]),
        (32, vec![assign(2, binary(x(), BinaryOp::BitAnd, minus(1))), log(1, 2), none(), skip.clone()]),
        (128, vec![elect()]),
        (
            128,
            vec![leave(tour::intrinsic(Intrinsic::Expect, [Expr::subgroup(SubgroupOp::Elect, []), Expr::Bool(true)]))],
        ),
        (128, vec![first(), same()]),
        // By `return`, by an arm of a switch, and with other ways out besides.
        (32, vec![shift(1), returns()]),
        (
            128,
            vec![Stmt::If {
                cond: Expr::subgroup(SubgroupOp::Elect, []),
                then: vec![Stmt::Return(None)],
                otherwise: vec![],
                control: Default::default(),
            }],
        ),
        (32, vec![shift(1), switched(0, vec![log(1, 2), Stmt::Return(None)]), skip.clone()]),
        (32, vec![shift(1), leave(lane_bits(1, 1)), none(), leave(lane_bits(1, 1))]),
    ] {
        valid(&with(bound, body));
    }
    for body in [
        vec![],
        vec![none()],
        vec![none(), shift(1)],
        vec![shift(0), none()],
        vec![skip.clone(), shift(1), none()],
        vec![shift(1), none(), assign(2, uint(1))],
        vec![assign(2, binary(x(), BinaryOp::BitAnd, minus(2))), none()],
        vec![first(), same(), assign(2, uint(1))],
        vec![first(), same(), assign(7, uint(1))],
        vec![same(), first()],
        vec![returns()],
        vec![shift(1), skip.clone(), returns()],
        // A `break` leaves the switch, and so does one before the `return`; another value than 0 need not come.
        vec![shift(1), switched(0, vec![Stmt::Break])],
        vec![shift(1), switched(0, vec![leave(lane_bits(1, 1)), Stmt::Return(None)])],
        vec![shift(1), switched(1, vec![Stmt::Return(None)])],
        vec![shift(1), switched(0, vec![skip.clone(), Stmt::Return(None)])],
    ] {
        assert_eq!(refused(&with(32, body.clone())).1, "is not known to be left by all lanes", "{body:?}");
    }
    assert_eq!(
        refused(&with(31, vec![shift(1), none()])).1,
        "all lanes have left after 32 iterations: the bound is that"
    );
    let counts = vec![shift(1), none(), assign(7, Expr::Var(5))];
    assert_eq!(refused(&with(32, counts)).1, "has no counter that could be read");
}

/// Loops that only sum something up may run longer than others; no more than a number of times in all.
#[test]
fn long_loops() {
    let plus = |var, by| assign(var, binary(Expr::Var(var), BinaryOp::Add, by));
    let with = |bound: Expr, body: Block| {
        let looped = Stmt::Loop(Box::new(Loop {
            kind: LoopKind::While,
            counter: 5,
            bound,
            test: None,
            body,
            control: Default::default(),
        }));
        let mut case = base();
        case.program.functions[2].body = only(looped);
        case
    };
    let many = || binary(uint(65_530), BinaryOp::Add, binary(lane(), BinaryOp::BitAnd, uint(15)));
    valid(&with(uint(70_000), vec![plus(2, uint(3))]));
    valid(&with(many(), vec![plus(2, Expr::Input(0)), assign(7, binary(Expr::Var(7), BinaryOp::BitXor, lane()))]));
    for (what, body) in [
        ("nothing", vec![]),
        ("a product", vec![assign(2, binary(Expr::Var(2), BinaryOp::Mul, uint(3)))]),
        ("what is no sum of its own", vec![assign(2, binary(Expr::Var(7), BinaryOp::Add, uint(3)))]),
        ("the same twice", vec![plus(2, uint(1)), plus(2, uint(1))]),
        ("of another sum", vec![plus(2, uint(1)), plus(7, Expr::Var(2))]),
        ("of the counter", vec![plus(2, Expr::Var(5))]),
        ("of an operation", vec![plus(2, first_lane())]),
        ("a log", vec![plus(2, uint(1)), log(1, 2)]),
        ("a way out", vec![plus(2, uint(1)), Stmt::Break]),
    ] {
        assert_eq!(refused(&with(uint(129), body)).1, "can be 129, more than 128", "{what}");
    }
    let sum = || vec![plus(2, uint(3))];
    assert_eq!(refused(&with(uint(70_001), sum())).1, "can be 70001, more than 70000");
    let mut twice = with(uint(40_000), sum());
    let mut looped = twice.program.functions[2].body[0].clone();
    if let Stmt::Loop(l) = &mut looped {
        l.counter = twice.program.functions[2].add_local("another", Type::UINT);
    }
    twice.program.functions[2].body.insert(0, looped);
    assert_eq!(refused(&twice).1, "long loops may run 80000 times in all, more than 70000");
}

/// An input of another invocation: of one that there is.
#[test]
fn inputs_of_others() {
    let with = |k, index| {
        let mut case = base();
        case.program.functions[2].body = only(assign(2, Expr::InputOf(k, Box::new(index))));
        case
    };
    let invocations = base().entry_point.invocations();
    valid(&with(0, uint(invocations - 1)));
    valid(&with(0, binary(lane(), BinaryOp::BitAnd, uint(1))));
    assert!(refused(&with(9, uint(0))).0.ends_with("assign.value.input_of[0]"));
    let (place, why) = refused(&with(0, uint(invocations)));
    assert!(place.ends_with("assign.value.input_of[1]"), "{place}");
    assert_eq!(why, format!("may be {invocations} to {invocations}, but there are {invocations} invocations"));
    assert!(refused(&with(0, Expr::Var(2))).1.ends_with(&format!("but there are {invocations} invocations")));
    assert!(refused(&with(0, Expr::Int(0))).1.contains("does not take"));
}

/// Rule P6: what a loop carries from one iteration to the next.
#[test]
fn uniform_operands_of_iterations() {
    let rotate = || assign(7, Expr::subgroup(SubgroupOp::Rotate, [lane(), Expr::Var(2)]));
    let plus = |value| assign(2, binary(Expr::Var(2), BinaryOp::Add, value));
    let some = |then: Stmt| Stmt::If {
        cond: lane_bits(1, 1),
        then: vec![then],
        otherwise: vec![],
        control: Default::default(),
    };
    let with = |before: Expr, body: Block, after: Block| {
        let repeated = Stmt::Loop(Box::new(Loop {
            kind: LoopKind::While,
            counter: 5,
            bound: uint(4),
            test: None,
            body,
            control: Default::default(),
        }));
        let mut case = base();
        case.program.functions[2].body = [vec![assign(2, before), repeated], after].concat();
        case
    };
    let (one, own) = (|| uint(1), || Expr::Input(0));
    // All lanes of an iteration make the same of the same, whether others have left the loop or not.
    valid(&with(one(), vec![rotate(), plus(one())], vec![]));
    valid(&with(first_lane(), vec![plus(Expr::Uniform(0)), some(Stmt::Break), rotate()], vec![]));
    valid(&with(one(), vec![plus(first_lane()), rotate(), some(Stmt::Continue)], vec![]));
    let not_uniform = "must be uniform, by itself and visibly";
    for (why, case) in [
        ("lanes differ before", with(own(), vec![rotate(), plus(one())], vec![])),
        ("lanes differ later", with(one(), vec![rotate(), plus(own())], vec![])),
        ("some lanes write", with(one(), vec![rotate(), some(plus(one()))], vec![])),
        ("some lanes do not come to it", with(one(), vec![rotate(), some(Stmt::Continue), plus(one())], vec![])),
        ("it is written elsewhere, too", with(one(), vec![rotate(), plus(one()), some(plus(one()))], vec![])),
        ("lanes leave in different iterations", with(one(), vec![some(Stmt::Break), plus(one())], vec![rotate()])),
    ] {
        assert_eq!(refused(&case).1, not_uniform, "{why}");
    }
    // Without maximal reconvergence, lanes of several iterations may be together.
    let mut case = with(one(), vec![rotate(), plus(one())], vec![]);
    case.tier = Tier::Plain;
    assert_eq!(refused(&case).1, not_uniform);
}

/// GLSL 4.60 §5.11, and what an aggregate may be used for.
#[test]
fn elements() {
    let array = Type { shape: Shape::Array(4), ..Type::UINT };
    let record = Type { shape: Shape::Struct(2), ..Type::UINT };
    let with = |stmt: Stmt| {
        let mut case = case(
            "",
            main_of(|f| {
                f.add_local("every", array);
                f.add_local("kept", record);
                f.add_local("mask", Type::MASK);
                f.add_local("x", Type::UINT);
                vec![stmt]
            }),
        );
        case.data.uniforms = vec![4];
        validate(&case).map_err(|invalid| invalid.reason)
    };
    let at = |var, index| Expr::element(Expr::Var(var), index);
    let low = |mask| binary(lane(), BinaryOp::BitAnd, uint(mask));
    let set = |var, index, value| tour::set_element(var, [index], value);
    let maybe = || Expr::subgroup(SubgroupOp::Shuffle, [low(3), binary(lane(), BinaryOp::Add, uint(1))]);
    for (stmt, says) in [
        (assign(3, at(0, low(3))), Ok(())),
        (assign(3, at(2, low(3))), Ok(())),
        (assign(0, Expr::Var(0)), Ok(())),
        (set(2, low(1), uint(9)), Ok(())),
        (assign(3, at(1, uint(1))), Ok(())),
        (assign(3, at(0, low(7))), Err("may be 0 to 7, but array(u32, 4) has 4 elements")),
        (assign(3, at(0, Expr::Uniform(0))), Err("may be 4 to 4, but array(u32, 4) has 4 elements")),
        (assign(3, at(0, maybe())), Err("is an index, but may be undefined")),
        (assign(3, at(1, low(1))), Err("the member of a struct is a literal")),
        (assign(3, at(3, uint(0))), Err("[] does not take (u32, u32)")),
        (set(3, uint(0), uint(0)), Err("u32 has no elements")),
        (set(0, low(3), Expr::Int(1)), Err("is i32, must be u32")),
        (assign(0, Expr::Var(1)), Err("is struct(u32, 2), must be array(u32, 4)")),
        (
            assign(0, binary(Expr::Var(0), BinaryOp::Add, Expr::Var(0))),
            Err("array(u32, 4) is no operand of anything but an index"),
        ),
        (
            assign(0, Expr::subgroup(SubgroupOp::BroadcastFirst, [Expr::Var(0)])),
            Err("array(u32, 4) is no operand of anything but an index"),
        ),
        (assign(0, Expr::Vector(array, vec![uint(0); 3])), Err("array(u32, 4) from 3 components")),
    ] {
        assert_eq!(with(stmt.clone()), says.map_err(String::from), "{stmt:?}");
    }
}

/// The same of aggregates of aggregates and of members of several types. What they are made of has to fit in variables.
#[test]
fn elements_of_elements() {
    let grid = tour::named("array(array(u32, 4), 2)");
    let record = tour::named("struct(f32, array(u32, 2), bool)");
    let with = |stmt: Stmt| {
        let locals = [grid, record, Type::UINT, Type::scalar(Scalar::Float), tour::named("array(u32, 2)")];
        let made = main_of(|f| {
            for (k, ty) in locals.into_iter().enumerate() {
                f.add_local(format!("x{k}"), ty);
            }
            vec![stmt]
        });
        validate(&case("", made)).map_err(|invalid| format!("{} {}", invalid.path, invalid.reason))
    };
    let at = |var: u32, index: Expr| Expr::element(Expr::Var(var), index);
    let low = |mask| binary(lane(), BinaryOp::BitAnd, uint(mask));
    let float = || Expr::Float(Scalar::Float, 4);
    let large = || binary(Expr::Var(3), BinaryOp::Add, Expr::Var(3));
    let made = |first: Expr| Expr::Vector(record, vec![first, Expr::Var(4), Expr::Bool(true)]);
    for (stmt, says) in [
        (assign(2, Expr::element(at(0, low(1)), low(3))), None),
        (assign(2, Expr::element(at(1, uint(1)), low(1))), None),
        (assign(3, at(1, uint(0))), None),
        (assign(0, Expr::Var(0)), None),
        (assign(1, made(float())), None),
        (assign(1, made(at(1, uint(0)))), None),
        (tour::set_element(0, [low(1), low(3)], uint(1)), None),
        (tour::set_element(0, [low(1)], at(0, uint(0))), None),
        (tour::set_element(1, [uint(1), low(1)], uint(1)), None),
        (tour::set_element(1, [uint(0)], float()), None),
        (assign(1, made(large())), Some("assign.value.composite_construct[1][0] may be more than a part")),
        (
            tour::set_element(1, [uint(0)], large()),
            Some("set_element.value may be more than a variable of f32 can hold"),
        ),
        (assign(3, at(1, uint(3))), Some("access_chain[1] struct(f32, array(u32, 2), bool) has no such element")),
        (assign(3, at(1, low(1))), Some("the member of a struct is a literal")),
        (assign(2, at(1, uint(0))), Some("is f32, must be u32")),
        (assign(2, Expr::element(at(0, low(1)), low(7))), Some("may be 0 to 7, but array(u32, 4) has 4 elements")),
        (
            tour::set_element(0, [low(3), low(3)], uint(1)),
            Some("set_element.index may be 0 to 3, but array(array(u32, 4), 2) has 2"),
        ),
        (
            tour::set_element(0, [low(1), low(7)], uint(1)),
            Some("set_element.inner[0] may be 0 to 7, but array(u32, 4) has 4"),
        ),
        (tour::set_element(0, [low(1), low(3), low(1)], uint(1)), Some("set_element.inner[1] u32 has no elements")),
        (
            tour::set_element(1, [low(1), low(1)], uint(1)),
            Some("set_element.index the member of a struct is a literal"),
        ),
        (
            assign(1, Expr::Vector(record, vec![float(), Expr::Var(4)])),
            Some("struct(f32, array(u32, 2), bool) from 2 components"),
        ),
        (
            assign(1, Expr::Vector(record, vec![float(), Expr::Var(4), uint(1)])),
            Some("u32 as a component of struct(f32, array(u32, 2), bool)"),
        ),
        (assign(2, binary(Expr::Var(1), BinaryOp::Add, Expr::Var(1))), Some("is no operand of anything but an index")),
        (Stmt::Log { site: 1, values: vec![Expr::Var(1)] }, Some("of a nested aggregate the elements can be logged")),
    ] {
        match (with(stmt.clone()), says) {
            (Ok(()), None) => {}
            (Err(said), Some(says)) => assert!(said.contains(says), "{stmt:?}: {said}"),
            (said, _) => panic!("{stmt:?}: {said:?}"),
        }
    }
}

/// SPV_KHR_expect_assume: an assumption that does not hold is undefined behaviour; an expectation may fail.
#[test]
fn hints() {
    let with = |stmt: Stmt| {
        let mut case = case(
            "",
            main_of(|f| {
                f.add_local("x", Type::UINT);
                f.add_local("maybe", Type::UINT);
                let shuffled = Expr::subgroup(SubgroupOp::Shuffle, [lane(), binary(lane(), BinaryOp::Add, uint(1))]);
                vec![assign(1, shuffled), stmt]
            }),
        );
        case.data.uniforms = vec![4];
        case.data.inputs = vec![vec![3; 8]];
        validate(&case).map_err(|invalid| invalid.reason)
    };
    let expect = |x, y| Expr::Intrinsic(tangle_program::ops::Intrinsic::Expect, vec![x, y]);
    let compare = |x, op, n| Stmt::Assume(binary(x, op, uint(n)));
    let any = Expr::subgroup(SubgroupOp::BallotBitCount, [Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)])]);
    for (stmt, says) in [
        (compare(Expr::Input(0), BinaryOp::Eq, 3), Ok(())),
        (compare(Expr::Uniform(0), BinaryOp::Lt, 5), Ok(())),
        (compare(binary(Expr::Var(0), BinaryOp::BitAnd, uint(3)), BinaryOp::Le, 3), Ok(())),
        (Stmt::Assume(Expr::Bool(true)), Ok(())),
        (Stmt::Assume(Expr::Bool(false)), Err("is assumed, but not known to hold")),
        (compare(Expr::Input(0), BinaryOp::Lt, 3), Err("is assumed, but not known to hold")),
        (compare(Expr::Var(0), BinaryOp::Lt, 3), Err("is assumed, but not known to hold")),
        (
            compare(binary(Expr::Var(1), BinaryOp::BitAnd, uint(3)), BinaryOp::Le, 3),
            Err("is a condition, but may be undefined"),
        ),
        (compare(any, BinaryOp::Le, 128), Err("an assumption has no subgroup operation")),
        (Stmt::Assume(uint(1)), Err("is u32, must be bool")),
        (assign(0, expect(Expr::Uniform(0), uint(9))), Ok(())),
        (assign(0, expect(Expr::Uniform(0), Expr::Bool(true))), Err("Expect does not take (u32, bool)")),
        (
            assign(0, expect(Expr::Float(Scalar::Float, 4), Expr::Float(Scalar::Float, 4))),
            Err("Expect does not take (f32, f32)"),
        ),
    ] {
        assert_eq!(with(stmt.clone()), says.map_err(String::from), "{stmt:?}");
    }
}

/// SPIR-V 1.6 §3.3.23, and what the front end takes.
#[test]
fn quad_indices() {
    let read = |index: Expr, spirv, constant: (u32, u32)| {
        let mut case = case(
            "",
            main_of(|f| {
                let x = f.add_local("x", Type::UINT);
                vec![assign(x, Expr::subgroup(SubgroupOp::QuadBroadcast, [lane(), index]))]
            }),
        );
        case.entry_point.spirv = spirv;
        case.data.constants = vec![SpecConstant { default: constant.0, value: constant.1 }];
        validate(&case).map_err(|invalid| invalid.reason)
    };
    use SpirvVersion::{V1_3, V1_5};
    assert_eq!(read(uint(3), V1_3, (0, 0)), Ok(()));
    assert_eq!(read(Expr::Constant(0), V1_5, (3, 2)), Ok(()));
    assert_eq!(read(Expr::Constant(0), V1_3, (3, 2)), Err("must be a literal before SPIR-V 1.5".into()));
    assert_eq!(read(Expr::Constant(0), V1_5, (4, 2)), Err("a quad has lanes 0 to 3".into()));
    assert_eq!(read(Expr::Constant(1), V1_5, (0, 0)), Err("there are only 1".into()));
}

#[test]
fn broadcast_lanes() {
    let with = |lane: Expr, spirv| {
        let mut case = base();
        case.program.functions[2].body = only(assign(2, Expr::subgroup(SubgroupOp::Broadcast, [uint(1), lane])));
        case.entry_point.spirv = spirv;
        case
    };
    valid(&with(uint(2), SpirvVersion::V1_3));
    valid(&with(first_lane(), SpirvVersion::V1_5));
    for lane in [first_lane(), Expr::Uniform(0), binary(uint(1), BinaryOp::Add, uint(1))] {
        assert_eq!(refused(&with(lane, SpirvVersion::V1_4)).1, "must be a literal before SPIR-V 1.5");
    }
    assert_eq!(refused(&with(lane(), SpirvVersion::V1_5)).1, "must be uniform, by itself and visibly");
}

/// rules D1 and D2: what an undefined value must not reach. `maybe` (7) holds one.
#[test]
fn undefined_values_decide_nothing() {
    let shuffle = || Expr::subgroup(SubgroupOp::Shuffle, [Expr::Input(0), binary(lane(), BinaryOp::BitXor, uint(1))]);
    let taint = || assign(7, shuffle());
    let maybe = || Expr::Var(7);
    let bits = |mask| binary(maybe(), BinaryOp::BitAnd, uint(mask));
    let is = || binary(maybe(), BinaryOp::Eq, uint(1));
    let as_int = || cast(Scalar::Int, bits(3));
    let word = |value| assign(2, value);
    let with = |stmt: Stmt| {
        let mut case = base();
        case.program.functions[2].body = vec![taint(), stmt];
        case
    };
    for (stmt, place, reason) in [
        (branch(is(), [], []), "selection.condition", "is a condition"),
        (
            Stmt::Switch { selector: maybe(), arms: vec![arm(Label::Default, [])], control: Default::default() },
            "switch.selector",
            "decides a switch",
        ),
        (counted(5, bits(3), [], []), "loop.bound", "decides how often a loop runs"),
        (
            repeat(LoopKind::For { init: maybe(), step: 1, update: vec![] }, 5, uint(3), None, []),
            "loop.kind.for.init",
            "decides how often a loop runs",
        ),
        (
            repeat(LoopKind::While, 5, uint(3), Some(tangle_program::tree::Test { before: vec![], cond: is() }), []),
            "loop.test.condition",
            "is a condition",
        ),
        (word(tour::select(is(), uint(1), uint(2))), "assign.value.select[0]", "is a condition"),
        (
            assign(0, binary(is(), BinaryOp::And, Expr::Bool(true))),
            "assign.value.binary[1]",
            "decides whether the right operand is evaluated",
        ),
        (
            word(binary(uint(9), BinaryOp::Div, binary(maybe(), BinaryOp::BitOr, uint(1)))),
            "assign.value.binary[2]",
            "divides",
        ),
        // The range of an undefined value is not its range.
        (
            assign(1, binary(as_int(), BinaryOp::Div, Expr::Int(-1))),
            "assign.value.binary[1]",
            "is divided by what may be -1",
        ),
        (word(binary(uint(9), BinaryOp::Shl, bits(7))), "assign.value.binary[2]", "is a shift amount"),
        (
            assign(
                1,
                tour::intrinsic(
                    tangle_program::ops::Intrinsic::BitfieldExtract,
                    [Expr::Int(1), as_int(), Expr::Int(2)],
                ),
            ),
            "assign.value.ext_inst[1][1]",
            "selects bits",
        ),
        (
            word(Expr::subgroup(SubgroupOp::Rotate, [uint(1), Expr::subgroup(SubgroupOp::BroadcastFirst, [maybe()])])),
            "assign.value.group_non_uniform.args[1]",
            "must be uniform",
        ),
    ] {
        let path = format!("program.functions[2].body[1].{place}");
        assert_eq!(refused(&with(stmt)), (path, format!("{reason}, but may be undefined")));
    }
    // It may be computed with, logged, and be the operand of && that is not a branch.
    valid(&with(word(binary(maybe(), BinaryOp::Mul, uint(3)))));
    valid(&with(log(1, 7)));
    valid(&with(assign(0, binary(Expr::Bool(true), BinaryOp::And, is()))));
    valid(&with(word(Expr::subgroup(SubgroupOp::Shuffle, [uint(1), maybe()]))));
}

#[test]
fn names() {
    let rename = |f: &dyn Fn(&mut Program)| {
        let mut case = base();
        f(&mut case.program);
        refused(&case)
    };
    let say = |path: &str, reason: &str| (format!("program.functions{path}"), reason.to_owned());
    assert_eq!(
        rename(&|p| p.functions[2].name = "start".into()),
        say("[2].name", "the last function must be main, not 'start'")
    );
    assert_eq!(rename(&|p| p.functions[0].name = "main".into()), say("[0].name", "only the last function is main"));
    assert_eq!(rename(&|p| p.functions[1].name = "helper".into()), say("[1].name", "there are two functions 'helper'"));
    assert_eq!(rename(&|p| p.functions[1].name = "min".into()), say("[1].name", "'min' is a word of GLSL"));
    assert_eq!(rename(&|p| p.functions.clear()), say("", "there is no main"));
    assert_eq!(
        rename(&|p| p.functions[0].params[1].name = "x".into()),
        say("[0].params[1].name", "there are two variables 'x'")
    );
    let matrix = Type { shape: Shape::Matrix(2), ..Type::vector(Scalar::Uint, 2) };
    let no_type = rename(&|p| p.functions[2].locals[1].ty = matrix);
    assert_eq!(no_type, say("[2].locals[1].type", "there is no type matrix(u32x2, 2)"));
    let local = |i: usize, name: &'static str| rename(&|p| p.functions[2].locals[i].name = name.into());
    assert_eq!(local(1, "flag"), say("[2].locals[1].name", "there are two variables 'flag'"));
    assert_eq!(local(1, "quiet"), say("[2].locals[1].name", "'quiet' is a function, too"));
    assert_eq!(local(1, "uvec4"), say("[2].locals[1].name", "'uvec4' is a word of GLSL"));
    assert_eq!(local(1, "lane"), say("[2].locals[1].name", "'lane' is a name that the printed shader uses itself"));
    assert_eq!(local(1, "gl_x").1, "'gl_x' is reserved in GLSL: it begins with gl_ or has two underscores in a row");
    assert!(local(1, "LOG1").1.starts_with("'LOG1' is no name"));
}

#[test]
fn main_has_no_interface() {
    let mut case = base();
    case.program.functions[2].result = Some(Type::UINT);
    assert_eq!(refused(&case), ("program.functions[2].result".into(), "main has no result".into()));
    let main = &mut case.program.functions[2];
    main.params.push(Param { name: "p".into(), direction: Direction::In, ty: Type::UINT });
    assert_eq!(refused(&case), ("program.functions[2].params".into(), "main has no parameters".into()));
}

#[test]
fn launch_and_data() {
    let change = |f: &dyn Fn(&mut Case)| {
        let mut case = base();
        f(&mut case);
        refused(&case)
    };
    let say = |path: &str, reason: &str| (path.to_owned(), reason.to_owned());
    assert_eq!(change(&|c| c.format = 3), say("format", "is 3, but only 2 is known"));
    let workgroup = |n: &str| say("entry_point.launch.workgroups.size", &format!("{n} invocations: must be 1 to 1024"));
    assert_eq!(change(&|c| c.entry_point.workgroups_mut().size = [8, 0, 1]), workgroup("0"));
    assert_eq!(change(&|c| c.entry_point.workgroups_mut().size = [32, 33, 1]), workgroup("1056"));
    assert_eq!(change(&|c| c.entry_point.workgroups_mut().size = [u32::MAX; 3]), workgroup("18446744073709551615"));
    let groups = |n: u64| {
        say(
            "entry_point.launch.workgroups.count",
            &format!("{n} workgroups of 8 invocations: must be 1 to 65536 together"),
        )
    };
    assert_eq!(change(&|c| c.entry_point.workgroups_mut().count = [0, 1, 1]), groups(0));
    assert_eq!(change(&|c| c.entry_point.workgroups_mut().count = [8192, 2, 1]), groups(16384));
    assert_eq!(
        change(&|c| c.entry_point.subgroup_size = SubgroupSize::Required(12)),
        say("entry_point.subgroup_size", "a required subgroup size of 12: must be a power of two up to 128")
    );
    assert_eq!(
        change(&|c| {
            c.entry_point.subgroup_size = SubgroupSize::Required(16);
            c.entry_point.full_subgroups = true;
        }),
        say("entry_point.subgroup_size", "full subgroups of 16 need a multiple of that as the x dimension, not 8")
    );
    assert_eq!(change(&|c| c.data.inputs[0].push(1)), say("data.inputs[0]", "has 9 words for 8 invocations"));
    assert_eq!(
        change(&|c| {
            c.entry_point.workgroups_mut().count = [8192, 1, 1];
            c.data.inputs = vec![vec![0; 65_536]; 17];
        }),
        say("data.inputs", "1114112 words, more than 1048576")
    );
    assert_eq!(change(&|c| c.data.uniforms = vec![0; 4097]), say("data.uniforms", "4097 words, more than 4096"));
    let constants = |n| vec![Default::default(); n];
    assert_eq!(change(&|c| c.data.constants = constants(33)), say("data.constants", "33 words, more than 32"));
    assert_eq!(
        change(&|c| c.entry_point.workgroups_mut().default_size = Some([64, 64, 1])),
        say("entry_point.launch.workgroups.default_size", "4096 invocations: must be 1 to 1024")
    );
    for (size, subgroup_size, group, message) in [
        ([8, 1, 1], SubgroupSize::Default, DerivativeGroup::Quads, "workgroups of 8x1x1 are not whole quads (quads)"),
        ([7, 2, 1], SubgroupSize::Default, DerivativeGroup::Linear, "workgroups of 7x2x1 are not whole quads (linear)"),
        ([8, 1, 1], SubgroupSize::Required(2), DerivativeGroup::Linear, "a subgroup of 2 has no quads"),
    ] {
        let changed = change(&|c| {
            c.entry_point.subgroup_size = subgroup_size;
            let workgroups = c.entry_point.workgroups_mut();
            (workgroups.size, workgroups.derivative_group) = (size, Some(group));
        });
        assert_eq!(changed, say("entry_point.launch.workgroups.derivative_group", message));
    }
    assert_eq!(change(&|c| c.data.push = vec![0; 33]), say("data.push", "33 words, more than 32"));
}

#[test]
fn costs() {
    /// 128 times as often as the uniform says.
    fn nested(often: u32, inner: Block) -> Case {
        let functions = main_of(|f| {
            let (_, i, j) = (f.add_local("x", Type::UINT), f.add_local("i", Type::UINT), f.add_local("j", Type::UINT));
            vec![counted(i, uint(128), [], [counted(j, Expr::Uniform(0), [], inner)])]
        });
        Case { data: Data { uniforms: vec![often], ..Data::default() }, ..case("", functions) }
    }
    let entry = |site| Stmt::Log { site, values: vec![Expr::Var(0); 31] };
    let mut largest = nested(1, vec![entry(1)]);
    valid(&largest);
    largest.entry_point.workgroups_mut().count = [1024, 1, 1];
    assert_eq!(refused(&largest).1, "the logs of 8192 invocations take 33816576 words, more than 4194304");
    let more = nested(1, vec![entry(1), entry(2)]);
    assert_eq!(refused(&more), (String::new(), "an invocation may log 8192 words, more than 4096".into()));
    let long = nested(128, vec![Stmt::SubgroupBarrier(SubgroupOp::Barrier)]);
    assert_eq!(refused(&long).1, "an invocation may execute 33154 statements, more than 20000");
}

/// The limits come first, so that nothing else can recurse or take long.
#[test]
fn sizes() {
    let main = |body: Block| case("", main_of(|_| body));
    let nested_block = |depth: usize| (1..depth).fold(vec![], |block, _| vec![branch(Expr::Bool(true), block, [])]);
    let nested_expr = |depth: usize| {
        let expr = (1..depth).fold(Expr::Bool(true), |x, _| Expr::unary(tangle_program::ops::UnaryOp::Not, x));
        vec![branch(expr, [], [])]
    };
    valid(&main(nested_block(MAX_BLOCK_DEPTH)));
    valid(&main(nested_expr(MAX_EXPR_DEPTH)));
    let too_deep = format!("statements nest more than {MAX_BLOCK_DEPTH} deep");
    assert_eq!(refused(&main(nested_block(MAX_BLOCK_DEPTH + 1))).1, too_deep);
    assert_eq!(refused(&main(nested_block(5_000))), ("program.functions[0].body[0]".into(), too_deep));
    let too_deep = format!("expressions nest more than {MAX_EXPR_DEPTH} deep");
    assert_eq!(refused(&main(nested_expr(MAX_EXPR_DEPTH + 1))).1, too_deep);
    assert_eq!(refused(&main(nested_expr(5_000))).1, too_deep);

    let statements = vec![Stmt::SubgroupBarrier(SubgroupOp::Barrier); MAX_STATEMENTS + 1];
    assert_eq!(refused(&main(statements)).1, "the program has more than 5000 statements and switch labels");
    let labels = (0..=MAX_STATEMENTS as i64).map(Label::Case).collect();
    let switch = Stmt::Switch {
        selector: lane(),
        arms: vec![tangle_program::tree::Arm { labels, body: vec![] }],
        control: Default::default(),
    };
    assert_eq!(refused(&main(only(switch))).1, "the program has more than 5000 statements and switch labels");
    let values = vec![lane(); MAX_EXPRS + 1];
    assert_eq!(refused(&main(only(Stmt::Log { site: 1, values }))).1, "the program has more than 50000 expressions");
    let functions = vec![function("f", |_| vec![]); MAX_FUNCTIONS + 1];
    assert_eq!(refused(&case("", functions)), ("program".into(), "has 65 functions, more than 64".into()));
    let locals = vec![Local::new("x", Type::UINT); MAX_VARS + 1];
    let main = Function { locals, ..function("main", |_| vec![]) };
    assert_eq!(
        refused(&case("", vec![main])),
        ("program.functions[0]".into(), "has 257 parameters and locals, more than 256".into())
    );
}

/// Floats are exact or refused. Variables 8 and 9 are a float and a float16_t.
#[test]
fn floats() {
    let with_floats = |body: &str| {
        let mut case = with_main(body);
        let main = &mut case.program.functions[2];
        main.add_local("real", Type::scalar(Scalar::Float));
        main.add_local("fine", Type::scalar(Scalar::Float16));
        case
    };
    let assigned =
        |var: u32, value: &str| with_floats(&format!(r#"[{{"assign": {{"var": {var}, "value": {value}}}}}]"#));
    let small = r#"{"cast": ["float", {"binary": ["&", {"var": 2}, {"uint": 15}]}]}"#;
    for (var, good) in [
        (8, r#"{"float": ["float", -7]}"#.to_owned()),
        (8, small.to_owned()),
        (8, format!(r#"{{"binary": ["*", {small}, {{"float": ["float", 3]}}]}}"#)),
        (8, format!(r#"{{"subgroup": {{"op": "subgroupAdd", "args": [{small}]}}}}"#)),
        (1, r#"{"cast": ["int", {"binary": ["+", {"var": 8}, {"var": 8}]}]}"#.to_owned()),
        (0, r#"{"binary": ["<", {"var": 8}, {"float": ["float", 2]}]}"#.to_owned()),
        (
            9,
            r#"{"intrinsic": ["clamp", [{"var": 9}, {"float": ["float16_t", -4]}, {"float": ["float16_t", 4]}]]}"#
                .into(),
        ),
    ] {
        valid(&assigned(var, &good));
    }
    for (var, bad, path, reason) in [
        (8, r#"{"float": ["uint", 4]}"#, ".float", "u32 is no floating-point type"),
        (8, r#"{"binary": ["/", {"var": 8}, {"var": 8}]}"#, ".binary", "Div does not take (f32, f32)"),
        (8, r#"{"binary": ["&", {"var": 8}, {"var": 8}]}"#, ".binary", "BitwiseAnd does not take (f32, f32)"),
        (8, r#"{"unary": ["~", {"var": 8}]}"#, ".unary", "Not does not take (f32)"),
        (8, r#"{"binary": ["+", {"var": 8}, {"var": 8}]}"#, "", "may be more than a variable of f32 can hold"),
        (8, r#"{"binary": ["*", {"var": 8}, {"var": 8}]}"#, ".binary", "may not be exact"),
        (8, r#"{"cast": ["float", {"var": 2}]}"#, ".convert", "may not be exact"),
        (2, r#"{"cast": ["uint", {"var": 8}]}"#, ".convert", "u32 does not take (f32)"),
        (1, r#"{"intrinsic": ["floor", [{"int": 1}]]}"#, ".ext_inst", "Floor does not take (i32)"),
        (
            9,
            r#"{"intrinsic": ["clamp", [{"var": 9}, {"var": 9}, {"float": ["float16_t", 4]}]]}"#,
            ".ext_inst[1]",
            "the bounds of a clamp of floats are literals",
        ),
        (
            9,
            r#"{"intrinsic": ["clamp", [{"var": 9}, {"float": ["float16_t", 5]}, {"float": ["float16_t", 4]}]]}"#,
            ".ext_inst[1]",
            "clamp to more at least than at most",
        ),
        (
            1,
            r#"{"cast": ["int", {"subgroup": {"op": "subgroupShuffleXor", "args": [{"var": 8}, {"uint": 1}]}}]}"#,
            ".convert[1]",
            "is converted to an integer, but may be undefined",
        ),
        // Each is one unit, which may be exact and not fit.
        (
            8,
            r#"{"subgroup": {"op": "subgroupMul", "args": [{"float": ["float", 8]}]}}"#,
            ".group_non_uniform",
            "may not be exact",
        ),
        (
            1,
            r#"{"cast": ["int", {"subgroup": {"op": "subgroupClusteredMul", "args": [{"float": ["float", 8]}], "cluster": 32}}]}"#,
            ".convert[1]",
            "may be too large for i32",
        ),
        // The first lane gets an infinity.
        (
            1,
            r#"{"cast": ["int", {"subgroup": {"op": "subgroupExclusiveMin", "args": [{"var": 8}]}}]}"#,
            ".convert[1]",
            "is converted to an integer, but may be undefined",
        ),
    ] {
        let (got_path, got_reason) = refused(&assigned(var, bad));
        let place = got_path.strip_prefix("program.functions[2].body[0].assign.value");
        assert_eq!((place, got_reason.as_str()), (Some(path), reason), "{bad}");
    }
    let (_, reason) = refused(&with_floats(r#"[{"log": {"site": 1, "values": [{"float": ["float", 4]}]}}]"#));
    assert_eq!(reason, "a 64-bit or floating-point value must be a variable to be logged");
}

/// docs/rules.md, rules F6 and F9: what may become of preserved numbers
#[test]
fn preserved_numbers() {
    use tangle_program::case::{FloatControls, FloatMode};
    let with = |modes: &[FloatMode], value: &str| {
        let mut case = with_main(&format!(r#"[{{"assign": {{"var": 2, "value": {value}}}}}]"#));
        let scalar = tangle_program::types::Scalar::Float;
        case.entry_point.float_controls = modes.iter().fold(FloatControls::NONE, |all, &mode| all.with(mode, scalar));
        case
    };
    let keeps = &[FloatMode::SignedZeroInfNanPreserve][..];
    let both = &[FloatMode::SignedZeroInfNanPreserve, FloatMode::DenormPreserve][..];
    let float = r#"{"ext_inst": ["BitsToFloat", [{"var": 2}]]}"#;
    let any = r#"{"ext_inst": ["BitsToFloatOrDenormal", [{"var": 2}]]}"#;
    let bits = |value: &str| format!(r#"{{"ext_inst": ["FloatToBits", [{value}]]}}"#);
    let op = |name: &str, value: &str| format!(r#"{{"group_non_uniform": {{"op": "{name}", "args": [{value}]}}}}"#);
    let number = |bool: &str| format!(r#"{{"convert": ["u32", {bool}]}}"#);
    for (modes, value) in [
        (keeps, bits(float)),
        (both, bits(any)),
        (keeps, bits(&op("GroupNonUniformMin Reduce", float))),
        (keeps, bits(&op("GroupNonUniformBroadcastFirst", float))),
        (keeps, number(&op("GroupNonUniformAllEqual", float))),
        (keeps, number(&format!(r#"{{"binary": ["FOrdLessThan", {float}, {float}]}}"#).replace("FOrd", ""))),
        (keeps, bits(&format!(r#"{{"select": [{{"var": 0}}, {float}, {float}]}}"#))),
    ] {
        valid(&with(modes, &value));
    }
    let lost = "may be a NaN, an infinity or a zero of either sign, which this does not keep";
    let sum = format!(r#"{{"binary": ["Add", {float}, {float}]}}"#);
    for (modes, value, path, reason) in [
        (&[][..], bits(float), ".ext_inst[1][0].ext_inst[0]", "needs SignedZeroInfNanPreserve of 32 bits"),
        (keeps, bits(any), ".ext_inst[1][0].ext_inst[0]", "needs DenormPreserve of 32 bits"),
        (keeps, bits(&sum), ".ext_inst[1][0].binary[1]", lost),
        (keeps, bits(&op("GroupNonUniformAdd Reduce", float)), ".ext_inst[1][0].group_non_uniform.args[0]", lost),
        (
            keeps,
            bits(&format!(r#"{{"ext_inst": ["Min", [{float}, {float}]]}}"#)),
            ".ext_inst[1][0].ext_inst[1][0]",
            lost,
        ),
        (keeps, format!(r#"{{"convert": ["i32", {float}]}}"#), ".convert[1]", lost),
        (
            keeps,
            bits(r#"{"float": ["f32", 4]}"#),
            ".ext_inst[1][0]",
            "has no bits that are known: it was not made of bits",
        ),
        (
            keeps,
            number(&format!(r#"{{"binary": ["LessThan", {float}, {{"float": ["f32", 4]}}]}}"#)),
            ".convert[1].binary[1]",
            lost,
        ),
    ] {
        let (got_path, got_reason) = refused(&with(modes, &value));
        let place = got_path.strip_prefix("program.functions[2].body[0].assign.value");
        assert_eq!((place, got_reason.as_str()), (Some(path), reason), "{value}");
    }
    let logged = format!(r#"[{{"log": {{"site": 1, "values": [{float}]}}}}]"#);
    let mut case = with_main(&logged);
    case.entry_point.float_controls = FloatControls::NONE.with(keeps[0], tangle_program::types::Scalar::Float);
    assert_eq!(refused(&case).1, "is only kept as bits, by FloatToBits");
    case.entry_point.float_controls = FloatControls::ALL;
    assert_eq!(
        refused(&case),
        ("entry_point.float_controls".into(), "SignedZeroInfNanPreserve of several widths: GLSL can say one".into())
    );
}

/// docs/rules.md, rules F10 and F11. Variable 2 is a uint.
#[test]
fn rounded_numbers() {
    use tangle_program::case::FloatMode::{RoundingModeRTE as Rte, RoundingModeRTZ as Rtz, SignedZeroInfNanPreserve};
    use tangle_program::case::{FloatControls, FloatMode};
    use tangle_program::types::Scalar::{Double, Float, Float16};
    let with = |modes: &[(FloatMode, tangle_program::types::Scalar)], value: &str| {
        let mut case = with_main(&format!(r#"[{{"assign": {{"var": 2, "value": {value}}}}}]"#));
        let none = FloatControls::NONE;
        case.entry_point.float_controls = modes.iter().fold(none, |all, &(mode, scalar)| all.with(mode, scalar));
        case
    };
    let call = |op: &str, args: &[&str]| format!(r#"{{"ext_inst": ["{op}", [{}]]}}"#, args.join(", "));
    let binary = |op: &str, x: &str, y: &str| format!(r#"{{"binary": ["{op}", {x}, {y}]}}"#);
    let uint = |bits: u32| format!(r#"{{"u32": {bits}}}"#);
    let cast = |to: &str, x: &str| format!(r#"{{"convert": ["{to}", {x}]}}"#);
    let word = r#"{"var": 2}"#;
    let masked = |mask: u32, ones: u32| binary("BitwiseOr", &binary("BitwiseAnd", word, &uint(mask)), &uint(ones));
    // Numbers of 32 bits around 1: of any sign, positive, negative; of 16 bits.
    let (any, positive, negative) =
        (masked(0x807F_FFFF, 0x3F80_0000), masked(0x007F_FFFF, 0x3F80_0000), masked(0x007F_FFFF, 0xBF80_0000));
    let exponent = |exponent: u32| masked(0x807F_FFFF, exponent << 23);
    let half = |exponent: u32| {
        let kept = binary("BitwiseAnd", &cast("u16", word), &cast("u16", &uint(0x83FF)));
        binary("BitwiseOr", &kept, &cast("u16", &uint(exponent << 10)))
    };
    let double = |exponent: u32| {
        let ones = binary("ShiftLeft", &cast("u64", &uint(exponent << 20)), &uint(32));
        binary("BitwiseOr", &cast("u64", &masked(0x000F_FFFF, 0)), &ones)
    };
    let odd = binary("BitwiseOr", word, &uint(1));
    let small = binary("BitwiseOr", &binary("BitwiseAnd", word, &uint(0x7FFF)), &uint(1));
    let (rte, rtz) = (&[(Rte, Float)][..], &[(Rtz, Float)][..]);
    let (halves, keeps) = (&[(Rtz, Float16)][..], &[(Rte, Float), (SignedZeroInfNanPreserve, Float)][..]);
    let word_of = |value: &str| cast("u32", value);
    for (modes, value) in [
        (rte, call("ConvertToF32RTE", &[&odd])),
        (rtz, call("ConvertToF32RTZ", &[&cast("i32", &odd)])),
        (halves, word_of(&call("ConvertToF16RTZ", &[&small]))),
        (halves, word_of(&call("ConvertToF16RTZ", &[&format!(r#"{{"unary": ["Negate", {}]}}"#, cast("i32", &small))]))),
        (halves, word_of(&call("ConvertToF16RTZ", &[&uint(65_504)]))),
        (rte, call("FAddRTE", &[&positive, &positive])),
        (rte, call("FSubRTE", &[&positive, &negative])),
        (rte, call("FAddRTE", &[&any, &exponent(0x7F - 24)])),
        (rte, call("FAddRTE", &[&exponent(0x7F - 1), &any])),
        (rte, call("FAddRTE", &[&exponent(3), &exponent(1)])),
        (rte, call("FAddRTE", &[&exponent(252), &exponent(250)])),
        (rte, call("FMulRTE", &[&any, &any])),
        (rte, call("FMulRTE", &[&exponent(1), &exponent(127)])),
        (rte, call("FMulRTE", &[&exponent(252), &exponent(127)])),
        (keeps, call("FSubRTE", &[&any, &any])),
        (halves, word_of(&call("FAddRTZ", &[&half(15), &half(13)]))),
        (halves, word_of(&call("FConvertToF16RTZ", &[&exponent(127 + 14)]))),
        (halves, word_of(&call("FConvertToF16RTZ", &[&exponent(127 - 14)]))),
        (halves, word_of(&call("FConvertToF16RTZ", &[&double(1023)]))),
        (rtz, call("FConvertToF32RTZ", &[&double(1023 - 126)])),
        (&[(Rtz, Float16), (Rte, Float)][..], call("FAddRTE", &[&positive, &positive])),
    ] {
        valid(&with(modes, &value));
    }
    let (arg, inner) = (".ext_inst[1][0]", ".convert[1].ext_inst");
    let of = |place: &str| format!("{inner}{place}");
    let unfixed = "may be no normal number: masks do not fix its exponent";
    for (modes, value, path, reason) in [
        (
            &[][..],
            call("FAddRTE", &[&positive, &positive]),
            ".ext_inst[0]".to_owned(),
            "needs RoundingModeRTE of 32 bits",
        ),
        (rtz, call("FAddRTE", &[&positive, &positive]), ".ext_inst[0]".to_owned(), "needs RoundingModeRTE of 32 bits"),
        (rtz, word_of(&call("ConvertToF16RTZ", &[&small])), of("[0]"), "needs RoundingModeRTZ of 16 bits"),
        (
            &[(Rtz, Float16), (Rte, Float)][..],
            word_of(&call("FConvertToF16RTZ", &[&any])),
            of("[0]"),
            "RoundingModeRTE of 32 bits may be meant as well",
        ),
        (
            &[(Rtz, Float16), (Rte, Double)][..],
            word_of(&call("FConvertToF16RTZ", &[&double(1023)])),
            of("[0]"),
            "RoundingModeRTE of 64 bits may be meant as well",
        ),
        (rte, call("ConvertToF32RTE", &[word]), arg.to_owned(), "may be 0, whose sign is open"),
        (
            halves,
            word_of(&call("ConvertToF16RTZ", &[&odd])),
            of("[1][0]"),
            "may be 1 to 4294967295, but the largest number is 65504",
        ),
        (
            halves,
            word_of(&call("ConvertToF16RTZ", &[&uint(65_505)])),
            of("[1][0]"),
            "may be 65505 to 65505, but the largest number is 65504",
        ),
        (rte, call("FAddRTE", &[word, &positive]), arg.to_owned(), unfixed),
        (rte, call("FMulRTE", &[&positive, &exponent(255)]), ".ext_inst[1][1]".to_owned(), unfixed),
        (rte, call("FMulRTE", &[&exponent(0), &positive]), arg.to_owned(), unfixed),
        (rte, call("FMulRTE", &[&masked(0x80FF_FFFF, 0x7F00_0000), &positive]), arg.to_owned(), unfixed),
        (rte, call("FAddRTE", &[&any, &any]), ".ext_inst[1]".to_owned(), "may be 0, whose sign is open"),
        (rte, call("FSubRTE", &[&positive, &positive]), ".ext_inst[1]".to_owned(), "may be 0, whose sign is open"),
        (keeps, call("FSubRTE", &[&exponent(20), &exponent(20)]), ".ext_inst[1]".to_owned(), "may be a denormal"),
        (rte, call("FAddRTE", &[&exponent(2), &exponent(1)]), ".ext_inst[1]".to_owned(), "may be a denormal"),
        (rte, call("FMulRTE", &[&exponent(1), &exponent(126)]), ".ext_inst[1]".to_owned(), "may be a denormal"),
        (rte, call("FAddRTE", &[&exponent(253), &exponent(250)]), ".ext_inst[1]".to_owned(), "may be too large"),
        (rte, call("FMulRTE", &[&exponent(253), &exponent(127)]), ".ext_inst[1]".to_owned(), "may be too large"),
        (halves, word_of(&call("FConvertToF16RTZ", &[&exponent(127 + 15)])), of("[1]"), "may be too large"),
        (halves, word_of(&call("FConvertToF16RTZ", &[&exponent(127 - 15)])), of("[1]"), "may be a denormal"),
        (rtz, call("FConvertToF32RTZ", &[&double(1023 - 127)]), ".ext_inst[1]".to_owned(), "may be a denormal"),
        (rtz, call("FConvertToF32RTZ", &[&any]), String::new(), "FConvertToF32RTZ does not take (u32)"),
    ] {
        let (got_path, got_reason) = refused(&with(modes, &value));
        let place = got_path.strip_prefix("program.functions[2].body[0].assign.value").unwrap_or(&got_path);
        assert_eq!(
            (place.trim_end_matches(".ext_inst"), got_reason.as_str()),
            (path.trim_end_matches(".ext_inst"), reason),
            "{value}"
        );
    }
    let both = with(&[(Rte, Float), (Rtz, Float)], word);
    assert_eq!(refused(&both), ("entry_point.float_controls".into(), "both rounding modes of 32 bits".into()));
}
