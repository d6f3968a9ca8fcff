//! How buffers of 32-bit words travel: as raw bytes in the binary protocol, as plain numbers in JSON, and read-back
//! buffers without the zeros at the end of each slice.

use serde::{Deserialize, Serialize};

/// What a shader left in one buffer, with the trailing zeros of every slice cut off.
///
/// A log buffer is one slice per invocation and mostly zero at the end of each: 1024 invocations with 4096 words each
/// are 16 MiB, of which often less than 1 % was written. The worker looks at every word, so nothing written anywhere in
/// the buffer is lost; only zeros are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct ReadBack {
    /// Words of the buffer on the device.
    words: u64,
    /// Words of one slice; the last slice of the buffer may be shorter.
    slice_words: u32,
    /// For every slice, where its words end in `data`.
    ends: Vec<u32>,
    /// The words that were kept, slice after slice.
    #[serde(with = "as_bytes")]
    data: Vec<u32>,
}

impl ReadBack {
    /// Takes the words of a buffer, cut into slices of `slice_words` (the whole buffer when `None`).
    pub fn trimmed(words: &[u32], slice_words: Option<u32>) -> ReadBack {
        let whole = u32::try_from(words.len()).unwrap_or(u32::MAX);
        let slice_words = slice_words.unwrap_or(whole).max(1);
        let mut read_back = ReadBack {
            words: words.len() as u64,
            slice_words,
            ends: Vec::with_capacity(words.len().div_ceil(slice_words as usize)),
            data: Vec::new(),
        };
        for slice in words.chunks(slice_words as usize) {
            read_back.data.extend_from_slice(&slice[..used(slice)]);
            read_back.ends.push(read_back.data.len() as u32);
        }
        read_back
    }

    /// Takes slices of which the zeros at the end may be missing. They are as long as the longest.
    pub fn of_slices(slices: &[Vec<u32>]) -> ReadBack {
        let slice_words = slices.iter().map(Vec::len).max().unwrap_or(0).max(1) as u32;
        let words = slices.len() as u64 * u64::from(slice_words);
        let mut read_back = ReadBack { words, slice_words, ends: Vec::with_capacity(slices.len()), data: Vec::new() };
        for slice in slices {
            read_back.data.extend_from_slice(&slice[..used(slice)]);
            read_back.ends.push(read_back.data.len() as u32);
        }
        read_back
    }

    /// Words of the buffer on the device, trailing zeros included.
    pub fn len(&self) -> u64 {
        self.words
    }

    /// True for a buffer of no words.
    pub fn is_empty(&self) -> bool {
        self.words == 0
    }

    /// Words of one slice as asked for in the job; the whole buffer when it was not sliced.
    pub fn slice_words(&self) -> u32 {
        self.slice_words
    }

    /// How many slices the buffer has.
    pub fn slice_count(&self) -> usize {
        self.ends.len()
    }

    /// The words of slice `index` up to its last one that is not zero; empty for a slice outside the buffer.
    pub fn slice(&self, index: usize) -> &[u32] {
        let Some(&end) = self.ends.get(index) else {
            return &[];
        };
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        self.data.get(start as usize..end as usize).unwrap_or(&[])
    }

    /// Every slice, as [`ReadBack::slice`] gives it.
    pub fn slices(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.slice_count()).map(|index| self.slice(index))
    }

    /// One word of the buffer; 0 outside it.
    pub fn word(&self, index: u64) -> u32 {
        let width = u64::from(self.slice_words);
        let slice = self.slice((index / width) as usize);
        slice.get((index % width) as usize).copied().unwrap_or(0)
    }

    /// The whole buffer with its zeros put back.
    pub fn to_words(&self) -> Vec<u32> {
        let mut words = vec![0; self.words as usize];
        for (whole, kept) in words.chunks_mut(self.slice_words as usize).zip(self.slices()) {
            whole[..kept.len()].copy_from_slice(kept);
        }
        words
    }
}

/// A [`ReadBack`] as it arrives: from a process whose memory a driver may have spoilt, so nothing of it is believed.
#[derive(Deserialize)]
struct Unchecked {
    words: u64,
    slice_words: u32,
    ends: Vec<u32>,
    #[serde(with = "as_bytes")]
    data: Vec<u32>,
}

impl TryFrom<Unchecked> for ReadBack {
    type Error = &'static str;

    fn try_from(Unchecked { words, slice_words, ends, data }: Unchecked) -> Result<ReadBack, &'static str> {
        let width = u64::from(slice_words.max(1));
        let mut start = 0;
        let mut left = words;
        for &end in &ends {
            let room = left.min(width);
            if room == 0 || end < start || u64::from(end - start) > room {
                return Err("a slice does not fit into its buffer");
            }
            start = end;
            left -= room;
        }
        if left > 0 || start as usize != data.len() || slice_words == 0 {
            return Err("slices and buffer differ in length");
        }
        Ok(ReadBack { words, slice_words, ends, data })
    }
}

