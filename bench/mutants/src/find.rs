//! Finds the places of a source file that can be changed, and says how.

use proc_macro2::{Span, TokenStream};
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Pat, ReturnType, Stmt, Token, Type, UnOp};

/// A change of one place.
#[derive(Debug)]
pub struct Mutant {
    /// What it is called: stays the same while the function and the changed code do.
    pub name: String,
    /// Where the changed code begins, from 1.
    pub line: usize,
}

/// Text put into the source.
#[derive(Debug)]
pub struct Insertion {
    /// Byte of the source that it is put in front of.
    pub at: usize,
    /// Pieces of text; a piece that is there for one mutant only names it, by its index in [`Found::mutants`].
    pub pieces: Vec<(String, Option<usize>)>,
}

/// What was found in a file.
#[derive(Debug, Default)]
pub struct Found {
    /// Every change, in the order of the source.
    pub mutants: Vec<Mutant>,
    /// The text that makes them, in the order of the result.
    pub insertions: Vec<Insertion>,
}

/// Finds the mutants of a file. `is_wanted` says, by its name, whether one is made.
pub fn find(text: &str, is_wanted: &dyn Fn(&str) -> bool) -> syn::Result<Found> {
    let file = syn::parse_file(text)?;
    let mut finder =
        Finder { text, is_wanted, path: Vec::new(), found: Found::default(), names: Vec::new(), ends: Vec::new() };
    finder.visit_file(&file);
    let Finder { mut found, ends, .. } = finder;
    // At one byte what ends comes first, the innermost first, and what begins after it, the outermost first.
    let mut all: Vec<(usize, bool, Insertion)> = ends.into_iter().rev().map(|end| (end.at, false, end)).collect();
    all.extend(found.insertions.into_iter().map(|begin| (begin.at, true, begin)));
    all.sort_by_key(|(at, begins, _)| (*at, *begins));
    found.insertions = all.into_iter().map(|(_, _, insertion)| insertion).collect();
    Ok(found)
}

struct Finder<'t> {
    text: &'t str,
    is_wanted: &'t dyn Fn(&str) -> bool,
    /// The type and the function around.
    path: Vec<String>,
    found: Found,
    names: Vec<String>,
    /// What is put behind a piece of code, in the order of what is put in front of it.
    ends: Vec<Insertion>,
}

/// The call that asks whether mutant `id` is the one that runs; ids are put in when all files are known.
fn asks(id: usize) -> (String, Option<usize>) {
    (format!("crate::mutants::is({ID}{id}{ID})"), Some(id))
}

/// Around the index of a mutant in the text of an insertion.
pub const ID: char = '\u{1}';

