//! Both oracles agree on the modules that the SPIR-V printer makes of generated cases, whatever freedom it uses.

use crate::common::{Counts, NOT_DEFINED, case_of, compare, expect};
use tangle_program::case::Tier;
use tangle_program::variant::{Freedom, Printing, Variant};
use tangle_runner::toolchain;

/// `TANGLE_SEEDS=FIRST..END` has the test look at other seeds, for as long as one likes.
fn seeds(default: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("TANGLE_SEEDS") else { return default };
    let ends = text.split_once("..").and_then(|(first, end)| Some((first.parse().ok()?, end.parse().ok()?)));
    ends.map(|(first, end)| first..end).expect("TANGLE_SEEDS is FIRST..END")
}

/// None, each alone, all, or about half of the freedoms.
fn printing_of(seed: u64) -> Printing {
    let mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let (choice, bits) = (mixed >> 60, mixed >> 20);
    let of_choice = |number: usize| match choice {
        0 => false,
        1 | 2 => true,
        3..=6 => bits as usize % Freedom::ALL.len() == number,
        _ => bits >> number & 1 == 1,
    };
    let freedoms = (0..).zip(Freedom::ALL).filter(|(number, _)| of_choice(*number)).map(|(_, &freedom)| freedom);
    Printing::new(seed as u32, freedoms.collect())
}

#[test]
fn both_oracles_agree_on_printed_modules() {
    let mut wrong = Vec::new();
    let mut undefined = 0;
    for tier in Tier::ALL {
        let mut counts = Counts::default();
        for seed in seeds(0..80) {
            let (mut case, size, placement) = case_of(seed, tier);
            let mut printing = printing_of(seed);
            if let Ok(variant) = std::env::var("TANGLE_VARIANT")
                && let Ok(Variant::Printed(asked)) = variant.parse()
            {
                printing = asked;
            }
            let module = tangle_emit::spirv::module(&case, &printing);
            case.variant = Variant::Printed(printing);
            if std::env::var("TANGLE_SHOW").is_ok_and(|show| show == format!("{}:{seed}", tier.name())) {
                println!("{}", tangle_emit::glsl::glsl(&case));
                println!("{}", toolchain::disassemble(&module).unwrap_or_else(|error| error));
            }
            let compared = toolchain::validate(&module, case.entry_point.spirv)
                .and_then(|()| expect(&case, size, placement))
                .and_then(|expected| compare(&case, &module, &expected, None));
            match compared {
                Ok(found) => counts.add(found),
                Err(error) if error.starts_with(NOT_DEFINED) => undefined += 1,
                Err(difference) => {
                    wrong.push(format!("{} seed {seed}, size {size}, {}: {difference}", tier.name(), case.variant));
                }
            }
        }
        println!("tier {}: {counts:?}, {undefined} not defined", tier.name());
        assert!(counts.compared >= 20 * counts.only_tree, "the interpreter leaves too much open: {counts:?}");
    }
    for line in wrong.iter().take(60) {
        println!("{line}");
    }
    assert!(wrong.is_empty(), "{} differences", wrong.len());
}
