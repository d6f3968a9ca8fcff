//! Where a driver dies: what counts crashes together.
//!
//! Not what it prints. A message has the program in it (`Cannot select: t31: v8i32 = …`), so that one bug of a compiler has many, and many
//! crashes have none. What a place is made of, and why it is the same again:
//!
//! | part | the same in every run | on every machine with that build | in other builds and versions |
//! |---|---|---|---|
//! | the library, by its name without its version | yes | yes | yes |
//! | an exported function's name, without its parameters | yes | yes | as long as the function is called so |
//! | the offset of a function that exports no name | yes | yes | no: [`CrashPlace::in_any_build`] leaves it out |
//! | addresses, instructions in a function, lines | no, yes, where a debugger is | no | no |
//!
//! The worker itself says where it was (`tangle_runner::stack`): no debugger takes part, so that a signature does not depend on who has one.
//!
//! The innermost three functions make the place: one alone may be a helper that everything calls (a cast that checks its operand), or what
//! reports fatal errors. A function that calls itself counts once. Left out is what belongs to no driver: the libraries of C
//! and C++ (`abort` and what is below it), and from the worker on outwards, all that calls a driver. Code that a driver generated has no
//! functions; where a driver dies in it, that is the place.

use std::fmt;

use serde::{Deserialize, Serialize};

/// So many functions make a place.
const FUNCTIONS: usize = 3;

/// What the compiler has called where a function has written over its own frame: with it over the address that it returns to, so that the frames
/// further out are whatever lies in memory.
const SMASHED: &str = "__stack_chk_fail";

/// The longest name of a function in a signature, characters.
const NAME: usize = 120;

/// The libraries that every program has: whoever dies in them was called by a driver.
const RUNTIME: [&str; 12] = [
    "libc",
    "libpthread",
    "libm",
    "libdl",
    "librt",
    "ld-linux-x86-64",
    "ld-linux-aarch64",
    "libgcc_s",
    "libstdc++",
    "libc++",
    "libc++abi",
    "linux-vdso",
];

/// A frame of a crash's stack, the innermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// In the worker's own program: tangle, and what is linked with it.
    Worker,
    /// In code that a driver generated.
    Generated,
    /// In a shared library: the driver's, or one that it uses.
    Library {
        /// Its path or name.
        path: &'a str,
        /// The name that the function exports, as it stands in the library.
        symbol: Option<&'a str>,
        /// Offset of the function's first byte.
        function: Option<u64>,
    },
}

/// The innermost functions of a driver that dies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CrashPlace(Vec<Function>);

/// A function, as far as it is the same in the next run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Function {
    /// Code that a driver generated.
    Generated,
    /// A function that exports its name.
    Named { library: String, name: String },
    /// One that does not, by its offset in this build.
    At { library: String, offset: u64 },
    /// One of which not even that is known.
    In { library: String },
}

impl CrashPlace {
    /// From the frames of a stack; `None` if a driver's are not among them.
    pub fn of<'a>(frames: impl IntoIterator<Item = Frame<'a>>) -> Option<CrashPlace> {
        let mut functions: Vec<Function> = Vec::new();
        let mut most = FUNCTIONS;
        for frame in frames {
            let function = match frame {
                // A stack that begins in the worker is of no driver.
                Frame::Worker => break,
                Frame::Generated => Function::Generated,
                Frame::Library { path, symbol, function } => {
                    let library = library(path);
                    if RUNTIME.contains(&library.as_str()) {
                        if symbol == Some(SMASHED) {
                            most = 1;
                        }
                        continue;
                    }
                    match (symbol.map(readable), function) {
                        (Some(name), _) => Function::Named { library, name },
                        (None, Some(offset)) => Function::At { library, offset },
                        (None, None) => Function::In { library },
                    }
                }
            };
            let is_last = function == Function::Generated;
            if !functions.contains(&function) {
                functions.push(function);
            }
            // What called generated code cannot be distinguished from it.
            if is_last || functions.len() == most {
                break;
            }
        }
        (!functions.is_empty()).then_some(CrashPlace(functions))
    }

    /// True if it says as much of every build of the driver: all of its functions have names.
    pub fn is_of_any_build(&self) -> bool {
        self.0.iter().all(|function| matches!(function, Function::Named { .. }))
    }

    /// True if the driver died in the same function, whoever called it.
    pub fn begins_like(&self, other: &CrashPlace) -> bool {
        self.0.first() == other.0.first()
    }

    /// What of it can be compared with another build's.
    #[must_use]
    pub fn in_any_build(&self) -> CrashPlace {
        let without = |function: &Function| match function {
            Function::At { library, .. } => Function::In { library: library.clone() },
            other => other.clone(),
        };
        CrashPlace(self.0.iter().map(without).collect())
    }
}

