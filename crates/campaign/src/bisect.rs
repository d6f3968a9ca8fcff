//! Which commit of a driver made cases fail, or stopped them: as `git bisect run` does it, for several cases at once.
//!
//! Git itself says which commit divides what is left best (`git rev-list --bisect-all`), so that merges are treated as it treats them. Each
//! commit is built once, and all cases run on it: a build that one case asks for answers the others, too. A commit that cannot be built, or on
//! which a case says nothing, is passed over. What was learnt is kept in the repository's `.git/tangle-bisect.json`: a search that is started
//! again builds nothing twice.
//!
//! Source: git-rev-list(1), "Bisection Helpers"; git-bisect(1).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};
use tangle_files::write_atomically;
use tangle_identity::Signature;
use tangle_identity::known::Effect;
use tangle_program::case::Case;

use crate::target::Conclusion;

/// What a commit says about a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It does not fail.
    Good,
    /// It fails with the failure that is looked for.
    Bad,
    /// It says nothing: it cannot be built or tried.
    Unknown,
}

impl Answer {
    /// What a run says about a case; `wanted` is the failure that counts, without one any.
    pub fn of(conclusion: &Conclusion, case: &Case, wanted: Option<&Signature>) -> Answer {
        match (conclusion.signature(case), wanted) {
            // The place of a crash is compared as far as builds have it in common.
            (Some(seen), Some(wanted)) if !seen.in_any_build().fails_like(&wanted.in_any_build()) => Answer::Unknown,
            (Some(_), _) => Answer::Bad,
            (None, wanted) if conclusion.speaks_against(case, wanted.and_then(|wanted| Effect::of(wanted.kind))) => {
                Answer::Good
            }
            (None, _) => Answer::Unknown,
        }
    }

    /// Said of a case.
    pub const fn words(self) -> &'static str {
        match self {
            Answer::Good => "passes",
            Answer::Bad => "fails",
            Answer::Unknown => "says nothing",
        }
    }
}

/// The result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tested {
    /// It was built: an answer for each case.
    Built(Vec<Answer>),
    /// It cannot be built, or its build cannot be used: why, in a line.
    Failed(String),
}

/// Which commit is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// The first that is bad: the range begins with a good one.
    #[default]
    FirstBad,
    /// The first that is good again: the range begins with a bad one.
    FirstGood,
}

/// The result of the search for one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The hash of the first commit that is bad, or good again ([`Wanted`]).
    Commit(String),
    /// One of these: those between cannot be built.
    OneOf(Vec<String>),
    /// The ends of the range do not differ, or say nothing: why.
    Nothing(String),
}

/// The git repository of the driver's sources.
#[derive(Clone, Debug)]
pub struct Git {
    folder: PathBuf,
}

impl Git {
    /// The repository that a folder belongs to.
    ///
    /// # Errors
    /// If it belongs to none, or there is no git.
    pub fn of(folder: &Path) -> anyhow::Result<Git> {
        let git = Git { folder: folder.to_owned() };
        let top = git.line(&["rev-parse", "--show-toplevel"])?;
        Ok(Git { folder: PathBuf::from(top) })
    }

    /// The top of its working tree.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What git prints for a command.
    ///
    /// # Errors
    /// If it fails: what it says.
    pub fn output(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let run = Command::new("git").args(arguments).current_dir(&self.folder).stdin(Stdio::null()).output();
        let run = run.context("cannot run git")?;
        let said = String::from_utf8_lossy(&run.stderr);
        ensure!(
            run.status.success(),
            "git {}: {}",
            arguments.first().copied().unwrap_or_default(),
            said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed").trim()
        );
        Ok(String::from_utf8_lossy(&run.stdout).into_owned())
    }

    fn line(&self, arguments: &[&str]) -> anyhow::Result<String> {
        Ok(self.output(arguments)?.trim().to_owned())
    }

