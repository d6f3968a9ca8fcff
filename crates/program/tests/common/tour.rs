//! Programs that together use everything the language has.

use super::*;
use tangle_program::case::SpecConstant;
use tangle_program::control::{LoopControl, SelectionControl};
use tangle_program::ops::{Intrinsic, UnaryOp};
use tangle_program::subgroup::{Fold, Gives, Param as Operand, TABLE};
use tangle_program::tree::{Arg, Direction, Param, SubgroupCall};
use tangle_program::types::{Scalar, Shape};

/// All of them, with their names.
pub fn programs() -> Vec<(&'static str, Case)> {
    vec![
        ("expressions", expressions()),
        ("integer_functions", integer_functions()),
        ("control_flow", control_flow()),
        ("functions", functions()),
        ("aggregates", aggregates()),
        ("records", records()),
        ("nested_aggregates", nested_aggregates()),
        ("subgroup_operations", subgroup_operations()),
    ]
}

pub fn vector(scalar: Scalar, width: u8) -> Type {
    Type::vector(scalar, width)
}

pub fn intrinsic(op: Intrinsic, args: impl Into<Vec<Expr>>) -> Expr {
    Expr::Intrinsic(op, args.into())
}

pub fn select(cond: Expr, x: Expr, y: Expr) -> Expr {
    Expr::Select(Box::new(cond), Box::new(x), Box::new(y))
}

pub fn component(x: Expr, c: u8) -> Expr {
    Expr::Component(Box::new(x), c)
}

pub fn cast(scalar: Scalar, x: Expr) -> Expr {
    Expr::Cast(scalar, Box::new(x))
}