/// Words of a slice up to its last one that is not zero.
fn used(slice: &[u32]) -> usize {
    // Blocks first: the compiler turns the comparison of a block into vector instructions, and most blocks are zero.
    const BLOCK: usize = 64;
    let mut end = slice.len();
    while end >= BLOCK && slice[end - BLOCK..end].iter().fold(0, |all, word| all | word) == 0 {
        end -= BLOCK;
    }
    slice[..end].iter().rposition(|&word| word != 0).map_or(0, |last| last + 1)
}

/// Serde functions for `Vec<u32>`: bytes (little-endian) in a binary format, numbers in JSON.
///
/// The default encoding writes every word as a variable-length integer, which for buffers of megabytes costs more than
/// the dispatch that filled them.
pub(crate) mod as_bytes {
    use std::fmt;

    use serde::de::{Error, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use tangle_files::words::{from_bytes, to_bytes};

    /// As bytes, or as numbers where people read the format.
    pub fn serialize<S: Serializer>(words: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return words.serialize(serializer);
        }
        serializer.serialize_bytes(&to_bytes(words))
    }

    /// Reads what [`serialize`] wrote.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
        if deserializer.is_human_readable() {
            return Vec::deserialize(deserializer);
        }
        deserializer.deserialize_bytes(Words)
    }

    struct Words;

    impl Visitor<'_> for Words {
        type Value = Vec<u32>;

        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("a whole number of 32-bit words")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u32>, E> {
            if bytes.len().is_multiple_of(4) {
                Ok(from_bytes(bytes))
            } else {
                Err(E::invalid_length(bytes.len(), &self))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_lose_only_their_trailing_zeros() {
        let words = [1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 7, 5];
        let read_back = ReadBack::trimmed(&words, Some(4));
        let slices: Vec<&[u32]> = read_back.slices().collect();
        assert_eq!(slices, [&[1, 0, 2][..], &[], &[0, 0, 0, 7], &[5]]);
        assert_eq!(read_back.to_words(), words);
        for (index, &word) in words.iter().enumerate() {
            assert_eq!(read_back.word(index as u64), word);
        }
        assert_eq!(read_back.word(13), 0);
        assert_eq!(read_back.slice(4), &[] as &[u32]);
    }

    #[test]
    fn an_unsliced_buffer_is_one_slice() {
        let read_back = ReadBack::trimmed(&[3, 0, 0], None);
        assert_eq!(read_back.slice_count(), 1);
        assert_eq!(read_back.slice(0), [3]);
        assert_eq!(read_back.to_words(), [3, 0, 0]);
    }

    #[test]
    fn the_end_is_found_on_both_sides_of_a_block() {
        for last in [0, 1, 62, 63, 64, 65, 127, 128, 199] {
            let mut words = vec![0; 200];
            words[last] = 9;
            assert_eq!(used(&words), last + 1);
        }
        assert_eq!(used(&[0; 200]), 0);
        assert_eq!(used(&[]), 0);
    }

    #[test]
    fn a_spoilt_read_back_is_an_error() {
        let good = r#"{"words":5,"slice_words":4,"ends":[3,4],"data":[1,2,3,4]}"#;
        assert_eq!(serde_json::from_str::<ReadBack>(good).unwrap().to_words(), [1, 2, 3, 0, 4]);
        let spoilt = [
            ("\"words\":5", "\"words\":500000000000"),
            ("\"words\":5", "\"words\":4"),
            ("\"slice_words\":4", "\"slice_words\":0"),
            ("\"slice_words\":4", "\"slice_words\":2"),
            ("[3,4]", "[4,3]"),
            ("[3,4]", "[2,4]"),
            ("[3,4]", "[3,5]"),
            ("[3,4]", "[3]"),
            ("[1,2,3,4]", "[1,2,3]"),
        ];
        for (from, to) in spoilt {
            let json = good.replace(from, to);
            assert!(serde_json::from_str::<ReadBack>(&json).is_err(), "{json}");
        }
    }

    #[test]
    fn the_binary_form_is_bytes_and_the_json_form_is_numbers() {
        let read_back = ReadBack::trimmed(&[0xffff_ffff, 0, 1], Some(2));
        let binary = postcard::to_stdvec(&read_back).unwrap();
        assert!(binary.windows(4).any(|bytes| bytes == [0xff; 4]));
        assert_eq!(postcard::from_bytes::<ReadBack>(&binary).unwrap(), read_back);
        let json = serde_json::to_string(&read_back).unwrap();
        assert!(json.contains("4294967295"), "{json}");
        assert_eq!(serde_json::from_str::<ReadBack>(&json).unwrap(), read_back);
    }
}