impl Finder<'_> {
    fn slice(&self, span: Span) -> &str {
        &self.text[span.byte_range()]
    }

    /// The id of a mutant, unless it is not wanted.
    fn mutant(&mut self, span: Span, from: &str, to: &str) -> Option<usize> {
        let mut from = from.split_whitespace().collect::<Vec<_>>().join(" ");
        if from.chars().count() > 100 {
            from = from.chars().take(99).chain(['…']).collect();
        }
        let plain = format!("{}: `{from}`: {to}", self.path.join("::"));
        let before = self.names.iter().filter(|name| **name == plain).count();
        let name = if before == 0 { plain.clone() } else { format!("{plain} ({})", before + 1) };
        self.names.push(plain);
        (self.is_wanted)(&name).then(|| {
            self.found.mutants.push(Mutant { name, line: span.start().line });
            self.found.mutants.len() - 1
        })
    }

    /// `code` becomes `(if it is the mutant { other code } else { code })`.
    fn replace(&mut self, code: Span, others: Vec<(Option<usize>, String)>) {
        let mut pieces = vec![("(".to_owned(), None)];
        for (id, other) in others {
            let Some(id) = id else { continue };
            pieces.push((format!("if {} {{ {other} }} else ", asks(id).0), Some(id)));
        }
        pieces.push(("{ ".to_owned(), None));
        let range = code.byte_range();
        self.found.insertions.push(Insertion { at: range.start, pieces });
        self.ends.push(Insertion { at: range.end, pieces: vec![(" })".to_owned(), None)] });
    }

    fn insert(&mut self, at: usize, pieces: Vec<(String, Option<usize>)>) {
        self.found.insertions.push(Insertion { at, pieces });
    }

    fn function(&mut self, name: &syn::Ident, output: &ReturnType, block: &syn::Block) {
        self.path.push(name.to_string());
        let body = self.slice(block.span());
        let body = body[1..body.len() - 1].trim().to_owned();
        let values = match output {
            ReturnType::Default => vec![String::new()],
            ReturnType::Type(_, ty) => values(ty),
        };
        let at = block.brace_token.span.open().byte_range().end;
        for value in values.into_iter().filter(|value| *value != body) {
            let to = if value.is_empty() { "does nothing".to_owned() } else { format!("returns {value}") };
            if let Some(id) = self.mutant(name.span(), name.to_string().as_str(), &to) {
                self.insert(at, vec![(format!(" if {} {{ return {value}; }}", asks(id).0), Some(id))]);
            }
        }
        self.visit_block(block);
        self.path.pop();
    }

    /// The expressions in the parentheses of a macro, where it is one that has expressions.
    fn arguments(&mut self, mac: &syn::Macro) {
        let Some(name) = mac.path.segments.last().map(|segment| segment.ident.to_string()) else { return };
        let tokens: TokenStream = mac.tokens.clone();
        match name.as_str() {
            "vec" => {
                let list = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(tokens.clone());
                let repeated = |input: syn::parse::ParseStream| {
                    let value: Expr = input.parse()?;
                    input.parse::<Token![;]>()?;
                    Ok((value, input.parse::<Expr>()?))
                };
                if let Ok(list) = list {
                    list.iter().for_each(|expr| self.visit_expr(expr));
                } else if let Ok((value, count)) = repeated.parse2(tokens) {
                    self.visit_expr(&value);
                    self.visit_expr(&count);
                }
            }
            "matches" => {
                let scrutinee = |input: syn::parse::ParseStream| {
                    let value: Expr = input.parse()?;
                    input.parse::<TokenStream>()?;
                    Ok(value)
                };
                if let Ok(value) = scrutinee.parse2(tokens) {
                    self.visit_expr(&value);
                }
            }
            // What is asserted never fails, and what is printed is for people.
            _ => {}
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_generics(&mut self, _: &'ast syn::Generics) {}
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_item_macro(&mut self, _: &'ast syn::ItemMacro) {}
    fn visit_pat(&mut self, _: &'ast Pat) {}

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig.ident, &item.sig.output, &item.block);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of = |path: &syn::Path| path.segments.last().map(|segment| segment.ident.to_string());
        let of_trait = item.trait_.as_ref().and_then(|(_, path, _)| of(path));
        if is_test(&item.attrs) || of_trait.is_some_and(|name| ["Display", "Debug", "Error"].contains(&name.as_str())) {
            return;
        }
        let name = match &*item.self_ty {
            Type::Path(path) => of(&path.path).unwrap_or_default(),
            ty => self.slice(ty.span()).to_owned(),
        };
        self.path.push(name);
        item.items.iter().for_each(|item| self.visit_impl_item(item));
        self.path.pop();
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig.ident, &item.sig.output, &item.block);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.path.push(item.ident.to_string());
        item.items.iter().for_each(|item| self.visit_trait_item(item));
        self.path.pop();
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig.ident, &item.sig.output, block);
        }
    }

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        let op = self.slice(expr.op.span()).to_owned();
        let others: &[&str] = match &expr.op {
            // A condition that binds names is no operand of `||`.
            BinOp::And(_) if has_let(&expr.left) || has_let(&expr.right) => &[],
            BinOp::And(_) => &["||"],
            BinOp::Or(_) => &["&&"],
            BinOp::Add(_) => &["-", "*"],
            BinOp::Sub(_) => &["+"],
            BinOp::Mul(_) => &["+"],
            BinOp::Div(_) => &["*"],
            BinOp::Rem(_) => &["/"],
            BinOp::BitAnd(_) => &["|", "^"],
            BinOp::BitOr(_) => &["&", "^"],
            BinOp::BitXor(_) => &["&", "|"],
            BinOp::Shl(_) => &[">>"],
            BinOp::Shr(_) => &["<<"],
            BinOp::Lt(_) => &["<=", ">="],
            BinOp::Le(_) => &["<", ">"],
            BinOp::Gt(_) => &[">=", "<="],
            BinOp::Ge(_) => &[">", "<"],
            BinOp::Eq(_) => &["!="],
            BinOp::Ne(_) => &["=="],
            BinOp::AddAssign(_) => &["-="],
            BinOp::SubAssign(_) => &["+="],
            BinOp::MulAssign(_) => &["+="],
            BinOp::DivAssign(_) => &["*="],
            BinOp::RemAssign(_) => &["/="],
            BinOp::BitAndAssign(_) => &["|=", "^="],
            BinOp::BitOrAssign(_) => &["&=", "^="],
            BinOp::BitXorAssign(_) => &["&=", "|="],
            BinOp::ShlAssign(_) => &[">>="],
            BinOp::ShrAssign(_) => &["<<="],
            _ => &[],
        };
        let whole = self.slice(expr.span()).to_owned();
        let (left, right) = (self.slice(expr.left.span()).to_owned(), self.slice(expr.right.span()).to_owned());
        let with = |other: &&str| {
            let id = self.mutant(expr.op.span(), &whole, &format!("{op} is {other}"));
            (id, format!("({left}) {other} ({right})"))
        };
        let mut others: Vec<_> = others.iter().map(with).collect();
        if matches!(expr.op, BinOp::AddAssign(_)) {
            others.push((self.mutant(expr.op.span(), &whole, "not done"), "()".to_owned()));
        }
        if others.iter().any(|(id, _)| id.is_some()) {
            self.replace(expr.span(), others);
        }
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_unary(&mut self, expr: &'ast syn::ExprUnary) {
        if matches!(expr.op, UnOp::Not(_) | UnOp::Neg(_)) {
            let whole = self.slice(expr.span()).to_owned();
            let op = self.slice(expr.op.span()).to_owned();
            if let Some(id) = self.mutant(expr.span(), &whole, &format!("no {op}")) {
                // Twice, so that a reference becomes a value all the same.
                self.replace(expr.span(), vec![(Some(id), format!("{op}({whole})"))]);
            }
        }
        visit::visit_expr_unary(self, expr);
    }

    fn visit_expr_match(&mut self, expr: &'ast syn::ExprMatch) {
        self.visit_expr(&expr.expr);
        let others = |arm: &syn::Arm| arm.guard.is_none() && takes_all(&arm.pat);
        let last = expr.arms.iter().rposition(others).unwrap_or(0);
        for (nth, arm) in expr.arms.iter().enumerate() {
            let pat = self.slice(arm.pat.span()).to_owned();
            let without =
                if nth < last || arm.guard.is_some() { self.mutant(arm.pat.span(), &pat, "no such arm") } else { None };
            match &arm.guard {
                None => {
                    if let Some(id) = without {
                        self.insert(arm.pat.span().byte_range().end, vec![(format!(" if !{}", asks(id).0), Some(id))]);
                    }
                }
                Some((_, guard)) if !has_let(guard) => {
                    let text = format!("{pat} if {}", self.slice(guard.span()));
                    let always = self.mutant(guard.span(), &text, "the guard is true");
                    let range = guard.span().byte_range();
                    let mut pieces = Vec::new();
                    if let Some(id) = without {
                        pieces.push((format!("!{} && ", asks(id).0), Some(id)));
                    }
                    pieces.push(("(".to_owned(), None));
                    if let Some(id) = always {
                        pieces.push((format!("{} || ", asks(id).0), Some(id)));
                    }
                    self.insert(range.start, pieces);
                    self.ends.push(Insertion { at: range.end, pieces: vec![(")".to_owned(), None)] });
                    self.visit_expr(guard);
                }
                Some((_, guard)) => self.visit_expr(guard),
            }
            self.visit_expr(&arm.body);
        }
    }

    fn visit_expr_macro(&mut self, expr: &'ast syn::ExprMacro) {
        if expr.mac.path.is_ident("matches") {
            let whole = self.slice(expr.span()).to_owned();
            if let Some(id) = self.mutant(expr.span(), &whole, "negated") {
                self.replace(expr.span(), vec![(Some(id), format!("!{whole}"))]);
            }
        }
        self.arguments(&expr.mac);
    }

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        match stmt {
            Stmt::Macro(stmt) => self.arguments(&stmt.mac),
            _ => visit::visit_stmt(self, stmt),
        }
    }

    // Lengths of arrays are constants.
    fn visit_expr_repeat(&mut self, expr: &'ast syn::ExprRepeat) {
        self.visit_expr(&expr.expr);
    }

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
}

