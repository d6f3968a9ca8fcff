//! 32-bit words as the bytes of a file, a buffer or a message: little-endian, the lowest byte first.

/// The bytes of the words.
pub fn to_bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The words of the bytes; what is left of a last one is dropped.
pub fn from_bytes(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_and_the_lowest_byte_is_first() {
        let words = [0x0723_0203, 1, u32::MAX];
        let mut bytes = to_bytes(&words);
        assert_eq!(bytes, [3, 2, 0x23, 7, 1, 0, 0, 0, 255, 255, 255, 255]);
        assert_eq!(from_bytes(&bytes), words);
        bytes.extend([1, 2, 3]);
        assert_eq!(from_bytes(&bytes), words);
    }
}