/// Every operator, intrinsic, literal, built-in and source of data.
fn expressions() -> Case {
    use BinaryOp as Op;
    let mut case = case(
        "every operator, intrinsic, literal, built-in and source of data",
        main_of(|f| {
            let (u, i, b) = (f.add_local("u", Type::UINT), f.add_local("i", Type::INT), f.add_local("b", Type::BOOL));
            let mask = f.add_local("mask", Type::MASK);
            let pair = f.add_local("pair", vector(Scalar::Int, 2));
            let flags = f.add_local("flags", vector(Scalar::Bool, 3));
            let var = Expr::Var;
            let sum = |x, y| binary(x, Op::Add, y);
            let mut body = vec![
                assign(u, sum(Expr::Input(0), Expr::Input(1))),
                assign(u, binary(var(u), Op::Sub, binary(Expr::Uniform(0), Op::Mul, Expr::Uniform(5)))),
                assign(u, binary(sum(var(u), Expr::Push(1)), Op::Div, binary(var(u), Op::BitOr, uint(1)))),
                assign(u, binary(var(u), Op::Mod, Expr::Constant(0))),
                assign(u, binary(sum(var(u), uint(1)), Op::Shl, binary(var(u), Op::BitAnd, uint(31)))),
                assign(u, binary(binary(var(u), Op::BitXor, uint(u32::MAX)), Op::Shr, uint(3))),
                assign(i, binary(Expr::Int(i32::MIN), Op::Sub, Expr::Int(-5))),
                assign(i, Expr::unary(UnaryOp::Neg, Expr::Int(-7))),
                assign(i, Expr::unary(UnaryOp::Neg, Expr::unary(UnaryOp::BitNot, var(i)))),
                assign(i, binary(binary(var(i), Op::BitAnd, Expr::Int(255)), Op::Mod, Expr::Int(10))),
                assign(i, binary(var(i), Op::Div, Expr::Int(-3))),
                assign(i, binary(var(i), Op::Shr, uint(2))),
                assign(b, binary(binary(var(i), Op::Lt, Expr::Int(3)), Op::And, binary(var(u), Op::Ge, uint(9)))),
                assign(b, binary(var(b), Op::Or, binary(var(i), Op::Le, Expr::Int(-1)))),
                assign(b, binary(Expr::unary(UnaryOp::Not, var(b)), Op::Xor, binary(var(i), Op::Gt, Expr::Int(0)))),
                assign(b, binary(var(b), Op::Eq, Expr::Bool(false))),
                assign(b, binary(binary(var(u), Op::BitAnd, uint(6)), Op::Ne, uint(2))),
                assign(u, select(var(b), uint(1), select(Expr::Bool(true), var(u), uint(3)))),
                assign(u, sum(cast(Scalar::Uint, var(b)), cast(Scalar::Uint, var(i)))),
                assign(mask, Expr::Vector(Type::MASK, vec![var(u), uint(0), uint(0x8000_0000), lane()])),
                assign(mask, Expr::unary(UnaryOp::BitNot, binary(var(mask), Op::BitXor, var(mask)))),
                assign(u, component(binary(var(mask), Op::BitAnd, Expr::Builtin(Builtin::LeMask)), 3)),
                assign(pair, Expr::Vector(vector(Scalar::Int, 2), vec![var(i), Expr::Int(-1)])),
                assign(pair, cast(Scalar::Int, cast(Scalar::Uint, var(pair)))),
                assign(flags, Expr::Vector(vector(Scalar::Bool, 3), vec![var(b), Expr::Bool(true), var(b)])),
                assign(flags, cast(Scalar::Bool, cast(Scalar::Int, var(flags)))),
                assign(i, component(intrinsic(Intrinsic::FindMsb, [var(pair)]), 1)),
            ];
            let offset = || binary(var(i), Op::BitAnd, Expr::Int(15));
            for op in Intrinsic::ALL.into_iter().take_while(|op| *op != Intrinsic::MulHigh) {
                let info = op.info();
                let mut args = vec![var(i); info.values];
                match op {
                    Intrinsic::Clamp => args = vec![var(i), Expr::Int(-3), Expr::Int(3)],
                    Intrinsic::Abs => args = vec![offset()],
                    Intrinsic::Floor | Intrinsic::Ceil | Intrinsic::Trunc => {
                        let half = binary(cast(Scalar::Float, offset()), Op::Mul, Expr::Float(Scalar::Float, 2));
                        body.push(assign(i, cast(Scalar::Int, intrinsic(op, [half]))));
                        continue;
                    }
                    _ => args.extend(vec![offset(); info.offsets]),
                }
                body.push(assign(i, intrinsic(op, args)));
            }
            for builtin in Builtin::ALL {
                let value = Expr::Builtin(builtin);
                let value = if builtin.ty() == Type::MASK { component(value, 2) } else { value };
                body.push(assign(u, binary(var(u), Op::BitXor, value)));
            }
            body.push(Stmt::Log { site: 7, values: vec![var(u), var(i), var(b), var(mask), var(pair), var(flags)] });
            body.push(Stmt::Log { site: 9, values: vec![] });
            body
        }),
    );
    case.tier = Tier::Plain;
    case.entry_point.workgroups_mut().count = [2, 3, 2];
    case.entry_point.workgroups_mut().default_size = Some([1, 2, 3]);
    let invocations = 8 * 12;
    case.data = Data {
        inputs: vec![(0..invocations).collect(), (0..invocations).map(|i| i * i).collect()],
        uniforms: vec![1, 2, 3, 4, 5, 6],
        push: vec![7, 8],
        resources: Vec::new(),
        constants: vec![SpecConstant { default: 3, value: 70_000 }, SpecConstant { default: 1, value: 4 }],
        flats: Vec::new(),
    };
    case
}