/// `/usr/lib/libLLVM-15.so.1` and `libLLVM.so.19.1` become `libLLVM`.
fn library(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let name = file.split(".so").next().unwrap_or(file);
    // A version is numbers; `ld-linux-x86-64` ends in one that is none.
    let name = if name.starts_with("ld-linux") {
        name
    } else {
        name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'))
    };
    name.chars().take(NAME).collect()
}

/// The name of a function without its parameters, which change more often.
fn readable(symbol: &str) -> String {
    let demangled = || {
        let mut name = String::new();
        let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
        cpp_demangle::Symbol::new(symbol).ok()?.structured_demangle(&mut name, &options).ok()?;
        Some(name)
    };
    demangled().unwrap_or_else(|| symbol.to_owned()).chars().take(NAME).collect()
}

impl fmt::Display for CrashPlace {
    /// `llvm::report_fatal_error, llvm::SelectionDAGISel::CannotYetSelect of libLLVM, libvulkan_lvp+0x1f30`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, function) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            match function {
                Function::Generated => f.write_str("generated code")?,
                Function::Named { library, name } => {
                    f.write_str(name)?;
                    let next = self.0.get(at + 1);
                    if !matches!(next, Some(Function::Named { library: other, .. }) if other == library) {
                        write!(f, " of {library}")?;
                    }
                }
                Function::At { library, offset } => write!(f, "{library}+{offset:#x}")?,
                Function::In { library } => f.write_str(library)?,
            }
        }
        Ok(())
    }
}

/// The name of a function for people, with its parameters.
pub fn demangled(symbol: &str) -> String {
    cpp_demangle::Symbol::new(symbol).ok().and_then(|symbol| symbol.demangle().ok()).unwrap_or_else(|| symbol.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at<'a>(path: &'a str, symbol: Option<&'a str>, function: u64) -> Frame<'a> {
        Frame::Library { path, symbol, function: Some(function) }
    }

    const FATAL: Frame<'_> = at("/lib/libLLVM-15.so.1", Some("_ZN4llvm18report_fatal_errorERKNS_5TwineEb"), 1);
    const SELECT: Frame<'_> =
        at("/lib/libLLVM.so.19.1", Some("_ZN4llvm16SelectionDAGISel15CannotYetSelectEPNS_6SDNodeE"), 2);
    const ABORT: Frame<'_> = at("/lib/libc.so.6", Some("abort"), 3);

    #[test]
    fn a_place_is_the_innermost_functions_of_a_driver() {
        let driver = |function| at("/x/libvulkan_lvp.so", None, function);
        for (frames, want) in [
            (vec![], None),
            (vec![Frame::Worker, driver(1)], None),
            (vec![ABORT, Frame::Worker], None),
            (
                vec![ABORT, ABORT, FATAL, FATAL, SELECT, driver(7), driver(8)],
                Some("llvm::report_fatal_error, llvm::SelectionDAGISel::CannotYetSelect of libLLVM, libvulkan_lvp+0x7"),
            ),
            (vec![driver(7), driver(8), driver(7), Frame::Worker], Some("libvulkan_lvp+0x7, libvulkan_lvp+0x8")),
            (vec![Frame::Generated, driver(7)], Some("generated code")),
            (vec![at("libgallium-25.0.7-2.so", Some("lp_x"), 1)], Some("lp_x of libgallium")),
            (
                vec![ABORT, at("/lib/libc.so.6", Some("__stack_chk_fail"), 4), driver(7), Frame::Generated],
                Some("libvulkan_lvp+0x7"),
            ),
            (vec![at("/lib/ld-linux-x86-64.so.2", None, 1)], None),
        ] {
            assert_eq!(CrashPlace::of(frames.clone()).map(|place| place.to_string()).as_deref(), want, "{frames:?}");
        }
    }

    #[test]
    fn builds_are_compared_by_what_they_have_in_common() {
        let [old, new] =
            [5, 6].map(|function| CrashPlace::of([SELECT, at("libx.so", None, function)]).expect("frames"));
        assert!(old != new && old.in_any_build() == new.in_any_build());
        assert!(!old.is_of_any_build() && CrashPlace::of([SELECT]).is_some_and(|place| place.is_of_any_build()));
    }
}
