//! Which mutant runs: put into the copy of the oracle as it is.

use std::io::Write as _;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

const RECORD: u32 = u32::MAX;
const MOST: usize = 1 << 14;

/// `MUTANT=<id>`; `MUTANT=record` writes the mutants that are reached to the file `MUTANT_REACHED`.
static CHOSEN: LazyLock<u32> = LazyLock::new(|| match std::env::var("MUTANT") {
    Ok(text) if text == "record" => RECORD,
    Ok(text) => text.parse().expect("MUTANT is a number"),
    Err(_) => 0,
});

/// True if this mutant runs.
#[inline(always)]
pub fn is(id: u32) -> bool {
    let chosen = *CHOSEN;
    chosen == id || chosen == RECORD && reached(id)
}

#[cold]
fn reached(id: u32) -> bool {
    static REACHED: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];
    if !REACHED[id as usize].swap(true, Ordering::Relaxed) {
        let path = std::env::var_os("MUTANT_REACHED").expect("MUTANT_REACHED is a file");
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.expect("the file opens"), "{id}").expect("the file is written");
    }
    false
}
