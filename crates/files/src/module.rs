//! SPIR-V modules as words: a header, and instructions behind it (SPIR-V 1.6 §2.3).

/// Words of the header.
const HEADER: usize = 5;

/// One instruction of a SPIR-V module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction<'w> {
    /// The word of the module that it begins at.
    pub at: usize,
    /// All its words, at least one.
    pub words: &'w [u32],
}

impl<'w> Instruction<'w> {
    /// The number of the operation.
    pub const fn opcode(&self) -> u32 {
        self.words[0] & 0xFFFF
    }

    /// The words behind the first.
    pub fn operands(&self) -> &'w [u32] {
        &self.words[1..]
    }
}

/// The instructions of a module.
///
/// # Errors
/// The last one is an error where no whole instruction stands: the word that it would begin at.
pub fn instructions(module: &[u32]) -> impl Iterator<Item = Result<Instruction<'_>, usize>> {
    let mut next = HEADER;
    std::iter::from_fn(move || {
        let at = next;
        let length = (module.get(at)? >> 16) as usize;
        let words = module.get(at..at + length).filter(|words| !words.is_empty());
        next = words.map_or(module.len(), |_| at + length);
        Some(words.map(|words| Instruction { at, words }).ok_or(at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_end_with_the_module_or_where_none_stands() {
        const ADD: [u32; 5] = [5 << 16 | 128, 1, 2, 3, 4];
        const RETURN: u32 = 1 << 16 | 253;
        let of = |behind: &[u32]| {
            let module = [&[0; HEADER], behind].concat();
            instructions(&module)
                .map(|found| found.map(|one| (one.at, one.opcode(), one.operands().to_vec())))
                .collect::<Vec<_>>()
        };
        let whole = [Ok((5, 128, vec![1, 2, 3, 4])), Ok((10, 253, vec![]))];
        assert_eq!(of(&[&ADD[..], &[RETURN]].concat()), whole);
        for broken in [0, 2 << 16 | 253] {
            assert_eq!(of(&[&ADD[..], &[RETURN, broken]].concat()), [&whole[..], &[Err(11)]].concat());
        }
        assert_eq!(of(&[0, RETURN]), [Err(5)]);
        assert_eq!(instructions(&[1, 2]).count(), 0);
    }
}