    /// The commit that a name stands for.
    ///
    /// # Errors
    /// If there is none.
    pub fn commit(&self, name: &str) -> anyhow::Result<String> {
        let wanted = format!("{name}^{{commit}}");
        self.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])
            .map_err(|_| anyhow::anyhow!("there is no commit '{name}'"))
    }

    /// Abbreviation and subject of a commit: `1a2b3c4d ("subject")`.
    ///
    /// # Errors
    /// If there is no such commit.
    pub fn describe(&self, commit: &str) -> anyhow::Result<String> {
        self.line(&["show", "--no-patch", "--format=%h (\"%s\")", commit])
    }

    /// A file of git's own folder for this repository.
    ///
    /// # Errors
    /// If git does not say where it is.
    pub fn own_file(&self, name: &str) -> anyhow::Result<PathBuf> {
        Ok(self.folder.join(self.line(&["rev-parse", "--git-path", name])?))
    }

    /// Fails if the working tree has changes that a checkout would lose.
    ///
    /// # Errors
    /// If it has, with the first one.
    pub fn require_clean(&self) -> anyhow::Result<()> {
        let changes = self.output(&["status", "--porcelain", "--untracked-files=no"])?;
        if let Some(first) = changes.lines().next() {
            bail!("{} has changes that are not committed: {}", self.folder.display(), first.trim());
        }
        Ok(())
    }

    /// What is checked out: a branch, or else a commit.
    ///
    /// # Errors
    /// If nothing is.
    pub fn head(&self) -> anyhow::Result<String> {
        self.line(&["symbolic-ref", "--quiet", "--short", "HEAD"]).or_else(|_| self.commit("HEAD"))
    }

    /// Checks a commit or branch out.
    ///
    /// # Errors
    /// If git cannot.
    pub fn check_out(&self, what: &str) -> anyhow::Result<()> {
        self.output(&["-c", "advice.detachedHead=false", "checkout", "--quiet", what]).map(drop)
    }

    /// The commits after the old ones up to the new one, those that divide them best first.
    fn candidates(&self, new: &str, old: &BTreeSet<String>) -> anyhow::Result<Vec<String>> {
        let mut arguments = vec!["rev-list", "--bisect-all", new, "--not"];
        arguments.extend(old.iter().map(String::as_str));
        let listed = self.output(&arguments)?;
        Ok(listed.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
    }
}

/// What is kept of searches in a repository.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    /// By what makes a build (the command and the driver), and commit: why it failed.
    failed: BTreeMap<String, BTreeMap<String, String>>,
    /// The same, and the name of the case: the answers.
    answers: BTreeMap<String, BTreeMap<String, BTreeMap<String, Answer>>>,
}

/// A search in a range of commits, for one case or several at once.
pub struct Search<'a> {
    /// The repository whose commits are built.
    pub git: &'a Git,
    /// What makes a build: answers of other ways to build are not taken.
    pub build: String,
    /// Names that identify the cases for ever.
    pub cases: Vec<String>,
    /// Which commit is looked for.
    pub wanted: Wanted,
    /// The old end of the range.
    pub old: String,
    /// The new end of the range.
    pub new: String,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// In the order of [`Search::cases`].
    pub found: Vec<Found>,
    /// Commits that were built now.
    pub built: usize,
    /// Commits that could not be built now.
    pub failed: usize,
    /// Commits in the range.
    pub commits: usize,
}