/// Carries, high words, packed integers, and what is done to whole vectors.
fn integer_functions() -> Case {
    use BinaryOp as Op;
    use Intrinsic as I;
    let (bytes, flags) = (vector(Scalar::Uint8, 4), vector(Scalar::Bool, 2));
    case(
        "carries, high words, packed integers, comparisons of vectors",
        main_of(|f| {
            let (u, i) = (f.add_local("u", Type::UINT), f.add_local("i", Type::INT));
            let (pair, b) = (f.add_local("pair", vector(Scalar::Uint, 2)), f.add_local("b", flags));
            let (quad, wide) = (f.add_local("quad", bytes), f.add_local("wide", Type::scalar(Scalar::Uint64)));
            let var = Expr::Var;
            let two = |x: Expr| [x.clone(), x];
            let mixed = intrinsic(I::Mix, [var(pair), var(pair), binary(var(pair), Op::Lt, var(pair))]);
            let sum = binary(intrinsic(I::MulHigh, two(var(u))), Op::Add, intrinsic(I::SubBorrow, two(var(u))));
            vec![
                assign(u, sum),
                assign(i, intrinsic(I::MulHigh, two(var(i)))),
                assign(pair, intrinsic(I::AddCarry, two(var(pair)))),
                assign(i, intrinsic(I::SignedRem, [var(i), Expr::Int(-3)])),
                assign(i, intrinsic(I::SignedMod, [var(i), Expr::Int(-3)])),
                assign(u, intrinsic(I::Dot, two(var(u)))),
                assign(i, intrinsic(I::DotAccSat, vec![var(i); 3])),
                assign(quad, intrinsic(I::Unpack8, [var(u)])),
                assign(u, intrinsic(I::Pack32, [binary(var(quad), Op::Add, var(quad))])),
                assign(wide, intrinsic(I::Pack64, [var(pair)])),
                assign(wide, intrinsic(I::Pack64, [intrinsic(I::Unpack16, [var(wide)])])),
                assign(pair, intrinsic(I::Unpack32, [var(wide)])),
                assign(
                    quad,
                    Expr::Vector(bytes, vec![component(intrinsic(I::Unpack8, [cast(Scalar::Uint16, var(i))]), 1); 4]),
                ),
                assign(
                    i,
                    cast(Scalar::Int, intrinsic(I::Pack16, [intrinsic(I::Unpack8, [cast(Scalar::Int16, var(i))])])),
                ),
                assign(pair, mixed),
                assign(b, Expr::unary(UnaryOp::Not, binary(var(b), Op::Ne, binary(var(pair), Op::Ge, var(pair))))),
                assign(u, cast(Scalar::Uint, intrinsic(I::Any, [var(b)]))),
                assign(u, intrinsic(I::Mix, [var(u), uint(3), intrinsic(I::All, [var(b)])])),
                Stmt::Log { site: 1, values: vec![var(u), var(i), var(pair), var(wide)] },
            ]
        }),
    )
}

