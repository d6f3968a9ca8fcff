//! Every planted fault does what its text says, and nothing else of a small program.

use std::collections::BTreeMap;

use crate::planted;
use tangle_oracle::faults::{Fault, Planted};
use tangle_oracle::map::LaneMap;
use tangle_oracle::reference::observe;
use tangle_oracle::rules::{Rules, Spec};
use tangle_program::case::Case;
use tangle_program::tree::{Expr, Stmt};

/// What the invocations log on a device with subgroups of 8.
fn logged<R: Rules>(case: &Case, rules: impl FnMut() -> R) -> String {
    let observation = observe(case, &LaneMap::linear(case, 8), rules).expect("the case is well-formed");
    let mut sites: BTreeMap<u32, usize> = BTreeMap::new();
    for function in &case.program.functions {
        tangle_program::tree::walk_block(&function.body, &mut |stmt| {
            if let Stmt::Log { site, values } = stmt {
                let words = |value: &Expr| {
                    let ty = value.ty(function).expect("it has a type");
                    ty.components() * ty.scalar.words() as usize
                };
                sites.insert(*site, values.iter().map(words).sum());
            }
        });
    }
    let mut seen: BTreeMap<u32, Vec<(usize, String)>> = sites.keys().map(|site| (*site, Vec::new())).collect();
    for (lane, log) in observation.logs.iter().enumerate() {
        let mut at = 0;
        while at < log.len() {
            let words = sites[&log[at]];
            let entry: Vec<String> = (at + 1..=at + words).map(|at| log.get(at).unwrap_or(&0).to_string()).collect();
            seen.get_mut(&log[at]).expect("it is a site").push((lane, entry.join("/")));
            at += 1 + words;
        }
    }
    let site = |(site, entries): (&u32, &Vec<(usize, String)>)| {
        let mask = entries.iter().fold(0u32, |mask, (lane, _)| mask | 1 << lane);
        let letter = char::from(b'A' + (*site - 1) as u8);
        if entries.is_empty() {
            return format!("{letter}=-");
        }
        if entries.iter().all(|(_, words)| *words == mask.to_string()) {
            return format!("{letter}={mask:02X}");
        }
        let words: Vec<&str> = entries.iter().map(|(_, words)| words.as_str()).collect();
        let same = words.iter().all(|word| *word == words[0]);
        let words = if same { words[0].to_owned() } else { words.join(" ") };
        format!("{letter}={mask:02X}:[{words}]")
    };
    seen.iter().map(site).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_fault_does_what_its_text_says() {
    for (fault, case, right, wrong) in planted::programs().rows {
        assert_ne!(right, wrong, "{fault:?}");
        assert_eq!(logged(&case, || Spec), right, "{fault:?}: a right device");
        assert_eq!(logged(&case, || Planted::new(fault)), wrong, "{fault:?}: {}", fault.about());
    }
}

#[test]
fn elsewhere_a_fault_does_nothing() {
    for (fault, case) in planted::programs().same {
        assert_eq!(logged(&case, || Planted::new(fault)), logged(&case, || Spec), "{fault:?} elsewhere");
    }
}

#[test]
fn every_fault_has_a_program() {
    let rows = planted::programs().rows;
    let missing: Vec<&Fault> = Fault::ALL.iter().filter(|fault| rows.iter().all(|row| row.0 != **fault)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