impl Search<'_> {
    /// Looks for the commits. `test` builds the commit that is given and runs the cases on it.
    ///
    /// # Errors
    /// If git fails, or `test` does, or what is learnt cannot be kept.
    pub fn run(&self, mut test: impl FnMut(&str) -> anyhow::Result<Tested>) -> anyhow::Result<Outcome> {
        let (old, new) = (self.git.commit(&self.old)?, self.git.commit(&self.new)?);
        let commits = self.git.candidates(&new, &[old.clone()].into())?.len();
        ensure!(commits > 0, "{} has no commit that {} has not", self.new, self.old);
        let file = self.git.own_file("tangle-bisect.json")?;
        let mut memory: Memory =
            tangle_files::read_text(&file).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let (mut built, mut failed) = (0, 0);
        let mut ask = |commit: &str, memory: &mut Memory| -> anyhow::Result<()> {
            let is_known = |memory: &Memory| {
                memory.failed.get(&self.build).is_some_and(|failed| failed.contains_key(commit))
                    || memory
                        .answers
                        .get(&self.build)
                        .and_then(|answers| answers.get(commit))
                        .is_some_and(|answers| self.cases.iter().all(|case| answers.contains_key(case)))
            };
            if is_known(memory) {
                return Ok(());
            }
            match test(commit)? {
                Tested::Built(answers) => {
                    built += 1;
                    let here = memory.answers.entry(self.build.clone()).or_default().entry(commit.into()).or_default();
                    here.extend(self.cases.iter().cloned().zip(answers));
                }
                Tested::Failed(why) => {
                    failed += 1;
                    memory.failed.entry(self.build.clone()).or_default().insert(commit.into(), why);
                }
            }
            write_atomically(&file, &serde_json::to_vec(memory)?)
        };
        let mut found = Vec::new();
        for case in &self.cases {
            found.push(self.one(case, &old, &new, &mut memory, &mut ask)?);
        }
        Ok(Outcome { found, built, failed, commits })
    }

    fn one(
        &self,
        case: &str,
        old: &str,
        new: &str,
        memory: &mut Memory,
        ask: &mut dyn FnMut(&str, &mut Memory) -> anyhow::Result<()>,
    ) -> anyhow::Result<Found> {
        let (before, after) = match self.wanted {
            Wanted::FirstBad => (Answer::Good, Answer::Bad),
            Wanted::FirstGood => (Answer::Bad, Answer::Good),
        };
        let mut answer = |commit: &str, memory: &mut Memory| -> anyhow::Result<Result<Answer, String>> {
            ask(commit, memory)?;
            if let Some(why) = memory.failed.get(&self.build).and_then(|failed| failed.get(commit)) {
                return Ok(Err(why.clone()));
            }
            let answers = memory.answers.get(&self.build).and_then(|answers| answers.get(commit));
            Ok(Ok(answers.and_then(|answers| answers.get(case)).copied().unwrap_or(Answer::Unknown)))
        };
        for (end, expected, which) in [(new, after, "new"), (old, before, "old")] {
            let shown = || Ok::<_, anyhow::Error>(format!("{}, the {which} end,", self.git.describe(end)?));
            match answer(end, memory)? {
                Ok(answer) if answer == expected => {}
                Ok(answer) => {
                    let must = if expected == Answer::Good { "pass" } else { "fail" };
                    let why = format!("it {} on {} and has to {must} there", answer.words(), shown()?);
                    return Ok(Found::Nothing(why));
                }
                Err(why) => return Ok(Found::Nothing(format!("{} cannot be built: {why}", shown()?))),
            }
        }
        let mut newest = new.to_owned();
        let mut olds: BTreeSet<String> = [old.to_owned()].into();
        let mut passed_over: BTreeSet<String> = BTreeSet::new();
        loop {
            let left = self.git.candidates(&newest, &olds)?;
            let untested = |commit: &&String| **commit != newest && !passed_over.contains(*commit);
            // What was built for another case costs nothing, but divides less well: the best comes first, whoever built it.
            let Some(next) = left.iter().find(untested).cloned() else {
                let mut rest: Vec<String> = left.into_iter().filter(|commit| passed_over.contains(commit)).collect();
                if rest.is_empty() {
                    return Ok(Found::Commit(newest));
                }
                rest.push(newest);
                return Ok(Found::OneOf(rest));
            };
            match answer(&next, memory)? {
                Ok(answer) if answer == after => newest = next,
                Ok(answer) if answer == before => drop(olds.insert(next)),
                Ok(_) | Err(_) => drop(passed_over.insert(next)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A repository whose commits on one line have the numbers 0 to `last`, as subjects.
    fn repository(folder: &Path, last: u32) -> Git {
        let git = |arguments: &[&str]| {
            let status = Command::new("git").args(arguments).current_dir(folder).output().expect("git runs").status;
            assert!(status.success(), "{arguments:?}");
        };
        git(&["init", "--quiet", "--initial-branch=main"]);
        let mut stream = String::new();
        for number in 0..=last {
            stream += &format!("commit refs/heads/main\ncommitter x <x@example.com> {} +0000\n", 1_000_000 + number);
            let subject = number.to_string();
            stream += &format!("data {}\n{subject}\n", subject.len());
            stream += &format!("M 100644 inline number\ndata {}\n{subject}\n", subject.len());
        }
        let file = folder.join("stream");
        std::fs::write(&file, stream).expect("it can be written");
        let status = Command::new("git")
            .args(["fast-import", "--quiet"])
            .stdin(std::fs::File::open(&file).expect("it is there"))
            .current_dir(folder)
            .status();
        assert!(status.is_ok_and(|status| status.success()));
        std::fs::remove_file(&file).expect("ours");
        git(&["checkout", "--quiet", "main"]);
        Git::of(folder).expect("a repository")
    }

    #[test]
    fn commits_are_found_in_few_builds_with_shared_ones_and_some_that_fail() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let git = repository(place.path(), 200);
        let number = |commit: &str| -> u32 {
            git.line(&["show", &format!("{commit}:number")]).expect("it is there").parse().expect("a number")
        };
        // Two bugs; every seventh commit does not build, and neither do ten in a row.
        let firsts = [138, 23];
        let fails = |number: u32| number % 7 == 3 || (150..160).contains(&number);
        let mut builds: BTreeMap<u32, u32> = BTreeMap::new();
        let mut search = Search {
            git: &git,
            build: "make".into(),
            cases: vec!["a".into(), "b".into()],
            wanted: Wanted::FirstBad,
            old: "main~200".into(),
            new: "main".into(),
        };
        let mut test = |commit: &str| {
            let number = number(commit);
            *builds.entry(number).or_default() += 1;
            let answer = |first: &u32| if number >= *first { Answer::Bad } else { Answer::Good };
            Ok(match fails(number) {
                true => Tested::Failed("it does not build".into()),
                false => Tested::Built(firsts.iter().map(answer).collect()),
            })
        };
        let outcome = search.run(&mut test).expect("it runs");
        let commit = |first: u32| git.commit(&format!("main~{}", 200 - first)).expect("it is there");
        assert_eq!(outcome.commits, 200);
        assert_eq!(outcome.found[1], Found::Commit(commit(23)));
        assert_eq!(outcome.found[0], Found::Commit(commit(138)));
        let again = search.run(&mut test).expect("it runs");
        assert_eq!((again.found, again.built, again.failed), (outcome.found, 0, 0), "nothing is built twice");
        // Two ends, eight steps for the first case, a few less for the second, and what fails.
        assert!(outcome.built <= 2 + 8 + 7, "{outcome:?}", outcome = (outcome.built, outcome.failed));
        assert!(builds.values().all(|&times| times == 1), "{builds:?}");
        // What lies between commits that do not build is not distinguished.
        search.build = "another".into();
        search.cases = vec!["c".into()];
        let outcome = search
            .run(|commit| {
                let number = number(commit);
                let answer = if number >= 155 { Answer::Bad } else { Answer::Good };
                Ok(if fails(number) { Tested::Failed("no".into()) } else { Tested::Built(vec![answer]) })
            })
            .expect("it runs");
        let Found::OneOf(commits) = &outcome.found[0] else { panic!("{:?}", outcome.found) };
        let mut numbers: Vec<u32> = commits.iter().map(|commit| number(commit)).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (150..=160).collect::<Vec<_>>());
        search.wanted = Wanted::FirstGood;
        let outcome = search.run(|_| panic!("both ends are known")).expect("it runs");
        assert!(matches!(&outcome.found[0], Found::Nothing(why) if why.contains("the new end, and has to pass there")));
    }
}