/// Every statement, loop and label.
fn control_flow() -> Case {
    let test = |before: Block, cond| Some(Test { before, cond });
    let lane_odd = || lane_bits(1, 1);
    let mut case = case(
        "every statement, loop and label",
        main_of(|f| {
            let mask = mask_of(f);
            let unused = f.add_local("unused", Type::UINT);
            assert_eq!(unused, 1);
            let [i, j, k, n, after, late] =
                ["i", "j", "k", "n", "after", "late"].map(|name| f.add_local(name, Type::UINT));
            let int = f.add_local("int_lane", Type::INT);
            let inner = vec![
                branch(lane_odd(), [Stmt::Continue], []),
                branch(lane_is(BinaryOp::Eq, 2), [Stmt::Break], [assign(mask, uint(3))]),
            ];
            let outer = join([
                vec![repeat(LoopKind::Forever, j, uint(3), None, inner)],
                point(1, mask).into(),
                vec![repeat(LoopKind::DoWhile, k, binary(uint(1), BinaryOp::Add, uint(1)), None, point(2, mask))],
            ]);
            let kind = LoopKind::For {
                init: lane(),
                step: 3,
                update: join([point(3, mask).into(), vec![assign(late, Expr::Var(mask))]]),
            };
            let chain = branch(
                lane_is(BinaryOp::Lt, 2),
                point(4, mask),
                [branch(lane_is(BinaryOp::Lt, 4), point(5, mask), [branch(lane_odd(), [], point(6, mask))])],
            );
            let unsigned = Stmt::Switch {
                selector: binary(lane(), BinaryOp::BitAnd, uint(3)),
                arms: vec![
                    Arm { labels: vec![Label::Case(0), Label::Case(0xFFFF_FFFF)], body: point(7, mask).into() },
                    arm(Label::Default, join([vec![counted(n, uint(2), [], [])], vec![Stmt::Break]])),
                    arm(Label::Case(1), []),
                ],
                control: SelectionControl::DontFlatten,
            };
            let signed = Stmt::Switch {
                selector: Expr::Var(int),
                arms: vec![
                    arm(Label::Case(-1), [Stmt::Return(None)]),
                    arm(Label::Case(i32::MIN.into()), point(8, mask)),
                    arm(Label::Case(5), [Stmt::SubgroupBarrier(SubgroupOp::MemoryBarrierBuffer)]),
                ],
                control: SelectionControl::Unspecified,
            };
            let either = binary(lane_odd(), BinaryOp::Or, lane_is(BinaryOp::Gt, 4));
            let asking = |stmt: Stmt, selection: SelectionControl, repeated: LoopControl| match stmt {
                Stmt::If { cond, then, otherwise, .. } => Stmt::If { cond, then, otherwise, control: selection },
                Stmt::Loop(l) => Stmt::Loop(Box::new(Loop { control: repeated, ..*l })),
                other => other,
            };
            let (flatten, unroll) = (SelectionControl::Flatten, LoopControl::Unroll);
            let drained = repeat(LoopKind::While, after, uint(4), test(point(9, mask).into(), lane_odd()), []);
            join([vec![
                asking(repeat(kind, i, uint(6), test(vec![], either), outer), flatten, unroll),
                asking(chain, flatten, unroll),
                unsigned,
                assign(int, Expr::Cast(Scalar::Int, Box::new(lane()))),
                signed,
                asking(drained, flatten, LoopControl::DontUnroll),
                Stmt::Log { site: 10, values: vec![Expr::Var(after), Expr::Var(late)] },
                Stmt::SubgroupBarrier(SubgroupOp::Barrier),
                Stmt::Assume(lane_is(BinaryOp::Lt, 128)),
                Stmt::Return(None),
            ]])
        }),
    );
    case.tier = Tier::SubgroupUniform;
    case
}

/// Arrays, matrices and structs as locals, parameters and results; elements by literals and by indices.
fn aggregates() -> Case {
    let shaped = |ty: Type, shape| Type { shape, ..ty };
    let array = shaped(Type::UINT, Shape::Array(4));
    let matrix = shaped(vector(Scalar::Float, 3), Shape::Matrix(2));
    let record = shaped(vector(Scalar::Int, 2), Shape::Struct(3));
    let at = |var: VarId, index: Expr| Expr::element(Expr::Var(var), index);
    let set = |var, index, value| set_element(var, [index], value);
    let own = |mask| binary(lane(), BinaryOp::BitAnd, uint(mask));
    let param = |name: &str, direction, ty| Param { name: name.into(), direction, ty };
    let turn = Function {
        name: "turn".into(),
        params: vec![param("every", Direction::Inout, array), param("from", Direction::In, record)],
        result: Some(record),
        ..function("", |_| {
            vec![
                set(0, own(3), Expr::Cast(Scalar::Uint, Box::new(component(at(1, uint(2)), 1)))),
                set(1, uint(0), at(1, uint(2))),
                Stmt::Return(Some(Expr::Var(1))),
            ]
        })
    };
    let main = function("main", |f| {
        let (all, other) = (f.add_local("every", array), f.add_local("other", array));
        let (columns, kept) = (f.add_local("columns", matrix), f.add_local("kept", record));
        let (ballot_of, x) = (f.add_local("ballot_of", Type::MASK), f.add_local("x", Type::UINT));
        let column = f.add_local("column", vector(Scalar::Float, 3));
        f.locals[columns as usize].precise = true;
        f.locals[column as usize].precise = true;
        let pair = |a, b| Expr::Vector(vector(Scalar::Int, 2), vec![Expr::Int(a), Expr::Int(b)]);
        vec![
            assign(all, Expr::Vector(array, vec![lane(), uint(1), uint(2), uint(3)])),
            assign(other, Expr::Var(all)),
            set(columns, own(1), Expr::Vector(vector(Scalar::Float, 3), vec![Expr::Float(Scalar::Float, 6); 3])),
            assign(column, at(columns, binary(lane(), BinaryOp::Mod, uint(2)))),
            assign(kept, Expr::Vector(record, vec![pair(1, 2), pair(3, 4), pair(5, 6)])),
            Stmt::Call { function: 0, args: vec![Arg::Out(other), Arg::In(Expr::Var(kept))], dest: Some(kept) },
            assign(ballot_of, ballot(lane_is(BinaryOp::Lt, 5))),
            set(ballot_of, own(3), uint(7)),
            assign(x, binary(at(ballot_of, own(1)), BinaryOp::Add, at(other, own(3)))),
            Stmt::Log { site: 1, values: [all, other, columns, kept].map(Expr::Var).into() },
            Stmt::Log { site: 2, values: [ballot_of, x, column].map(Expr::Var).into() },
        ]
    });
    case("arrays, matrices and structs", vec![turn, main])
}

