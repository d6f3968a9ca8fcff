//! The calls that led a worker to its crash, as it writes them on standard error ([`crate::worker`]).

use tangle_files::text::Lines;

/// Begins a line with a frame. What other programs print does not begin so by accident, and by intent only deceives its author.
pub(crate) const MARK: &str = "tangle: frame ";

/// The most frames that are written, innermost first.
pub(crate) const FRAMES: usize = 24;

/// The longest name that is written: half a name cannot be read.
pub(crate) const LONGEST_NAME: usize = 160;

/// The most bytes of all frames together.
pub(crate) const BYTES: usize = FRAMES * 400;

/// One of the calls, the innermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What its code is in.
    pub module: Module<'a>,
    /// Offset of the instruction in it.
    pub place: Option<u64>,
    /// Offset of the first byte of its function.
    pub function: Option<u64>,
    /// The name of the function, if it is exported, as it stands in the library.
    pub symbol: Option<&'a str>,
}

/// What code is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module<'a> {
    /// The worker's own program.
    Worker,
    /// Memory of no file: what a driver's compiler made.
    Generated,
    /// A library, by its path.
    Library(&'a str),
}

/// The stack in a worker's standard error, and what the driver wrote.
pub fn split(stderr: &str) -> (Vec<Frame<'_>>, String) {
    let mut frames = Vec::new();
    let mut said = String::new();
    for line in stderr.lines() {
        match frame(line) {
            Some(frame) => frames.push(frame),
            None => {
                said.push_str(line);
                said.push('\n');
            }
        }
    }
    said.truncate(said.trim_end().len());
    (frames, said)
}

/// Puts the frames first: of what a driver writes, the end may be cut off.
pub(crate) fn first(stderr: &[u8]) -> Lines {
    let (frames, said): (Vec<&[u8]>, Vec<&[u8]>) =
        stderr.split_inclusive(|byte| *byte == b'\n').partition(|line| line.starts_with(MARK.as_bytes()));
    Lines::from_bytes(&[frames.concat(), said.concat()].concat())
}

/// The same with names in place of paths.
pub fn without_paths(stderr: &str) -> Lines {
    let short = |line: &str| match frame(line).map(|frame| frame.module) {
        Some(Module::Library(path)) => {
            let name = path.rsplit('/').next().unwrap_or(path);
            format!("{}{name}\n", line.strip_suffix(path).unwrap_or_default())
        }
        _ => format!("{line}\n"),
    };
    let text: String = stderr.lines().map(short).collect();
    text.trim_end_matches('\n').into()
}

fn frame(line: &str) -> Option<Frame<'_>> {
    let mut words = line.strip_prefix(MARK)?.splitn(5, ' ');
    let mut next = || words.next();
    let _number: usize = next()?.parse().ok()?;
    let number = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let (place, function, symbol) = (number(next()?), number(next()?), next()?);
    let module = match next()? {
        "-" => Module::Worker,
        "?" => Module::Generated,
        path => Module::Library(path),
    };
    Some(Frame { module, place, function, symbol: Some(symbol).filter(|symbol| *symbol != "-") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_from_between_what_a_driver_says() {
        let text = "LLVM ERROR: no\ntangle: frame 0 0x1f 0x10 _Z1fv /a b/libx.so.1\ntangle: frame 1 - - - ?\nmore\n\
                    tangle: frame 2 0x7 - - -\ntangle: frame x\n";
        let sorted = first(text.as_bytes());
        assert!(sorted.starts_with("tangle: frame 0"), "{sorted}");
        let (frames, said) = split(&sorted);
        let of = |module, place, function, symbol| Frame { module, place, function, symbol };
        let expected = [
            of(Module::Library("/a b/libx.so.1"), Some(0x1f), Some(0x10), Some("_Z1fv")),
            of(Module::Generated, None, None, None),
            of(Module::Worker, Some(7), None, None),
        ];
        assert_eq!(frames, expected);
        assert_eq!(said, "tangle: frame x\nLLVM ERROR: no\nmore");
        assert!(without_paths(&sorted).starts_with("tangle: frame 0 0x1f 0x10 _Z1fv libx.so.1\n"));
    }
}
