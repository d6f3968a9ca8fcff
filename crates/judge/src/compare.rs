//! Two modules with the same inputs: do they leave the same?

use tangle_interpreter::{BufferState, End, Error, Outcome, OutputState, OutputValue};

use crate::run::Judged;

/// The first place where two outcomes contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// One has undefined behaviour, the other comes to its end.
    Behaviour {
        /// What the first does, in one line.
        first: String,
        /// What the second does.
        second: String,
    },
    /// A word that both determine, and differently.
    Word {
        /// `DescriptorSet`.
        set: u32,
        /// `Binding`.
        binding: u32,
        /// Element of an array of descriptors.
        element: u32,
        /// Byte offset.
        offset: usize,
        /// What the first leaves there.
        first: u32,
        /// What the second leaves there.
        second: u32,
    },
    /// A scalar of an output that both determine, and differently, or that only one has: the other discards the fragment.
    Output {
        /// `Location`.
        location: u32,
        /// Number of the invocation in the draw.
        invocation: usize,
        /// Which of its scalars.
        scalar: usize,
        /// What the first leaves there, if the invocation has outputs.
        first: Option<u64>,
        /// What the second leaves there.
        second: Option<u64>,
    },
    /// One has a buffer, or a length of it, that the other does not have.
    Buffers,
}

/// How many words were compared, and how many could not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Words that both determine.
    pub compared: u64,
    /// Words that both leave open.
    pub open: u64,
    /// Words that only one determines: the other's convergence rules, or undefined values, say less.
    pub weaker: u64,
}

/// So many times the steps of a module that ends another one may take before it counts as one that does not.
const MUCH_LONGER: u64 = 64;

/// Compares an outcome with what came of another module. One that has not ended when it has taken many times the steps of the first is different.
///
/// # Errors
/// Why nothing came of the other.
pub fn compare_with(first: &Outcome, second: Result<&Judged, &Error>) -> Result<(Option<Difference>, Counts), Error> {
    match second {
        Ok(second) => Ok(compare(first, &second.outcome)),
        Err(Error::Steps(limit, location))
            if first.end == End::Completed && limit / MUCH_LONGER >= first.steps.max(1) =>
        {
            let difference = Difference::Behaviour {
                first: format!("completes after {} steps", first.steps),
                second: format!("has not ended after {limit}, at {location}"),
            };
            Ok((Some(difference), Counts::default()))
        }
        Err(error) => Err(error.clone()),
    }
}

/// Compares two outcomes word by word. Where one has undefined behaviour it may do anything; that the other does not is a difference.
pub fn compare(first: &Outcome, second: &Outcome) -> (Option<Difference>, Counts) {
    let mut counts = Counts::default();
    let end = |outcome: &Outcome| match &outcome.end {
        End::Completed => "completes".to_owned(),
        End::Undefined(what) => format!("undefined behaviour: {what}"),
    };
    match (&first.end, &second.end) {
        (End::Completed, End::Completed) => {}
        (End::Undefined(_), End::Undefined(_)) => return (None, counts),
        _ => return (Some(Difference::Behaviour { first: end(first), second: end(second) }), counts),
    }
    let key = |buffer: &BufferState| (buffer.set, buffer.binding, buffer.element, buffer.bytes.len());
    if first.buffers.len() != second.buffers.len() {
        return (Some(Difference::Buffers), counts);
    }
    let mut difference = None;
    for (a, b) in first.buffers.iter().zip(&second.buffers) {
        if key(a) != key(b) {
            return (Some(Difference::Buffers), counts);
        }
        for offset in (0..a.bytes.len() / 4 * 4).step_by(4) {
            match (a.word(offset), b.word(offset)) {
                (Some(first), Some(second)) => {
                    counts.compared += 1;
                    if first != second && difference.is_none() {
                        let (set, binding, element) = (a.set, a.binding, a.element);
                        difference = Some(Difference::Word { set, binding, element, offset, first, second });
                    }
                }
                (None, None) => counts.open += 1,
                _ => counts.weaker += 1,
            }
        }
    }
    let is_alone = |b: &&OutputState| !first.outputs.iter().any(|a| same_output(a, b));
    counts.weaker += second.outputs.iter().filter(is_alone).map(|alone| alone.values.len() as u64).sum::<u64>();
    for a in &first.outputs {
        let Some(b) = second.outputs.iter().find(|b| same_output(a, b)) else {
            counts.weaker += a.values.len() as u64;
            continue;
        };
        for (at, values) in a.values.iter().zip(&b.values).enumerate() {
            let known = |value: &OutputValue| match *value {
                OutputValue::Determined(bits) => Some(Some(bits)),
                OutputValue::Absent => Some(None),
                OutputValue::Open(_) => None,
            };
            match (known(values.0), known(values.1)) {
                (Some(None), Some(None)) => {}
                (Some(first), Some(second)) => {
                    counts.compared += 1;
                    if first != second && difference.is_none() {
                        let scalars = (a.scalars as usize).max(1);
                        let (invocation, scalar) = (at / scalars, at % scalars);
                        difference =
                            Some(Difference::Output { location: a.location, invocation, scalar, first, second });
                    }
                }
                (None, None) => counts.open += 1,
                _ => counts.weaker += 1,
            }
        }
    }
    (difference, counts)
}

/// True of the same output of two modules. One that only one has tells nothing: it is never written in the other, or not looked at.
fn same_output(a: &OutputState, b: &OutputState) -> bool {
    let key = |output: &OutputState| (output.location, output.index, output.component, output.values.len());
    key(a) == key(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(words: &[Option<u32>]) -> Outcome {
        let bytes = words.iter().flat_map(|word| word.unwrap_or(0).to_le_bytes()).collect();
        let states = words.iter().flat_map(|word| [u32::from(word.is_none()); 4]).collect();
        let buffers = vec![BufferState { set: 0, binding: 1, element: 0, address: None, bytes, states }];
        Outcome {
            end: End::Completed,
            buffers,
            outputs: Vec::new(),
            reasons: Vec::new(),
            steps: 0,
            tangles: (0, 0),
            lost: 0,
            open_path: None,
        }
    }

    #[test]
    fn only_what_both_determine_can_differ() {
        for (a, b, offset, counts) in [
            (vec![Some(1), Some(2)], vec![Some(1), Some(2)], None, (2, 0, 0)),
            (vec![Some(1), Some(2)], vec![Some(1), Some(3)], Some(4), (2, 0, 0)),
            (vec![Some(1), None], vec![Some(1), Some(3)], None, (1, 0, 1)),
            (vec![None, Some(1)], vec![None, Some(1)], None, (1, 1, 0)),
        ] {
            let (difference, found) = compare(&outcome(&a), &outcome(&b));
            let at = difference.map(|difference| match difference {
                Difference::Word { offset, .. } => offset,
                other => panic!("{other:?}"),
            });
            assert_eq!((at, (found.compared, found.open, found.weaker)), (offset, counts), "{a:?} {b:?}");
        }
        assert_eq!(compare(&outcome(&[None]), &outcome(&[])).0, Some(Difference::Buffers));
    }
}