fn is_test(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| match &attr.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        syn::Meta::NameValue(_) => false,
    })
}

/// True for a condition with a `let`, which has to stay where it is.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(expr) => matches!(expr.op, BinOp::And(_)) && (has_let(&expr.left) || has_let(&expr.right)),
        _ => false,
    }
}

fn takes_all(pat: &Pat) -> bool {
    match pat {
        Pat::Wild(_) => true,
        // A name in lower case binds; others are constants or variants.
        Pat::Ident(pat) => pat.subpat.is_none() && pat.ident.to_string().starts_with(char::is_lowercase),
        Pat::Tuple(pat) => pat.elems.iter().all(takes_all),
        Pat::Paren(pat) => takes_all(&pat.pat),
        _ => false,
    }
}

/// Values that a function of this type may return whatever it is asked; where the type has none, the compiler says so.
fn values(ty: &Type) -> Vec<String> {
    let one = |text: &str| vec![text.to_owned()];
    match ty {
        Type::Tuple(tuple) => {
            let firsts: Option<Vec<String>> = tuple.elems.iter().map(|ty| values(ty).into_iter().next()).collect();
            firsts.map(|firsts| format!("({})", firsts.join(", "))).into_iter().collect()
        }
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Vec::new() };
            let inner = match &last.arguments {
                syn::PathArguments::AngleBracketed(arguments) => arguments.args.first(),
                _ => None,
            };
            let inner = match inner {
                Some(syn::GenericArgument::Type(ty)) => values(ty),
                _ => Vec::new(),
            };
            let around = |before: &str| inner.iter().map(move |value| format!("{before}({value})")).collect::<Vec<_>>();
            match last.ident.to_string().as_str() {
                "bool" => vec!["true".into(), "false".into()],
                "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => {
                    vec!["0".into(), "1".into()]
                }
                "f32" | "f64" => vec!["0.0".into(), "1.0".into()],
                // What is printed for people.
                "String" => Vec::new(),
                "Option" => [one("None"), around("Some")].concat(),
                "Result" => around("Ok"),
                "Vec" => {
                    [one("Vec::new()"), inner.iter().take(1).map(|value| format!("vec![{value}]")).collect()].concat()
                }
                _ => one("Default::default()"),
            }
        }
        _ => Vec::new(),
    }
}
