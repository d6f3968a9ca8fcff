//! How libFuzzer changes inputs: cases by typed mutation, and bytes.
//!
//! | input | becomes |
//! |---|---|
//! | a case | a mutant of [`tangle_mutator`], or what the generator makes of its changed birth bytes, or of new ones |
//! | bytes for the generator | what the generator makes of them, changed: a case from then on |
//!
//! All that comes out is a case in its JSON form, unless that is longer than libFuzzer allows.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;
use tangle_analysis::validate::validate;
use tangle_files::words::to_bytes;
use tangle_mutator::Dice;
use tangle_program::case::Case;
use tangle_program::variant::Variant;

use super::input;
use crate::prepare::prepare;

/// libFuzzer's own mutation: changes the first `size` bytes, to `max_size` at most; gives how many there are then.
pub type RawMutation = fn(data: &mut [u8], size: usize, max_size: usize) -> usize;

/// What a target does with bytes and cases.
pub struct Ways<'a> {
    /// The case that the generator makes of bytes.
    pub generate: &'a dyn Fn(&[u8]) -> Case,
    /// True for a case that is worth trying.
    pub keep: &'a dyn Fn(&Case) -> bool,
    /// False: every input is a new case of the generator's, for comparison.
    pub mutate: bool,
}

/// How often, of 100 times, a case is generated instead of changed. A new case brings many new things, a mutant one that may need all
/// the others (docs/fuzzing.md has the figures).
const GENERATED: usize = 50;
/// How often, of 100 generated cases, it is from changed birth bytes: few of their bits change much.
const FROM_BIRTH: usize = 20;
/// How many bytes are drawn for a new case.
const BYTES: [usize; 4] = [2 << 10, 5 << 10, 10 << 10, 25 << 10];
/// How many new cases are drawn until one is worth trying.
const DRAWS: usize = 20;

/// libFuzzer's custom mutator: changes the first `size` bytes of `data` and gives the new size.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32, raw: RawMutation, ways: &Ways<'_>) -> usize {
    let mut dice = Dice::new(seed.into());
    let input = &data[..size];
    let case = match input::from_json(input).map(|read| read.ok().filter(|case| validate(case).is_ok())) {
        Some(Some(case)) if ways.mutate && !dice.percent(GENERATED) => {
            tangle_mutator::mutate(&case, &mut dice, ways.keep).or(Some(case))
        }
        Some(Some(case)) if ways.mutate && dice.percent(FROM_BIRTH) => {
            let birth = case.origin.bytes.as_deref().and_then(from_hex).unwrap_or_default();
            generated(birth, &mut dice, raw, ways)
        }
        Some(_) => generated(Vec::new(), &mut dice, raw, ways),
        None => generated(input.to_vec(), &mut dice, raw, ways),
    };
    match case.map(|case| case.to_json()) {
        Some(json) if json.len() <= max_size => {
            data[..json.len()].copy_from_slice(json.as_bytes());
            json.len()
        }
        _ => raw(data, size, max_size),
    }
}

/// A new case: from birth bytes, changed, or from new ones if there are none.
fn generated(birth: Vec<u8>, dice: &mut Dice, raw: RawMutation, ways: &Ways<'_>) -> Option<Case> {
    let mut bytes = birth;
    for _ in 0..DRAWS {
        if bytes.len() < BYTES[0] || !ways.mutate {
            bytes = vec![0; dice.one(BYTES)];
            SmallRng::seed_from_u64(dice.word().into()).fill_bytes(&mut bytes);
        } else {
            let size = bytes.len();
            bytes.resize(2 * size, 0);
            let size = raw(&mut bytes, size, 2 * size);
            bytes.truncate(size);
        }
        let mut case = (ways.generate)(&bytes);
        if (ways.keep)(&case) {
            case.origin.bytes = Some(to_hex(&bytes));
            return Some(case);
        }
    }
    None
}

/// libFuzzer's custom crossover: writes a case with a part of another to `out` and gives its size; 0 if there is none.
pub fn cross(one: &[u8], other: &[u8], out: &mut [u8], seed: u32, ways: &Ways<'_>) -> usize {
    let (Some(one), Some(other)) = (input::case(one), input::case(other)) else { return 0 };
    if !ways.mutate {
        return 0;
    }
    let Some(mutant) = tangle_mutator::cross(&one, &other, &mut Dice::new(seed.into()), ways.keep) else { return 0 };
    let json = mutant.to_json();
    if json.len() > out.len() {
        return 0;
    }
    out[..json.len()].copy_from_slice(json.as_bytes());
    json.len()
}

/// A mutator for the loader's target: changes the text, the tree of values in it, or the case that it is.
pub fn mutate_json(data: &mut [u8], size: usize, max_size: usize, seed: u32, raw: RawMutation) -> usize {
    let mut dice = Dice::new(seed.into());
    let text = match dice.below(4) {
        0 => input::case(&data[..size]).and_then(|case| tangle_mutator::mutate(&case, &mut dice, |_| true)),
        _ => None,
    }
    .map(|case| case.to_json())
    .or_else(|| dice.percent(50).then(|| changed_tree(&data[..size], &mut dice)).flatten());
    match text {
        Some(text) if text.len() <= max_size => {
            data[..text.len()].copy_from_slice(text.as_bytes());
            text.len()
        }
        _ => raw(data, size, max_size),
    }
}

