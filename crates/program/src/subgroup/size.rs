//! How many lanes a subgroup can have.

/// The greatest subgroup size of Vulkan (rules P14 and P15).
pub const MAX_SUBGROUP_SIZE: u32 = 128;

/// True for what can be the size of a subgroup, or of a cluster: a power of two up to [`MAX_SUBGROUP_SIZE`].
pub const fn is_subgroup_size(size: u32) -> bool {
    size.is_power_of_two() && size <= MAX_SUBGROUP_SIZE
}

/// A subgroup size as a person writes it.
///
/// # Errors
/// If it is none, with the reason.
pub fn parse_subgroup_size(text: &str) -> Result<u32, String> {
    let size = text.parse().map_err(|_| format!("'{text}' is not a subgroup size"))?;
    let reason = || format!("a subgroup size is a power of two up to {MAX_SUBGROUP_SIZE}, not {size}");
    if is_subgroup_size(size) { Ok(size) } else { Err(reason()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subgroup_sizes_are_powers_of_two_up_to_128() {
        for (text, size) in [("1", Some(1)), ("128", Some(128)), ("0", None), ("3", None), ("256", None), ("x", None)] {
            assert_eq!(parse_subgroup_size(text).ok(), size, "{text}");
        }
    }
}
