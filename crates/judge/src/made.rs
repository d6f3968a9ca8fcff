//! A module against what a command makes of it: an optimiser, a translator.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context as _;
use tangle_interpreter::End;
use tangle_runner::wait_within;

use crate::compare::{Difference, compare_with};
use crate::run::{Inputs, judge};

/// What takes more processor time than this makes nothing, nor what is blocked three times as long: a command may hang on what a reducer
/// gives it.
const LIMIT: Duration = Duration::from_secs(60);

/// A command that makes a module of a module: words in which `{in}` and `{out}` stand for files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maker {
    words: Vec<String>,
}

impl FromStr for Maker {
    type Err = String;

    fn from_str(text: &str) -> Result<Maker, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let lacking =
            ["{in}", "{out}"].into_iter().find(|place| !words.iter().skip(1).any(|word| word.contains(place)));
        match lacking {
            Some(place) => Err(format!("the command has no {place}")),
            None => Ok(Maker { words }),
        }
    }
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}

impl Maker {
    /// What the command makes of a module.
    ///
    /// # Errors
    /// If it cannot be run, fails, does not end, or leaves no module.
    pub fn make(&self, module: &[u32]) -> anyhow::Result<Vec<u32>> {
        let folder = tempfile::tempdir()?;
        let [from, to] = ["in.spv", "out.spv"].map(|name| folder.path().join(name));
        std::fs::write(&from, tangle_files::words::to_bytes(module))?;
        let place = |word: &str, name: &str, file: &Path| word.replace(name, &file.to_string_lossy());
        let mut words = self.words.iter().map(|word| place(&place(word, "{in}", &from), "{out}", &to));
        let program = words.next().unwrap_or_default();
        let mut command = Command::new(&program);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot run {program}"))?;
        let status = wait_within(&mut child, LIMIT)?;
        let status = status.with_context(|| format!("{self}: does not end in {} seconds", LIMIT.as_secs()))?;
        anyhow::ensure!(status.success(), "{self}: {status}");
        let bytes =
            tangle_files::read(&to, tangle_files::MOST).with_context(|| format!("{self}: it leaves no module"))?;
        Ok(tangle_files::words::from_bytes(&bytes))
    }
}

/// True if what is made of a module still differs from it in the same way: in a word, or in that one of both has undefined behaviour. The
/// module itself has none.
pub fn still_differs(
    module: &[u32],
    inputs: &Inputs,
    difference: &Difference,
    make: &mut dyn FnMut(&[u32]) -> Option<Vec<u32>>,
) -> bool {
    let Ok(before) = judge(module, inputs) else { return false };
    if before.outcome.end != End::Completed {
        return false;
    }
    let Some(after) = make(module).map(|made| judge(&made, inputs)) else { return false };
    let Ok((found, _)) = compare_with(&before.outcome, after.as_ref()) else { return false };
    found.is_some_and(|found| std::mem::discriminant(&found) == std::mem::discriminant(difference))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;
    use crate::edit::{Instructions, opcode};
    use crate::reduce::reduce;
    use tangle_program::case::SpirvVersion;
    use tangle_runner::toolchain;

    /// A pass with a mistake: OpBitwiseOr for OpBitwiseAnd.
    fn and_is_or(module: &[u32]) -> Option<Vec<u32>> {
        let mut module = Instructions::read(module)?;
        module
            .list
            .iter_mut()
            .filter(|words| opcode(words) == 199)
            .for_each(|words| words[0] = words[0] & !0xFFFF | 197);
        Some(module.words())
    }

    #[test]
    fn what_a_pass_changes_becomes_small() {
        let glsl = "#version 450
            layout(local_size_x = 8) in;
            layout(set = 0, binding = 0) buffer A { uint a[]; };
            void main() {
                uint i = gl_LocalInvocationIndex;
                uint sum = 0u;
                for (uint k = 0u; k < 5u; k++) { sum += k * i; if (sum > 9u) continue; sum ^= a[i]; }
                a[i] = sum;
                a[i + 8u] = (i + 3u) & 6u;
            }";
        let words = toolchain::compile(glsl, SpirvVersion::V1_3).expect("it compiles");
        let inputs = Inputs::default();
        let outcome = |words: &[u32]| judge(words, &inputs).expect("it runs").outcome;
        let made = and_is_or(&words).expect("a module");
        let difference = compare(&outcome(&words), &outcome(&made)).0.expect("they differ");
        let mut keeps = |words: &[u32]| still_differs(words, &inputs, &difference, &mut and_is_or);
        assert!(keeps(&words));
        let small = reduce(&words, None, &mut keeps);
        assert!(keeps(&small) && toolchain::validate(&small, SpirvVersion::V1_6).is_ok());
        let count = |words: &[u32]| {
            let module = Instructions::read(words).expect("a module");
            module.list.len() - module.first_function()
        };
        assert!(count(&small) < 14 && count(&words) > 50, "{} of {}", count(&small), count(&words));
        let list = Instructions::read(&small).expect("a module").list;
        assert!(list.iter().any(|words| opcode(words) == 199));
        // A pass without a mistake changes nothing.
        assert!(!still_differs(&words, &inputs, &difference, &mut |words| Some(words.to_vec())));
        assert!(!still_differs(&words, &inputs, &difference, &mut |_| None));
    }

    #[test]
    fn a_command_names_both_files() {
        for (text, problem) in [("cp {in} {out}", ""), ("cp {in}", "{out}"), ("{in} {out}", "{in}"), ("", "{in}")] {
            let parsed = text.parse::<Maker>();
            assert_eq!(parsed.is_err(), !problem.is_empty(), "{text}");
            assert!(parsed.map_or_else(|error| error.contains(problem), |maker| maker.to_string() == text), "{text}");
        }
        let copied = |command: &str| command.parse::<Maker>().expect("a command").make(&[1, 2, 3]);
        assert_eq!(copied("cp {in} {out}").expect("a module"), [1, 2, 3]);
        assert!(copied("false {in} {out}").is_err() && copied("true {in} {out}").is_err());
        assert!(copied("no-such-program {in} {out}").is_err());
        // What takes the place of the module is no module, and is not waited for.
        assert!(copied("mkfifo {out} -m 644 {in}x").is_err());
    }
}