/// `var[index][…] = value;`
pub fn set_element<const N: usize>(var: VarId, indices: [Expr; N], value: Expr) -> Stmt {
    let mut indices = indices.into_iter();
    let index = indices.next().expect("an index");
    Stmt::SetElement { var, index, inner: indices.collect(), value }
}

/// The type of this name.
pub fn named(name: &str) -> Type {
    name.parse().expect("there is such a type")
}

/// Structs of members of several types, one within the other: passed, returned, copied in a branch, written in part.
fn records() -> Case {
    let inner = named("struct(u32, f32x3, bool)");
    let record = named("struct(i32x2, struct(u32, f32x3, bool), matrix(f32x2, 2), u32)");
    let member = |of: Expr, number: u32| Expr::element(of, uint(number));
    let param = |name: &str, direction, ty| Param { name: name.into(), direction, ty };
    let exchange = Function {
        name: "exchange".into(),
        params: vec![param("whole", Direction::Inout, record), param("part", Direction::In, inner)],
        result: Some(inner),
        ..function("", |f| {
            f.add_local("before", inner);
            // Behind the parameters.
            let before = 2;
            vec![
                assign(before, member(Expr::Var(0), 1)),
                set_element(0, [uint(1)], Expr::Var(1)),
                Stmt::Return(Some(Expr::Var(before))),
            ]
        })
    };
    let main = function("main", |f| {
        let (all, copy) = (f.add_local("every", record), f.add_local("copy", record));
        let (part, x) = (f.add_local("part", inner), f.add_local("x", Type::UINT));
        let floats = |quarters| Expr::Vector(vector(Scalar::Float, 3), vec![Expr::Float(Scalar::Float, quarters); 3]);
        let made = Expr::Vector(inner, vec![lane(), floats(2), lane_is(BinaryOp::Lt, 3)]);
        vec![
            assign(part, made),
            set_element(all, [uint(3)], uint(9)),
            set_element(all, [uint(1), uint(1), binary(lane(), BinaryOp::Mod, uint(3))], Expr::Float(Scalar::Float, 5)),
            Stmt::If {
                cond: lane_is(BinaryOp::Lt, 2),
                then: vec![assign(copy, Expr::Var(all))],
                otherwise: vec![set_element(copy, [uint(0), uint(1)], Expr::Int(-1))],
                control: SelectionControl::default(),
            },
            Stmt::Call { function: 0, args: vec![Arg::Out(copy), Arg::In(Expr::Var(part))], dest: Some(part) },
            assign(x, Expr::subgroup(SubgroupOp::BroadcastFirst, [member(member(Expr::Var(copy), 1), 0)])),
            Stmt::Log { site: 1, values: vec![Expr::Var(x), member(Expr::Var(part), 2)] },
        ]
    });
    case("structs of members of several types", vec![exchange, main])
}

