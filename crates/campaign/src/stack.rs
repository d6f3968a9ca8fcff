//! The stack of a crash in words, for reports. Source lines come from `addr2line` where it is present, and know what the libraries' debug
//! information says, of packages of debug symbols, too (Debian's `-dbgsym`). Signatures are made without it
//! ([`tangle_identity::place`]).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use tangle_compilers::started;
use tangle_files::text::Lines;
use tangle_identity::place::demangled;
use tangle_runner::stack::{Frame, Module};

/// The longest name of a function that is shown, characters.
const NAME: usize = 120;

/// A frame a line, the innermost first.
pub(crate) fn describe(frames: &[Frame<'_>]) -> String {
    let lines = source_lines(frames);
    let mut text = String::new();
    for (number, frame) in frames.iter().enumerate() {
        let _ = match (frame.module, frame.place) {
            (Module::Worker, _) => writeln!(text, "  #{number} the worker"),
            (Module::Generated, _) => writeln!(text, "  #{number} code that the driver generated"),
            (Module::Library(path), place) => {
                let name = frame.symbol.map_or_else(|| "?".into(), demangled);
                let name: String = name.chars().take(NAME).collect();
                writeln!(text, "  #{number} {name} ({}+{:#x})", file_name(path), place.unwrap_or(0))
            }
        };
        for line in lines.get(&number).into_iter().flatten() {
            let _ = writeln!(text, "       {line}");
        }
    }
    text
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `function at file:line` for each frame of which that is known, inlined functions first.
fn source_lines(frames: &[Frame<'_>]) -> BTreeMap<usize, Vec<String>> {
    let mut libraries = BTreeMap::<&str, Vec<(usize, u64)>>::new();
    for (number, frame) in frames.iter().enumerate() {
        if let (Module::Library(path), Some(place)) = (frame.module, frame.place) {
            libraries.entry(path).or_default().push((number, place));
        }
    }
    let mut lines = BTreeMap::new();
    for (path, places) in libraries.into_iter().filter(|(path, _)| std::path::Path::new(path).is_absolute()) {
        let mut command = Command::new("addr2line");
        command.args(["--functions", "--demangle", "--inlines", "--basenames", "--addresses", "--exe", path]);
        command.args(places.iter().map(|(_, place)| format!("{place:#x}")));
        let Ok(said) = started::run(&mut command) else { continue };
        let said = Lines::from_bytes(&said.stdout);
        lines.extend(places.iter().map(|&(number, _)| number).zip(by_address(&said)));
    }
    lines
}

/// For each address that `addr2line --addresses` repeats (`0x…` on a line), the pairs of lines behind it: function, and file and line.
fn by_address(said: &str) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut lines = said.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("0x") {
            found.push(Vec::new());
            continue;
        }
        let place = lines.next().unwrap_or_default();
        if let Some(here) = found.last_mut().filter(|_| !place.starts_with("??")) {
            here.push(format!("{line} at {place}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_names_functions_and_what_debug_information_knows() {
        let frame = |module, symbol| Frame { module, place: Some(0x1f), function: Some(0x10), symbol };
        let frames = [
            frame(Module::Library("/no/such/libx.so"), Some("_ZN1a1bEi")),
            frame(Module::Generated, None),
            frame(Module::Worker, None),
        ];
        let expected = "  #0 a::b(int) (libx.so+0x1f)\n  #1 code that the driver generated\n  #2 the worker\n";
        assert_eq!(describe(&frames), expected);
        let said = "0x000000000000001f\ninlined\nx.c:3\na::b\nx.c:9\n0x0000000000000020\n??\n??:0\n";
        assert_eq!(by_address(said), [vec!["inlined at x.c:3".to_owned(), "a::b at x.c:9".to_owned()], vec![]]);
    }
}
