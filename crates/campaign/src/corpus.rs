//! New cases for a regression corpus: valid, small, named by what they guard, none of them twice.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tangle_analysis::validate::validate;
use tangle_files::write_atomically;
use tangle_identity::normal_form::normal_form;
use tangle_program::case::Case;
use tangle_program::text::slug;

use crate::replay::find_cases;

/// A case to be added, with what its file is to say.
#[derive(Clone, Debug)]
pub struct Addition {
    /// The case; it is added if it is valid and the corpus does not have it.
    pub case: Case,
    /// What it guards, for people.
    pub guards: String,
    /// Name of the file without `.json`; made from `guards` if there is none.
    pub name: Option<String>,
}

/// Adds a case to a folder and gives its file.
///
/// # Errors
/// If the case is not valid, the corpus has it already under whatever name, or it cannot be written.
pub fn add(addition: Addition, folder: &Path) -> anyhow::Result<PathBuf> {
    let Addition { mut case, guards, name } = addition;
    let guards = guards.trim();
    anyhow::ensure!(!guards.is_empty(), "say in words what the case guards");
    validate(&case)?;
    let form = normal_form(&case);
    if let Some(file) = find(&form, corpus_of(folder))? {
        anyhow::bail!("{} is the same test, but for names and data", file.display());
    }
    let name = name.unwrap_or_else(|| format!("{}-{}", first_words(guards), &form[..6]));
    let file = folder.join(format!("{name}.json"));
    anyhow::ensure!(!file.exists(), "there is another case {}: choose another --name", file.display());
    case.about = guards.into();
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    write_atomically(&file, case.to_json().as_bytes())?;
    Ok(file)
}

/// The whole corpus that a folder belongs to: the outermost folder of that name, or the folder itself.
fn corpus_of(folder: &Path) -> &Path {
    folder.ancestors().filter(|folder| folder.ends_with("corpus")).last().unwrap_or(folder)
}

fn find(form: &str, corpus: &Path) -> anyhow::Result<Option<PathBuf>> {
    if !corpus.exists() {
        return Ok(None);
    }
    for (_, file) in find_cases(corpus)? {
        let text = tangle_files::read_text(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let case = Case::from_json(&text).with_context(|| file.display().to_string())?;
        if normal_form(&case) == form {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Words of a file name.
const WORDS: usize = 7;

/// The first words of a text as a file name.
fn first_words(text: &str) -> String {
    slug(text).split('-').take(WORDS).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> Case {
        Case::from_json(include_str!("../../../corpus/vectors/V01.json")).expect("a case")
    }

    fn addition(case: Case) -> Addition {
        Addition { case, guards: "Break out of a loop, in the else arm!".into(), name: None }
    }

    #[test]
    fn a_case_is_added_once_whatever_its_names_and_data() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let corpus = folder.path().join("corpus");
        let file = add(addition(case()), &corpus.join("loops")).expect("it is new");
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        assert!(name.starts_with("break-out-of-a-loop-in-the-") && name.ends_with(".json"), "{name}");
        let saved = Case::from_json(&std::fs::read_to_string(&file).expect("it is there")).expect("a case");
        assert_eq!(saved.about, "Break out of a loop, in the else arm!");

        let mut other = case();
        for function in &mut other.program.functions {
            function.locals.iter_mut().for_each(|local| local.name.push_str("_renamed"));
        }
        other.data.inputs.iter_mut().flatten().for_each(|word| *word ^= 1);
        let error = add(addition(other), &corpus.join("other")).expect_err("it is there already");
        assert!(error.to_string().contains(name), "{error}");
    }

    #[test]
    fn nothing_is_overwritten() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let named = |case: Case| Addition { name: Some("one".into()), ..addition(case) };
        add(named(case()), folder.path()).expect("it is new");
        let other = Case::from_json(include_str!("../../../corpus/vectors/V17.json")).expect("a case");
        let error = add(named(other), folder.path()).expect_err("the name is taken");
        assert!(error.to_string().contains("--name"), "{error}");
    }
}