/// Arrays of arrays and of structs, arrays in structs: elements by literals and by indices, in what is made and in variables.
fn nested_aggregates() -> Case {
    let grid = named("array(array(u32, 4), 2)");
    let (record, list) =
        (named("struct(bool, array(i32x2, 2), f32)"), named("array(struct(bool, array(i32x2, 2), f32), 3)"));
    let own = |mask| binary(lane(), BinaryOp::BitAnd, uint(mask));
    let main = function("main", |f| {
        let (cells, kept, rows) = (f.add_local("cells", grid), f.add_local("kept", grid), f.add_local("rows", list));
        let (row, x) = (f.add_local("row", record), f.add_local("x", Type::UINT));
        let column = f.add_local("column", named("array(u32, 4)"));
        let counter = f.add_local("i", Type::UINT);
        let made = |first| Expr::Vector(named("array(u32, 4)"), vec![lane(), uint(first), uint(2), uint(3)]);
        let pair = |a, b| Expr::Vector(vector(Scalar::Int, 2), vec![Expr::Int(a), Expr::Int(b)]);
        let at = |of: Expr, index: Expr| Expr::element(of, index);
        vec![
            assign(cells, Expr::Vector(grid, vec![made(4), made(5)])),
            set_element(cells, [own(1), own(3)], uint(7)),
            Stmt::Loop(Box::new(Loop {
                kind: LoopKind::DoWhile,
                counter,
                bound: uint(2),
                test: None,
                body: vec![
                    assign(kept, Expr::Var(cells)),
                    set_element(cells, [uint(1)], at(Expr::Var(kept), own(1))),
                    set_element(rows, [uint(2), uint(1), own(1)], pair(1, -1)),
                ],
                control: LoopControl::default(),
            })),
            assign(row, at(Expr::Var(rows), binary(lane(), BinaryOp::Mod, uint(3)))),
            assign(column, at(Expr::Vector(grid, vec![made(6), Expr::Var(column)]), uint(0))),
            assign(x, binary(at(at(Expr::Var(cells), own(1)), own(3)), BinaryOp::Add, at(Expr::Var(column), uint(1)))),
            Stmt::Log { site: 1, values: vec![Expr::Var(x), at(Expr::Var(row), uint(0))] },
            Stmt::Log { site: 2, values: vec![component(at(at(at(Expr::Var(rows), own(1)), uint(1)), own(1)), 1)] },
        ]
    });
    case("arrays of arrays and of structs", vec![main])
}

/// Parameters of all directions, results, calls in the heads of loops, and locals declared in all places.
fn functions() -> Case {
    let param = |name: &str, direction, ty| Param { name: name.into(), direction, ty };
    let scale = Function {
        name: "scale".into(),
        params: vec![
            param("x", Direction::In, Type::UINT),
            param("twice", Direction::Out, Type::UINT),
            param("seen", Direction::Inout, Type::MASK),
        ],
        result: Some(Type::UINT),
        ..function("", |f| {
            let half = f.add_local("half_of", Type::UINT);
            assert_eq!(half, 0);
            vec![
                branch(lane_is(BinaryOp::Lt, 3), [Stmt::Return(Some(Expr::Var(0)))], []),
                assign(1, binary(Expr::Var(0), BinaryOp::Mul, Expr::Builtin(Builtin::SubgroupSize))),
                assign(2, ballot(Expr::Bool(true))),
                assign(3, binary(Expr::Var(1), BinaryOp::Shr, uint(2))),
                Stmt::Return(Some(binary(Expr::Var(3), BinaryOp::Add, Expr::Builtin(Builtin::WorkgroupIndex)))),
            ]
        })
    };
    let silent = Function {
        params: vec![param("flag", Direction::Out, Type::BOOL), param("pair", Direction::Out, vector(Scalar::Int, 2))],
        ..function("silent", |_| vec![])
    };
    let main = function("main", |f| {
        let [got, first, i, early] = ["got", "first", "i", "early"].map(|name| f.add_local(name, Type::UINT));
        let seen = f.add_local("seen", Type::MASK);
        let (flag, pair) = (f.add_local("flag", Type::BOOL), f.add_local("pair", vector(Scalar::Int, 2)));
        let call = |dest| Stmt::Call {
            function: 0,
            args: vec![Arg::In(lane()), Arg::Out(first), Arg::Out(seen)],
            dest: Some(dest),
        };
        let quiet = || Stmt::Call { function: 1, args: vec![Arg::Out(flag), Arg::Out(pair)], dest: None };
        let logged = |site| Stmt::Log { site, values: vec![Expr::Var(got), Expr::Var(seen)] };
        let test = Test { before: vec![call(got), logged(1), quiet()], cond: Expr::Var(flag) };
        let kind = LoopKind::For { init: uint(1), step: 1, update: vec![quiet(), call(early), logged(2)] };
        vec![
            call(got),
            assign(early, binary(Expr::Var(early), BinaryOp::Add, uint(1))),
            repeat(kind, i, uint(3), Some(test), [logged(3)]),
            Stmt::Log { site: 4, values: vec![Expr::Var(i), Expr::Var(early), Expr::Var(pair)] },
        ]
    });
    let mut case = case("parameters, results, and where locals are declared", vec![scale, silent, main]);
    case.entry_point.workgroups_mut().count = [3, 1, 1];
    case.entry_point.workgroups_mut().size = [4, 2, 1];
    case
}