/// How often, of 100 times, a hostile module is a new one instead of a changed one.
const FRESH: usize = 5;

/// A mutator for modules: one of a generated case at first, from then on changed as bytes, in whole words.
pub fn mutate_module(data: &mut [u8], size: usize, max_size: usize, seed: u32, raw: RawMutation) -> usize {
    let mut dice = Dice::new(seed.into());
    if size >= 20 && !dice.percent(FRESH) {
        return raw(data, size, max_size) / 4 * 4;
    }
    let mut birth = vec![0; BYTES[0]];
    SmallRng::seed_from_u64(seed.into()).fill_bytes(&mut birth);
    let case = Case { variant: Variant::Unoptimised, ..input::from_bytes(&birth) };
    let bytes = to_bytes(&prepare(case).map(|prepared| prepared.spirv).unwrap_or_default());
    if bytes.is_empty() || bytes.len() > max_size {
        return raw(data, size, max_size);
    }
    data[..bytes.len()].copy_from_slice(&bytes);
    bytes.len()
}

/// The JSON with one value put in the place of another.
fn changed_tree(input: &[u8], dice: &mut Dice) -> Option<String> {
    fn find<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
        match left.checked_sub(1) {
            None => return Some(value),
            Some(fewer) => *left = fewer,
        }
        match value {
            Value::Array(items) => items.iter_mut().find_map(|item| find(item, left)),
            Value::Object(fields) => fields.values_mut().find_map(|field| find(field, left)),
            _ => None,
        }
    }
    let mut root: Value = serde_json::from_slice(input).ok()?;
    let mut count = usize::MAX;
    find(&mut root, &mut count);
    let count = usize::MAX - count;
    let mut from = dice.below(count);
    let value = find(&mut root, &mut from)?.clone();
    let mut to = dice.below(count);
    *find(&mut root, &mut to)? = value;
    serde_json::to_string(&root).ok()
}

fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn from_hex(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = hex.as_bytes().chunks(2).map(|pair| match *pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stands for libFuzzer's: changes one byte.
    fn raw(data: &mut [u8], size: usize, _max: usize) -> usize {
        if let Some(byte) = data[..size].first_mut() {
            *byte = byte.wrapping_add(1);
        }
        size
    }

    const WAYS: Ways<'static> = Ways { generate: &input::from_bytes, keep: &|_| true, mutate: true };

    fn mutant(input: &[u8], seed: u32) -> Vec<u8> {
        let mut data = input.to_vec();
        data.resize(1 << 18, 0);
        let size = mutate(&mut data, input.len(), 1 << 18, seed, raw, &WAYS);
        data[..size].to_vec()
    }

    #[test]
    fn mutants_of_anything_are_valid_cases() {
        for start in [&b""[..], b"\n", &[7; 3000], b"{\"format\": 1}"] {
            let mut input = start.to_vec();
            for seed in 0..60 {
                input = mutant(&input, seed);
                let case = input::from_json(&input).expect("JSON").expect("a case");
                assert_eq!(validate(&case), Ok(()));
            }
        }
    }

    #[test]
    fn birth_bytes_make_the_case_again_until_it_changes() {
        let born = input::case(&mutant(b"\n", 1)).expect("a case");
        let bytes = from_hex(born.origin.bytes.as_deref().expect("birth bytes")).expect("hexadecimal");
        let again = input::from_bytes(&bytes);
        assert_eq!((again.program, again.data, again.entry_point), (born.program, born.data, born.entry_point));
    }

    /// Of several pairs, since some programs have little that fits into others.
    #[test]
    fn a_crossing_is_a_valid_case() {
        const PAIRS: u32 = 8;
        let mut out = vec![0; 1 << 18];
        let crossed = |pair: u32, out: &mut [u8]| {
            let (one, other) = (mutant(b"\n", 2 * pair + 1), mutant(b"\n", 2 * pair + 2));
            let valid = (0..20).filter(|seed| {
                let size = cross(&one, &other, out, *seed, &WAYS);
                size > 0 && validate(&input::case(&out[..size]).expect("a case")).is_ok()
            });
            valid.count()
        };
        let counts: Vec<usize> = (0..PAIRS).map(|pair| crossed(pair, &mut out)).collect();
        assert!(counts.iter().sum::<usize>() >= 15 * PAIRS as usize, "of 20 each: {counts:?}");
    }

    #[test]
    fn what_does_not_fit_is_left_to_libfuzzer() {
        let mut data = [0; 64];
        let size = mutate(&mut data, 64, 64, 1, raw, &WAYS);
        assert_eq!((size, data[0]), (64, 1));
    }
}