/// Every row of the table, on uints and, where it takes them, on bools and int vectors.
fn subgroup_operations() -> Case {
    let mut case = case(
        "every subgroup operation",
        main_of(|f| {
            let flag = f.add_local("flag", Type::BOOL);
            let number = f.add_local("number", Type::UINT);
            let mask = f.add_local("mask", Type::MASK);
            let ints = f.add_local("ints", vector(Scalar::Int, 3));
            let mut body = Vec::new();
            for info in &TABLE {
                let cluster = info.clustered.then_some(4);
                if info.gives == Gives::Nothing {
                    body.push(Stmt::SubgroupBarrier(info.op));
                    continue;
                }
                for var in [number, flag, ints] {
                    let ty = f.var_type(var).unwrap();
                    let generic = info.params.first() == Some(&Operand::Value);
                    if generic && !info.scalars.contains(&ty.scalar) || !generic && var != number {
                        continue;
                    }
                    let args: Vec<Expr> =
                        info.params.iter().map(|param| operand(*param, Expr::Var(var), mask)).collect();
                    let dest = match info.gives {
                        Gives::Same => var,
                        Gives::Bool => flag,
                        Gives::Mask => mask,
                        Gives::Uint | Gives::Nothing => number,
                    };
                    body.push(assign(dest, Expr::Subgroup(SubgroupCall { op: info.op, args, cluster })));
                }
            }
            let mixed = Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [Expr::Var(number)]);
            body.push(assign(number, binary(mixed, BinaryOp::Add, uint(1))));
            body.push(Stmt::Log { site: 1, values: [flag, number, mask, ints].map(Expr::Var).into() });
            body
        }),
    );
    case.entry_point.spirv = SpirvVersion::V1_5;
    case
}

fn operand(param: Operand, value: Expr, mask: VarId) -> Expr {
    let first = |value| Expr::subgroup(SubgroupOp::BroadcastFirst, [value]);
    match param {
        Operand::Value => value,
        Operand::Predicate => lane_bits(1, 1),
        Operand::Mask => Expr::Var(mask),
        Operand::UniformMask => ballot(lane_bits(2, 2)),
        Operand::Uint => binary(lane(), BinaryOp::BitXor, uint(1)),
        Operand::BroadcastLane => first(lane()),
        Operand::UniformUint => binary(first(lane()), BinaryOp::Add, uint(2)),
        Operand::QuadIndex => uint(3),
        Operand::Partition => Expr::subgroup(SubgroupOp::Partition, [lane_bits(3, 1)]),
    }
}
